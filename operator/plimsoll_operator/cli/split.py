"""`plimsoll split`: how a task's Jobs over items are cut, and how to cut them better."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import LOOK, Output, examples, needs_store, task_argument
from plimsoll_operator.commands.printing.output_forms import OutputForm

app = typer.Typer()


@app.command(
    rich_help_panel=LOOK,
    epilog=examples(
        ("what its last Job would take, cut otherwise", "plimsoll split shop/crunch"),
        ("a Job of another size", "plimsoll split shop/crunch --items 50000 --workers 32"),
    ),
)
@needs_store()
def split(
    task: Annotated[str, task_argument(metavar="NAMESPACE/TASK", help="The task of the Jobs.")],
    items: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="COUNT",
            help="How many items the Job has.",
            show_default="its last Job's",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100_000,
            metavar="COUNT",
            help="Its parallelism.",
            show_default="its last Job's",
        ),
    ] = None,
    pods: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="COUNT",
            help="Its completions as written.",
            show_default="its last Job's",
        ),
    ] = None,
    memory_weight: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Weight of memory beside time, 0 to 1. It is 0 unless you say it, whatever the"
            " task's policy says.",
        ),
    ] = 0,
    output: Output = OutputForm.TABLE,
    *,
    store: str,
) -> None:
    """Tell what items and pods of a task's Jobs cost, and how these are best cut."""
    from plimsoll_operator.commands.splitting.split import split_command
    from plimsoll_operator.views.splitting_facts import AskedJob

    raise typer.Exit(
        split_command(task, store, output, AskedJob(items, workers, pods, memory_weight))
    )
