"""`plimsoll extender`: scores of nodes for a scheduler."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    PROCESSES,
    Address,
    DrainSeconds,
    ExcludedNamespaces,
    Feed,
    FeedToken,
    MetricsPort,
    given_only,
    setting,
)

app = typer.Typer()


@app.command(rich_help_panel=PROCESSES)
def extender(
    feed: Feed = None,
    token_file: FeedToken = None,
    address: Address = None,
    port: Annotated[
        int | None,
        setting(words="HTTP port for the scheduler.", env="PLIMSOLL_LISTEN_PORT", default="9444"),
    ] = None,
    metrics_port: MetricsPort = None,
    deadline: Annotated[
        float | None,
        setting(
            words="Seconds after which scores are equal.", env="PLIMSOLL_DEADLINE_S", default="0.04"
        ),
    ] = None,
    excluded_namespaces: ExcludedNamespaces = None,
    drain: DrainSeconds = None,
) -> None:
    """Score nodes for your kube-scheduler by the tasks that run there; it excludes no node."""
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
