"""`plimsoll explain`: why a task or a pod gets its size."""

from __future__ import annotations

import typer

from plimsoll_operator.cli.options import LOOK, Output, TaskOrPod, examples, needs_store
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()


@app.command(
    rich_help_panel=LOOK,
    epilog=examples(
        ("a task: who decides its sizes, and why", "plimsoll explain shop/train-demand"),
        ("a pod: the decision about its size", "plimsoll explain shop/train-demand-x7k2p"),
    ),
)
@needs_store()
def explain(
    named: TaskOrPod,
    output: Output = OutputForm.TABLE,
    *,
    store: str,
    installation: Installation,
) -> None:
    """Tell why a task or pod gets its size, what else was considered, and what would change it."""
    from plimsoll_operator.commands.sizes.explain import explain_command

    raise typer.Exit(explain_command(named, store, installation, output))
