"""`plimsoll report`: the report page as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import LOOK, examples, needs_store, some_task

app = typer.Typer()

REPORT_FILE = Path("plimsoll.html")


@app.command(
    rich_help_panel=LOOK,
    epilog=examples(
        ("all tasks", "plimsoll report --out plimsoll.html"),
        ("one task", "plimsoll report shop/train-demand"),
    ),
)
@needs_store(out="out")
def report(
    task: Annotated[str | None, some_task(help="One task; all tasks otherwise.")] = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The HTML file to write; - prints it.")
    ] = REPORT_FILE,
    *,
    store: str,
) -> None:
    """Write the report page as one self-contained file."""
    import time

    from plimsoll_operator.commands.sizes.report import report_command

    raise typer.Exit(report_command(task, store, out, now_s=time.time()))
