"""`plimsoll controller`: the operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import PROCESSES, Context, Kubeconfig, given_only
from plimsoll_predictor.core.policy import Mode

app = typer.Typer()

Token = Annotated[Path | None, typer.Option(help="File with the bearer token of feed and peaks.")]


@app.command(rich_help_panel=PROCESSES)
def controller(
    store: Annotated[str | None, typer.Option(help="The store's URL.")] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    host: Annotated[str | None, typer.Option(help="Address of feed, peaks, metrics.")] = None,
    port: Annotated[int | None, typer.Option(help="Their port; 8081 otherwise.")] = None,
    page_host: Annotated[str | None, typer.Option(help="Address of the page.")] = None,
    page_port: Annotated[int | None, typer.Option(help="Its port; 8082 otherwise.")] = None,
    token_file: Token = None,
    mode: Annotated[Mode | None, typer.Option(help="Default mode of every task.")] = None,
    training_budget: Annotated[float | None, typer.Option(help="Seconds per training.")] = None,
    lease: Annotated[str | None, typer.Option(help="Lease to compete for.")] = None,
    instance: Annotated[str | None, typer.Option(help="This controller's name: its pod's.")] = None,
) -> None:
    """Run the operator: it observes, lifts, retries, trains and keeps TaskProfiles."""
    from plimsoll_operator.controller.settings import ControllerSettings
    from plimsoll_operator.processes.controller import serve
    from plimsoll_operator.processes.logs import log_as_records

    log_as_records()
    given = given_only(
        store_url=store,
        kubeconfig=kubeconfig,
        context=context,
        listen_host=host,
        listen_port=port,
        page_host=page_host,
        page_port=page_port,
        token_file=token_file,
        mode=mode,
        training_budget_s=training_budget,
        lease=lease,
        instance=instance,
    )
    serve(ControllerSettings(**given))
