"""`plimsoll export`: what was observed, as a file that `plimsoll import` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    PAST_RUNS,
    Context,
    InstalledIn,
    Kubeconfig,
    StoreUrl,
    complete_task,
    examples,
    in_controller,
    place_of,
)

HISTORY_FILE = Path("plimsoll-history.csv")


def export_history(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMESPACE/TASK]...", autocompletion=complete_task, help="All tasks otherwise."
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="History to write: .csv, .csv.gz or .parquet; - prints CSV."
        ),
    ] = HISTORY_FILE,
    stdout_ending: Annotated[str, typer.Option(hidden=True)] = ".csv",
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Write what was observed, as `plimsoll import` reads it."""
    if store is None:
        ending = stdout_ending if str(out) == "-" else out.suffix
        words = ["export", *(tasks or ()), "--out", "-", "--stdout-ending", ending]
        place = place_of(kubeconfig, context, installed_in)
        raise in_controller(words, place, out=None if str(out) == "-" else out)
    from plimsoll_operator.commands.past_runs.export import export_command, print_command

    chosen = tuple(tasks or ())
    if str(out) == "-":
        raise typer.Exit(print_command(chosen, store, stdout_ending))
    raise typer.Exit(export_command(chosen, store, out))


def add_to(app: typer.Typer) -> None:
    """Put it into the command line."""
    app.command(
        "export",
        rich_help_panel=PAST_RUNS,
        epilog=examples(
            ("all tasks", "plimsoll export --out history.csv.gz"),
            ("one task", "plimsoll export shop/train-demand --out train.parquet"),
        ),
    )(export_history)
