"""`plimsoll forecast`: how long a task's next run takes, or when a pod ends."""

from __future__ import annotations

import typer

from plimsoll_operator.cli.options import LOOK, Output, TaskOrPod, examples, needs_store
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()


@app.command(
    rich_help_panel=LOOK,
    epilog=examples(
        ("a task: how long its next run takes", "plimsoll forecast shop/train-demand"),
        ("a pod: when it ends, and whether it is late", "plimsoll forecast shop/train-x7k2p"),
    ),
)
@needs_store()
def forecast(
    named: TaskOrPod,
    output: Output = OutputForm.TABLE,
    *,
    store: str,
    installation: Installation,
) -> None:
    """Tell how long a task's next run takes, how sure that is, and what its runs were like.

    For a pod it tells when its run is expected to end, and whether it is late.
    """
    import time

    from plimsoll_operator.commands.runtimes.forecast import forecast_command

    raise typer.Exit(forecast_command(named, store, installation, output, now_s=time.time()))
