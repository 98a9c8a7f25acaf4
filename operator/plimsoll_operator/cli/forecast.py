"""`plimsoll forecast`: how long a task's next run takes, or when a pod ends."""

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


def forecast(
    named: TaskOrPod,
    output: Output = OutputForm.TABLE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Tell how long a task's next run takes, how sure that is, and what its runs were like.

    Of a pod: when its run is expected to end, and whether it is late.
    """
    place = place_of(kubeconfig, context, installed_in)
    if store is None:
        raise in_controller(["forecast", named, "--output", output.value], place)
    import time

    from plimsoll_operator.commands.runtimes.forecast import ForecastRequest, forecast_command

    request = ForecastRequest(named=named, store_url=store, now_s=time.time(), place=place)
    raise typer.Exit(forecast_command(request, output))


def add_to(app: typer.Typer) -> None:
    """Put it into the command line."""
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("a task: how long its next run takes", "plimsoll forecast shop/train-demand"),
            ("a pod: when it ends, and whether it is late", "plimsoll forecast shop/train-x7k2p"),
        ),
    )(forecast)
