"""`plimsoll agent`: measures a node's pods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import PROCESSES

app = typer.Typer()


@app.command(rich_help_panel=PROCESSES)
def agent(
    controller_url: Annotated[
        str,
        typer.Option(
            "--controller", help="The controller's URL.", envvar="PLIMSOLL_CONTROLLER_URL"
        ),
    ],
    token_file: Annotated[
        Path, typer.Option(help="File with the bearer token.", envvar="PLIMSOLL_TOKEN_FILE")
    ],
    node_name: Annotated[
        str,
        typer.Option(help="This node's name.", envvar=["PLIMSOLL_NODE_NAME", "NODE_NAME"]),
    ],
    state_dir: Annotated[
        Path, typer.Option(help="Folder for unsent reports.", envvar="PLIMSOLL_STATE_DIR")
    ],
    cgroup_root: Annotated[
        Path, typer.Option(help="Where cgroups are mounted.", envvar="PLIMSOLL_CGROUP_ROOT")
    ] = Path("/sys/fs/cgroup"),
    interval_s: Annotated[
        float, typer.Option("--interval", help="Seconds between readings.")
    ] = 1.0,
    metrics_listen_host: Annotated[
        str,
        typer.Option(
            "--metrics-host",
            help="Address of /metrics; :: for IPv6.",
            envvar="PLIMSOLL_METRICS_LISTEN_HOST",
        ),
    ] = "0.0.0.0",
    metrics_listen_port: Annotated[
        int | None,
        typer.Option(
            "--metrics-port",
            help="Port of /metrics; none otherwise.",
            envvar="PLIMSOLL_METRICS_LISTEN_PORT",
        ),
    ] = None,
    api_server: Annotated[
        str | None,
        typer.Option(
            help="URL of the API server, to raise pods of this node there; the controller does"
            " otherwise.",
            envvar="PLIMSOLL_API_SERVER",
        ),
    ] = None,
    api_token_file: Annotated[
        Path, typer.Option(help="This pod's token, for that.", envvar="PLIMSOLL_API_TOKEN_FILE")
    ] = Path("/var/run/secrets/kubernetes.io/serviceaccount/token"),
    api_ca_file: Annotated[
        Path,
        typer.Option(help="The API server's authority.", envvar="PLIMSOLL_API_CA_FILE"),
    ] = Path("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"),
) -> None:
    """Measure the memory of this node's pods, and tell page cache from need."""
    from plimsoll_operator.agent.settings import AgentSettings
    from plimsoll_operator.processes.agent import serve
    from plimsoll_operator.processes.logs import log_as_records

    log_as_records()
    settings = AgentSettings(
        controller_url=controller_url,
        token_file=token_file,
        node_name=node_name,
        state_dir=state_dir,
        cgroup_root=cgroup_root,
        interval_s=interval_s,
        metrics_listen_host=metrics_listen_host,
        metrics_listen_port=metrics_listen_port,
        api_server=api_server,
        api_token_file=api_token_file,
        api_ca_file=api_ca_file,
    )
    serve(settings)
