"""`plimsoll models`: a task's trainings."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import LOOK, Output, Task, examples, needs_store
from plimsoll_operator.commands.printing.output_forms import OutputForm

app = typer.Typer()


@app.command(
    rich_help_panel=LOOK,
    epilog=examples(
        ("all stored trainings, newest first", "plimsoll models shop/train-demand"),
        ("one training in full", "plimsoll models shop/train-demand --version 3fa9"),
    ),
)
@needs_store()
def models(
    task: Task,
    version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="Show one training in full; the first characters suffice."
        ),
    ] = None,
    output: Output = OutputForm.TABLE,
    *,
    store: str,
) -> None:
    """List a task's trainings: parameters, scores, out-of-time costs, failures."""
    from plimsoll_operator.commands.sizes.models import models_command

    raise typer.Exit(models_command(task, store, output, version))
