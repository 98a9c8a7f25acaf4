"""`plimsoll import`: past runs as training data, from a file or a Prometheus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from plimsoll_operator.cli.options import PAST_RUNS, StoreUrl, examples, needs_installation
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()

PANEL: Final = "From a Prometheus"

Address = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Take past pods from its kube-state-metrics and cAdvisor series.",
        envvar="PLIMSOLL_PROMETHEUS_URL",
        rich_help_panel=PANEL,
    ),
]

Since = Annotated[
    str, typer.Option(help="How far back to read, or a date: 30d, 12h.", rich_help_panel=PANEL)
]

Until = Annotated[
    str | None, typer.Option(help="Until when to read; now otherwise.", rich_help_panel=PANEL)
]

TaskLabel = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL",
        help="A label of pods that names their task, where plimsoll.dev/task does not.",
        rich_help_panel=PANEL,
    ),
]

Match = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MATCHER",
        help='One more matcher of series, such as cluster="prod".',
        rich_help_panel=PANEL,
    ),
]

Margin = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Share added to the highest sample, for spikes between two samples.",
        rich_help_panel=PANEL,
    ),
]

TokenFile = Annotated[
    Path | None, typer.Option(help="File with a bearer token.", rich_help_panel=PANEL)
]

CaFile = Annotated[
    Path | None, typer.Option(help="Certificates to trust, PEM.", rich_help_panel=PANEL)
]

Save = Annotated[
    Path | None,
    typer.Option(help="Only write the past runs to this history file.", rich_help_panel=PANEL),
]


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
    prometheus: Address = None,
    since: Since = "30d",
    until: Until = None,
    task_label: TaskLabel = None,
    match: Match = None,
    margin: Margin = 0.1,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    save: Save = None,
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
        found = save or Path(folder) / "past.csv.gz"
        status = prometheus_command(request, found, time.time())
        if status == 0 and save is None:
            status = _take_in(found, None, strict, store, installation)
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
    from plimsoll_operator.commands.past_runs.import_file import ImportRequest, import_command

    return import_command(
        ImportRequest(path=path, store_url=store, namespace=namespace, strict=strict)
    )
