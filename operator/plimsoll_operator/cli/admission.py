"""`plimsoll admission`: the webhook."""

from __future__ import annotations

from pathlib import Path
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
def admission(
    certificate: Annotated[
        Path | None, setting(words="TLS certificate, PEM.", env="PLIMSOLL_CERTIFICATE_FILE")
    ] = None,
    key: Annotated[
        Path | None, setting(words="Key of the certificate, PEM.", env="PLIMSOLL_KEY_FILE")
    ] = None,
    feed: Feed = None,
    token_file: FeedToken = None,
    leases: Annotated[
        str | None,
        setting(
            words="URL at which pods lease items of their Jobs; without it none do.",
            env="PLIMSOLL_LEASES_URL",
        ),
    ] = None,
    address: Address = None,
    port: Annotated[
        int | None, setting(words="HTTPS port.", env="PLIMSOLL_LISTEN_PORT", default="9443")
    ] = None,
    metrics_port: MetricsPort = None,
    snapshot: Annotated[
        Path | None,
        setting(
            words="File for a copy of the feed; without it none is kept.",
            env="PLIMSOLL_SNAPSHOT_FILE",
        ),
    ] = None,
    excluded_namespaces: ExcludedNamespaces = None,
    drain: DrainSeconds = None,
) -> None:
    """Run the webhook: it sizes labelled pods, and always admits them."""
    from plimsoll_operator.admission.settings import AdmissionSettings
    from plimsoll_operator.processes.admission import serve
    from plimsoll_operator.processes.logs import log_as_records

    log_as_records()
    given = given_only(
        certificate_file=certificate,
        key_file=key,
        feed_url=feed,
        feed_token_file=token_file,
        leases_url=leases,
        listen_address=address,
        listen_port=port,
        metrics_listen_port=metrics_port,
        snapshot_file=snapshot,
        excluded_namespaces=excluded_namespaces,
        drain_s=drain,
    )
    serve(AdmissionSettings(**given))
