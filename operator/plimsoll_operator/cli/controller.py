"""`plimsoll controller`: the operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import PROCESSES, Context, Kubeconfig, given_only
from plimsoll_predictor.core.policy import Mode

app = typer.Typer()


@app.command(rich_help_panel=PROCESSES)
def controller(
    store_url: Annotated[str | None, typer.Option("--store", help="The store's URL.")] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    listen_host: Annotated[
        str | None, typer.Option("--host", help="Address of feed, peaks and metrics.")
    ] = None,
    listen_port: Annotated[
        int | None, typer.Option("--port", help="Port of feed, peaks and metrics; 8081 otherwise.")
    ] = None,
    page_host: Annotated[str | None, typer.Option(help="Address of the page.")] = None,
    page_port: Annotated[int | None, typer.Option(help="Port of the page; 8082 otherwise.")] = None,
    leases_host: Annotated[str | None, typer.Option(help="Address of leases.")] = None,
    leases_port: Annotated[
        int | None, typer.Option(help="Port at which pods lease items of their Jobs; else none do.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the bearer token of feed and peaks.")
    ] = None,
    mode: Annotated[Mode | None, typer.Option(help="Default mode of every task.")] = None,
    excluded_namespaces: Annotated[
        str | None, typer.Option(help="Namespaces to leave alone, by commas.")
    ] = None,
    training_budget_s: Annotated[
        float | None, typer.Option("--training-budget", help="Seconds per training.")
    ] = None,
    lease: Annotated[str | None, typer.Option(help="Lease to compete for.")] = None,
    instance: Annotated[
        str | None, typer.Option(help="Name of this controller: that of its pod.")
    ] = None,
) -> None:
    """Run the operator: it observes, lifts, retries, trains and keeps TaskProfiles."""
    given = given_only(**locals())  # as the first line: so far there are only the options

    from plimsoll_operator.controller.settings import ControllerSettings
    from plimsoll_operator.processes.controller import serve
    from plimsoll_operator.processes.logs import log_as_records

    log_as_records()
    serve(ControllerSettings(**given))
