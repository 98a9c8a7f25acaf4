"""`plimsoll report`: the report page as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    LOOK,
    Context,
    InstalledIn,
    Kubeconfig,
    StoreUrl,
    complete_task,
    examples,
    in_controller,
    place_of,
)

REPORT_FILE = Path("plimsoll.html")


def report(
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAMESPACE/TASK]", autocompletion=complete_task, help="All tasks otherwise."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The HTML file to write; - prints it.")
    ] = REPORT_FILE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Write the report page as one self-contained file."""
    if store is None:
        words = ["report", *([] if task is None else [task]), "--out", "-"]
        place = place_of(kubeconfig, context, installed_in)
        raise in_controller(words, place, out=None if str(out) == "-" else out)
    import time

    from plimsoll_operator.commands.sizes.report import report_command

    raise typer.Exit(report_command(task, store, out, now_s=time.time()))


def add_to(app: typer.Typer) -> None:
    """Put it into the command line."""
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("all tasks", "plimsoll report --out plimsoll.html"),
            ("one task", "plimsoll report shop/train-demand"),
        ),
    )(report)
