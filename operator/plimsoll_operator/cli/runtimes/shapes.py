"""`plimsoll shapes`: the typical shapes of runtimes."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import LOOK, Output, examples, needs_store
from plimsoll_operator.commands.printing.output_forms import OutputForm

app = typer.Typer()


@app.command(
    rich_help_panel=LOOK,
    epilog=examples(
        ("the shapes that were learned last", "plimsoll shapes"),
        ("learn them again, and tell why each task has its shape", "plimsoll shapes --learn"),
    ),
)
@needs_store()
def shapes(
    learn: Annotated[
        bool, typer.Option("--learn", help="Learn them anew from the stored runs, and store them.")
    ] = False,
    output: Output = OutputForm.TABLE,
    *,
    store: str,
) -> None:
    """List the typical shapes that tasks' runtimes come in."""
    import time

    from plimsoll_operator.commands.runtimes.shapes import shapes_command

    raise typer.Exit(shapes_command(store, output, learn=learn, now_s=time.time()))
