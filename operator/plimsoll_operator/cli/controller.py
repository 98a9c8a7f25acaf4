"""`plimsoll controller`: the operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    PROCESSES,
    Context,
    ExcludedNamespaces,
    Kubeconfig,
    given_only,
    setting,
)
from plimsoll_operator.training.limits import BUDGET_S
from plimsoll_predictor.core.policy import Mode

app = typer.Typer()


@app.command(rich_help_panel=PROCESSES)
def controller(
    store_url: Annotated[
        str | None,
        setting(
            "--store",
            words="The store's URL.",
            env="PLIMSOLL_STORE_URL",
            default="sqlite:///plimsoll.db",
        ),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    listen_host: Annotated[
        str | None,
        setting(
            "--host",
            words="Address of feed, peaks and metrics.",
            env="PLIMSOLL_LISTEN_HOST",
            default="127.0.0.1",
        ),
    ] = None,
    listen_port: Annotated[
        int | None,
        setting(
            "--port",
            words="Port of feed, peaks and metrics.",
            env="PLIMSOLL_LISTEN_PORT",
            default="8081",
        ),
    ] = None,
    page_host: Annotated[
        str | None,
        setting(words="Address of the page.", env="PLIMSOLL_PAGE_HOST", default="127.0.0.1"),
    ] = None,
    page_port: Annotated[
        int | None, setting(words="Port of the page.", env="PLIMSOLL_PAGE_PORT", default="8082")
    ] = None,
    leases_host: Annotated[
        str | None,
        setting(words="Address of leases.", env="PLIMSOLL_LEASES_HOST", default="127.0.0.1"),
    ] = None,
    leases_port: Annotated[
        int | None,
        setting(
            words="Port at which pods lease items of their Jobs; without it none do.",
            env="PLIMSOLL_LEASES_PORT",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        setting(words="File with the bearer token of feed and peaks.", env="PLIMSOLL_TOKEN_FILE"),
    ] = None,
    mode: Annotated[
        Mode | None,
        setting(words="Default mode of every task.", env="PLIMSOLL_MODE", default="recommend"),
    ] = None,
    excluded_namespaces: ExcludedNamespaces = None,
    training_budget_s: Annotated[
        float | None,
        setting(
            "--training-budget",
            words="Seconds per training.",
            env="PLIMSOLL_TRAINING_BUDGET_S",
            default=f"{BUDGET_S:g}",
        ),
    ] = None,
    lease: Annotated[
        str | None,
        setting(
            words="Lease to compete for; without it this is the only controller.",
            env="PLIMSOLL_LEASE",
        ),
    ] = None,
    instance: Annotated[
        str | None,
        setting(
            words="Name of this controller: that of its pod.",
            env="PLIMSOLL_INSTANCE",
            default="plimsoll",
        ),
    ] = None,
) -> None:
    """Run the operator: it observes, lifts, retries, trains and keeps TaskProfiles."""
    from plimsoll_operator.controller.settings import ControllerSettings
    from plimsoll_operator.processes.controller import serve
    from plimsoll_operator.processes.logs import log_as_records

    log_as_records()
    given = given_only(
        store_url=store_url,
        kubeconfig=kubeconfig,
        context=context,
        listen_host=listen_host,
        listen_port=listen_port,
        page_host=page_host,
        page_port=page_port,
        leases_host=leases_host,
        leases_port=leases_port,
        token_file=token_file,
        mode=mode,
        excluded_namespaces=excluded_namespaces,
        training_budget_s=training_budget_s,
        lease=lease,
        instance=instance,
    )
    serve(ControllerSettings(**given))
