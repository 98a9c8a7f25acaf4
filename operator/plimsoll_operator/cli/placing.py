"""`plimsoll placing`: which tasks get along on a node."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import LOOK, Output, examples, needs_store, some_task
from plimsoll_operator.commands.printing.output_forms import OutputForm

app = typer.Typer()


@app.command(
    rich_help_panel=LOOK,
    epilog=examples(
        ("who slows whom, and what placing would have saved", "plimsoll placing"),
        ("one task: its best and its worst neighbours", "plimsoll placing shop/train-demand"),
        ("all of it, for a program", "plimsoll placing -o json"),
    ),
)
@needs_store()
def placing(
    task: Annotated[str | None, some_task(help="Only this task, beside all others.")] = None,
    output: Output = OutputForm.TABLE,
    *,
    store: str,
) -> None:
    """Tell which tasks slow each other on a node, and what placing would have saved."""
    from plimsoll_operator.commands.placing.placing import placing_command

    raise typer.Exit(placing_command(task, store, output))
