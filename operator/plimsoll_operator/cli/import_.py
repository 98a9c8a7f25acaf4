"""`plimsoll import`: past runs as training data, from a file or a Prometheus."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import PAST_RUNS, StoreUrl, examples, needs_installation
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()

from_prometheus = partial(typer.Option, rich_help_panel="From a Prometheus")


@app.command(
    "import",
    rich_help_panel=PAST_RUNS,
    epilog=examples(
        ("past runs from a file", "plimsoll import history.csv -n shop"),
        ("from another program", "make-history | plimsoll import -"),
        (
            "a month of past pods",
            "plimsoll import --prometheus http://localhost:9090 --since 30d",
        ),
    ),
)
@needs_installation
def import_history(
    history: Annotated[
        Path | None,
        typer.Argument(help="CSV or Parquet of past runs, as in docs/history.md; - reads stdin."),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAMESPACE",
            help="Namespace of rows that name none; with --prometheus, the only one to read.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Import nothing if any row is bad.")
    ] = False,
    prometheus: Annotated[
        str | None,
        from_prometheus(
            metavar="URL",
            help="Take past pods from its kube-state-metrics and cAdvisor series.",
            envvar="PLIMSOLL_PROMETHEUS_URL",
        ),
    ] = None,
    since: Annotated[
        str, from_prometheus(help="How far back to read, or a date: 30d, 12h.")
    ] = "30d",
    until: Annotated[str | None, from_prometheus(help="Until when to read; now otherwise.")] = None,
    task_label: Annotated[
        str | None,
        from_prometheus(
            metavar="LABEL",
            help="A label of pods that names their task, where plimsoll.dev/task does not.",
        ),
    ] = None,
    match: Annotated[
        list[str] | None,
        from_prometheus(
            metavar="MATCHER", help='One more matcher of series, such as cluster="prod".'
        ),
    ] = None,
    margin: Annotated[
        float,
        from_prometheus(
            min=0.0,
            max=1.0,
            help="Share added to the highest sample, for spikes between two samples.",
        ),
    ] = 0.1,
    token_file: Annotated[Path | None, from_prometheus(help="File with a bearer token.")] = None,
    ca_file: Annotated[Path | None, from_prometheus(help="Certificates to trust, PEM.")] = None,
    save: Annotated[
        Path | None, from_prometheus(help="Only write the past runs to this history file.")
    ] = None,
    stdin_bytes: Annotated[int | None, typer.Option(hidden=True, min=0)] = None,
    store: StoreUrl = None,
    *,
    installation: Installation,
) -> None:
    """Import past runs as training data, so that tasks get sizes on day one."""
    if history is not None:
        from plimsoll_operator.commands.past_runs.history_files import given_history

        with given_history(history, stdin_bytes) as path:
            raise typer.Exit(_take_in(path, namespace, strict, store, installation))
    if prometheus is None:
        raise typer.BadParameter("name a history file, or a Prometheus with --prometheus URL")
    import tempfile
    import time

    from plimsoll_operator.commands.past_runs.import_prometheus import (
        PrometheusRequest,
        prometheus_command,
    )

    request = PrometheusRequest(
        address=prometheus,
        since=since,
        until=until,
        namespaces=(namespace,) if namespace else (),
        matchers=tuple(match or ()),
        task_label=task_label,
        margin=margin,
        token_file=token_file,
        ca_file=ca_file,
    )
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        history_file = save or Path(folder) / "past.csv.gz"
        status = prometheus_command(request, history_file, time.time())
        if status == 0 and save is None:
            status = _take_in(history_file, None, strict, store, installation)
        raise typer.Exit(status)


def _take_in(
    path: Path, namespace: str | None, strict: bool, store: str | None, installation: Installation
) -> int:
    """Import a history file, here or where the store is; the exit status."""
    if store is None:
        from plimsoll_operator.commands.reaching.in_controller import Errand, run_in_controller

        words = ["import", "-"]
        words += ["--namespace", namespace] if namespace else []
        words += ["--strict"] if strict else []
        return run_in_controller(Errand(words=words, installation=installation, stdin=path))
    from plimsoll_operator.commands.past_runs.import_file import import_command

    return import_command(path, store, namespace, strict=strict)
