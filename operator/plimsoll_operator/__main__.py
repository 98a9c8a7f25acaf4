"""The command line: which commands there are, in the order of `plimsoll --help`.

Admission must start light, so nothing heavy may be imported at the top of a command's file.
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from plimsoll_operator.cli import (
    admission,
    agent,
    campaign,
    controller,
    enforce,
    explain,
    extender,
    models,
    pause,
    placing,
    release,
    report,
    run,
    spark,
    split,
    status,
    train,
)
from plimsoll_operator.cli.options import examples
from plimsoll_operator.cli.past_runs import export, import_, replay, traces
from plimsoll_operator.cli.runtimes import forecast, shapes, sla, what_if

app = typer.Typer(
    name="plimsoll",
    help="Right-sizes batch and ML tasks on Kubernetes: predicts a memory bin, heals OOM kills,"
    " learns from each.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=examples(
        ("is all well, and what is saved", "plimsoll status"),
        ("why a task or a pod gets its size", "plimsoll explain shop/train-demand"),
        ("let it set what it recommends", "plimsoll enforce -n shop"),
        ("stop all sizing, within seconds", "plimsoll pause"),
    ),
)

for command in (
    status,
    explain,
    models,
    report,
    forecast,
    sla,
    what_if,
    shapes,
    placing,
    split,
    spark,
    enforce,
    pause,
    campaign,
    release,
    import_,
    export,
    replay,
    traces,
    run,
    controller,
    admission,
    extender,
    agent,
    train,
):
    app.add_typer(command.app)


def _tell_version(wanted: bool) -> None:
    if wanted:
        _print_version()
        raise typer.Exit


@app.callback()
def as_in_terminal(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_tell_version, is_eager=True),
    ] = False,
    terminal_width: Annotated[int | None, typer.Option(hidden=True, min=20)] = None,
    no_colour: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Options of every command; the hidden ones come from a command line elsewhere."""
    if terminal_width is not None:
        # rich reads these variables; the output is shown in a terminal elsewhere.
        os.environ.update(COLUMNS=str(terminal_width), FORCE_COLOR="1")
    if no_colour:
        os.environ["NO_COLOR"] = "1"


@app.command(hidden=True)
def version() -> None:
    """Print the version."""
    _print_version()


def _print_version() -> None:
    from importlib.metadata import version as version_of

    typer.echo(version_of("plimsoll"))


def main() -> None:
    """Run the command line."""
    run_as("plimsoll")


def run_as(name: str) -> None:
    """Run it under a name; errors that people can mend are one line, not a traceback."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Not every terminal, nor a pipe on Windows, has our bullets and bars.
        sys.stdout.reconfigure(errors="replace")
    try:
        app(prog_name=name)
    except Exception as error:
        from plimsoll_operator.processes.logs import is_of_usage, words_for

        words: Any = words_for(error)
        if words is None:
            raise
        typer.echo(f"plimsoll: {words}", err=True)
        sys.exit(2 if is_of_usage(error) else 1)


if __name__ == "__main__":
    main()
