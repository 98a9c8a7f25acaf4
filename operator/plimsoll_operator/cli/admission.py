"""`plimsoll admission`: the webhook."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import PROCESSES, given_only

app = typer.Typer()


@app.command(rich_help_panel=PROCESSES)
def admission(
    certificate: Annotated[Path | None, typer.Option(help="TLS certificate, PEM.")] = None,
    key: Annotated[Path | None, typer.Option(help="Key of the certificate, PEM.")] = None,
    feed: Annotated[str | None, typer.Option(help="The controller's URL.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with the feed's token.")] = None,
    leases: Annotated[
        str | None, typer.Option(help="URL at which pods lease items of their Jobs; else none do.")
    ] = None,
    address: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="HTTPS port; 9443 otherwise.")] = None,
    metrics_port: Annotated[
        int | None, typer.Option(help="HTTP port of /metrics and /readyz; 9090 otherwise.")
    ] = None,
    snapshot: Annotated[Path | None, typer.Option(help="File for a copy of the feed.")] = None,
    excluded_namespaces: Annotated[
        str | None, typer.Option(help="Namespaces to leave alone, by commas.")
    ] = None,
    drain: Annotated[float | None, typer.Option(help="Seconds to serve after SIGTERM.")] = None,
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
