"""`plimsoll extender`: scores of nodes for a scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import PROCESSES, given_only

app = typer.Typer()


@app.command(rich_help_panel=PROCESSES)
def extender(
    feed: Annotated[str | None, typer.Option(help="The controller's URL.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with the feed's token.")] = None,
    address: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(help="HTTP port for the scheduler; 9444 otherwise.")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(help="HTTP port of /metrics and /readyz; 9090 otherwise.")
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds after which scores are equal; 0.04 otherwise.")
    ] = None,
    excluded_namespaces: Annotated[
        str | None, typer.Option(help="Namespaces to leave alone, by commas.")
    ] = None,
    drain: Annotated[float | None, typer.Option(help="Seconds to serve after SIGTERM.")] = None,
) -> None:
    """Score nodes for a kube-scheduler of yours by who runs there; it never removes one."""
    from plimsoll_operator.extender.settings import ExtenderSettings
    from plimsoll_operator.processes.extender import serve
    from plimsoll_operator.processes.logs import log_as_records

    log_as_records()
    given = given_only(
        feed_url=feed,
        feed_token_file=token_file,
        listen_address=address,
        listen_port=port,
        metrics_listen_port=metrics_port,
        deadline_s=deadline,
        excluded_namespaces=excluded_namespaces,
        drain_s=drain,
    )
    serve(ExtenderSettings(**given))
