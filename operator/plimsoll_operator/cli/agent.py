"""`plimsoll agent`: what measures a node's pods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import PROCESSES

app = typer.Typer()


@app.command(rich_help_panel=PROCESSES)
def agent(
    controller: Annotated[
        str, typer.Option(help="The controller's URL.", envvar="PLIMSOLL_CONTROLLER_URL")
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
    interval: Annotated[float, typer.Option(help="Seconds between readings.")] = 1.0,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            help="Port of /metrics; none otherwise.", envvar="PLIMSOLL_METRICS_LISTEN_PORT"
        ),
    ] = None,
) -> None:
    """Measure the memory of this node's pods, and tell page cache from need."""
    from plimsoll_operator.agent.settings import AgentSettings
    from plimsoll_operator.processes.agent import serve
    from plimsoll_operator.processes.logs import log_as_records

    log_as_records()
    serve(
        AgentSettings(
            controller_url=controller,
            token_file=token_file,
            node_name=node_name,
            state_dir=state_dir,
            cgroup_root=cgroup_root,
            interval_s=interval,
            metrics_listen_port=metrics_port,
        )
    )
