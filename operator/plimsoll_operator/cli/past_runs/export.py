"""`plimsoll export` and `plimsoll forget`: write observations to a file, or delete them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    PAST_RUNS,
    complete_task,
    examples,
    needs_store,
    task_argument,
    understood,
)

app = typer.Typer()

HISTORY_FILE = Path("plimsoll-history.csv")


def _form(*, out: Path, **_: object) -> None:
    from plimsoll_predictor.tables.table_writing import check_ending

    if str(out) != "-":
        with understood():
            check_ending(out)


@app.command(
    "export",
    rich_help_panel=PAST_RUNS,
    epilog=examples(
        ("all tasks", "plimsoll export --out history.csv.gz"),
        ("one task", "plimsoll export shop/train-demand --out train.parquet"),
    ),
)
@needs_store(out="out", check=_form)
def export_history(
    tasks: Annotated[
        list[str] | None,
        task_argument(metavar="[NAMESPACE/TASK]...", help="Some tasks; all otherwise."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="History to write: .csv, .csv.gz or .parquet; - prints CSV."
        ),
    ] = HISTORY_FILE,
    stdout_ending: Annotated[str, typer.Option(hidden=True)] = ".csv",
    *,
    store: str,
) -> None:
    """Write what was observed, in the form that `plimsoll import` reads."""
    from plimsoll_operator.commands.past_runs.export import export_command

    raise typer.Exit(export_command(tasks or (), store, out, stdout_ending))


@app.command(
    rich_help_panel=PAST_RUNS,
    epilog=examples(
        ("what would be forgotten", "plimsoll forget 'shop/tmp-*'"),
        ("forget it", "plimsoll forget 'shop/tmp-*' --yes"),
        ("forget a whole namespace", "plimsoll forget shop --yes"),
    ),
)
@needs_store()
def forget(
    tasks: Annotated[
        str,
        typer.Argument(
            metavar="NAMESPACE[/TASK]",
            help="A task, or all tasks of a namespace; * stands for any letters of a task's name.",
            autocompletion=complete_task,
        ),
    ],
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Forget them; without it they are only listed (exit status 2)."),
    ] = False,
    *,
    store: str,
) -> None:
    """Forget tasks: attempts, models, lifts, and the profile unless people wrote into it."""
    from plimsoll_operator.commands.past_runs.forget import Doing, forget_command

    raise typer.Exit(forget_command(tasks, store, Doing.FORGET if yes else Doing.LIST))
