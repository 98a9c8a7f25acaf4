"""`plimsoll explain`: why a task or a pod gets its size."""

from __future__ import annotations

import typer

from plimsoll_operator.cli.options import (
    LOOK,
    Context,
    InstalledIn,
    Kubeconfig,
    Output,
    StoreUrl,
    TaskOrPod,
    examples,
    in_controller,
    place_of,
)
from plimsoll_operator.commands.printing.output_forms import OutputForm


def explain(
    named: TaskOrPod,
    output: Output = OutputForm.TABLE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Tell why a task or pod gets its size, what else was considered, what would change it."""
    place = place_of(kubeconfig, context, installed_in)
    if store is None:
        raise in_controller(["explain", named, "--output", output.value], place)
    from plimsoll_operator.commands.sizes.explain import ExplainRequest, explain_command

    request = ExplainRequest(named=named, store_url=store, place=place)
    raise typer.Exit(explain_command(request, output))


def add_to(app: typer.Typer) -> None:
    """Put it into the command line."""
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("a task: who decides its sizes, and why", "plimsoll explain shop/train-demand"),
            ("a pod: what was decided of it", "plimsoll explain shop/train-demand-x7k2p"),
        ),
    )(explain)
