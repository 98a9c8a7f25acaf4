"""`plimsoll run`: controller, admission and agent together, beside a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import PROCESSES, Context, Kubeconfig
from plimsoll_operator.training.limits import BUDGET_S
from plimsoll_predictor.core.policy import Mode

app = typer.Typer()


@app.command(rich_help_panel=PROCESSES)
def run(
    state_dir: Annotated[Path, typer.Option(help="Folder for its files.")] = Path("plimsoll-state"),
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    mode: Annotated[Mode, typer.Option(help="Default mode of every task.")] = Mode.RECOMMEND,
    host: Annotated[str, typer.Option(help="Address the API server reaches.")] = "127.0.0.1",
    excluded_namespaces: Annotated[
        str, typer.Option(help="Namespaces to leave alone, by commas.")
    ] = "",
    training_budget_s: Annotated[
        float, typer.Option("--training-budget", help="Seconds per training.")
    ] = BUDGET_S,
    agent: Annotated[bool, typer.Option(help="Also measure this machine's pods.")] = False,
    node_name: Annotated[str, typer.Option(help="This machine's node name.")] = "node-1",
    admission_port: Annotated[int, typer.Option(help="The webhook's HTTPS port.")] = 9443,
    controller_port: Annotated[int, typer.Option(help="Port of feed, peaks and metrics.")] = 8081,
    page_port: Annotated[int, typer.Option(help="Port of the page.")] = 8082,
    metrics_port: Annotated[
        int, typer.Option(help="Port of admission's /metrics and /readyz.")
    ] = 9090,
    leases_port: Annotated[
        int, typer.Option(help="Port at which pods lease items of their Jobs.")
    ] = 8083,
) -> None:
    """Run controller, admission and agent together, on a laptop or a one-node cluster."""
    from plimsoll_operator.processes.logs import log_as_records
    from plimsoll_operator.processes.run import RunSettings
    from plimsoll_operator.processes.run import run as run_all

    log_as_records()
    settings = RunSettings(
        state_dir=state_dir,
        kubeconfig=kubeconfig,
        context=context,
        mode=mode,
        host=host,
        excluded_namespaces=excluded_namespaces,
        training_budget_s=training_budget_s,
        agent=agent,
        node_name=node_name,
        admission_port=admission_port,
        controller_port=controller_port,
        page_port=page_port,
        metrics_port=metrics_port,
        leases_port=leases_port,
    )
    run_all(settings)
