"""`plimsoll extender`: scores of nodes for a scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import PROCESSES, given_only, setting

app = typer.Typer()


@app.command(rich_help_panel=PROCESSES)
def extender(
    feed: Annotated[
        str | None, setting(words="The controller's URL.", env="PLIMSOLL_FEED_URL")
    ] = None,
    token_file: Annotated[
        Path | None,
        setting(words="File with the feed's token.", env="PLIMSOLL_FEED_TOKEN_FILE"),
    ] = None,
    address: Annotated[
        str | None,
        setting(words="Address to listen on.", env="PLIMSOLL_LISTEN_ADDRESS", default="0.0.0.0"),
    ] = None,
    port: Annotated[
        int | None,
        setting(words="HTTP port for the scheduler.", env="PLIMSOLL_LISTEN_PORT", default="9444"),
    ] = None,
    metrics_port: Annotated[
        int | None,
        setting(
            words="HTTP port of /metrics and /readyz.",
            env="PLIMSOLL_METRICS_LISTEN_PORT",
            default="9090",
        ),
    ] = None,
    deadline: Annotated[
        float | None,
        setting(
            words="Seconds after which scores are equal.", env="PLIMSOLL_DEADLINE_S", default="0.04"
        ),
    ] = None,
    excluded_namespaces: Annotated[
        str | None,
        setting(words="Namespaces to leave alone, by commas.", env="PLIMSOLL_EXCLUDED_NAMESPACES"),
    ] = None,
    drain: Annotated[
        float | None,
        setting(words="Seconds to serve after SIGTERM.", env="PLIMSOLL_DRAIN_S", default="5"),
    ] = None,
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
