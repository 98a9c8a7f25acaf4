"""Commands that take past runs in and out, and try policies on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.command_line import prometheus_options
from plimsoll_operator.command_line.options import (
    PAST_RUNS,
    Context,
    InstalledIn,
    Kubeconfig,
    StoreUrl,
    complete_task,
    examples,
    in_controller,
    place_of,
    words_of,
)
from plimsoll_operator.commands.places import Place
from plimsoll_predictor.replay.engine import DecideAt

HISTORY_FILE = Path("plimsoll-history.csv")


def import_history(
    history: Annotated[
        Path | None,
        typer.Argument(help="CSV or Parquet of past runs; docs/history.md. - reads stdin."),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAMESPACE",
            help="Of rows that name none; with --prometheus, the only one looked at.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Keep none if any row is bad.")] = False,
    prometheus: prometheus_options.Address = None,
    since: prometheus_options.Since = "30d",
    until: prometheus_options.Until = None,
    task_label: prometheus_options.TaskLabel = None,
    match: prometheus_options.Match = None,
    margin: prometheus_options.Margin = 0.1,
    token_file: prometheus_options.TokenFile = None,
    ca_file: prometheus_options.CaFile = None,
    save: prometheus_options.Save = None,
    stdin_bytes: Annotated[int | None, typer.Option(hidden=True, min=0)] = None,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Take in past runs as training data, so that tasks get sizes on day one."""
    place = place_of(kubeconfig, context, installed_in)
    if history is not None:
        from plimsoll_operator.commands.history_files import given_history

        with given_history(history, stdin_bytes) as path:
            raise typer.Exit(_take_in(path, namespace, strict, store, place))
    if prometheus is None:
        raise typer.BadParameter("name a history file, or a Prometheus with --prometheus URL")
    import tempfile
    import time

    from plimsoll_operator.commands.prometheus import PrometheusRequest, prometheus_command

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
            status = _take_in(found, None, strict, store, place)
        raise typer.Exit(status)


def _take_in(
    path: Path, namespace: str | None, strict: bool, store: str | None, place: Place
) -> int:
    """Import a history file, here or where the store is; the exit status."""
    if store is None:
        words = words_of(("--namespace", namespace or None), ("--strict", strict))
        return in_controller(["import", "-", *words], place, stdin=path).exit_code
    from plimsoll_operator.commands.importing import ImportRequest, import_command

    return import_command(
        ImportRequest(path=path, store_url=store, namespace=namespace, strict=strict)
    )


def export_history(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMESPACE/TASK]...", autocompletion=complete_task, help="All tasks otherwise."
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="History to write: .csv, .csv.gz or .parquet; - prints CSV."
        ),
    ] = HISTORY_FILE,
    stdout_ending: Annotated[str, typer.Option(hidden=True)] = ".csv",
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Write what was observed, as `plimsoll import` reads it."""
    if store is None:
        ending = stdout_ending if str(out) == "-" else out.suffix
        words = ["export", *(tasks or ()), "--out", "-", "--stdout-ending", ending]
        place = place_of(kubeconfig, context, installed_in)
        raise in_controller(words, place, out=None if str(out) == "-" else out)
    from plimsoll_operator.commands.exporting import export_command, print_command

    chosen = tuple(tasks or ())
    if str(out) == "-":
        raise typer.Exit(print_command(chosen, store, stdout_ending))
    raise typer.Exit(export_command(chosen, store, out))


def replay(
    traces: Annotated[
        list[Path] | None, typer.Argument(help="CSV or Parquet of past runs; docs/replay.md.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="plimsoll, a baseline, or all; may be repeated."),
    ] = None,
    decide: Annotated[DecideAt, typer.Option(help="When a size is decided.")] = DecideAt.SUBMIT,
    first_size: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Size of a task never seen, as a share of its request."),
    ] = 1.0,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the figures go.")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the page with plots goes.")
    ] = None,
    from_store: Annotated[
        str | None,
        typer.Option(metavar="NAMESPACE/TASK", help="Replay a task's own history, too."),
    ] = None,
    runtime: Annotated[
        list[Path] | None,
        typer.Option(metavar="LOG", help="A log of runtimes to forecast; may be repeated."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Of --runtime: plimsoll, a baseline, or all."),
    ] = None,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Play past runs through a policy: what it would have wasted, how often failed."""
    if runtime:
        if traces or from_store or html:
            raise typer.BadParameter("a log of runtimes is replayed alone, and has no page")
        raise typer.Exit(_replay_runtimes(runtime, method, json))
    if method:
        raise typer.BadParameter("--method is of --runtime LOG; a trace has --policy")
    import time

    from plimsoll_operator.commands.replaying import ReplayRequest, replay_command
    from plimsoll_predictor.replay.playing import Setting

    request = ReplayRequest(
        traces=traces or (),
        policies=tuple(policy or ("all",)),
        setting=Setting(decide_at=decide, first_size=first_size),
        from_store=from_store,
        store_url=store,
        place=place_of(kubeconfig, context, installed_in) if from_store else None,
        json_file=json,
        html_file=html,
    )
    raise typer.Exit(replay_command(request, time.time()))


def _replay_runtimes(logs: list[Path], methods: list[str] | None, json: Path | None) -> int:
    from plimsoll_operator.commands.runtime_replaying import (
        RuntimeReplayRequest,
        runtime_replay_command,
    )

    chosen = tuple(methods or ("plimsoll",))
    request = RuntimeReplayRequest(logs=logs, methods=chosen, json_file=json)
    return runtime_replay_command(request)


traces_app = typer.Typer(
    help="Past runs from elsewhere, made ready for `plimsoll replay`.", no_args_is_help=True
)


@traces_app.command(
    "convert",
    epilog=examples(
        (
            "a Nextflow run's trace",
            "plimsoll traces convert execution_trace.txt --out runs.parquet",
        ),
    ),
)
def traces_convert(
    files: Annotated[
        list[Path], typer.Argument(help="Nextflow traces, or what `plimsoll export` has written.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Trace to write: .csv, .csv.gz or .parquet.")
    ],
    run: Annotated[
        str | None, typer.Option(metavar="NAME", help="The run's name; else each file's.")
    ] = None,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="Of dates that name none.")] = "UTC",
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NAMESPACE", help="Of rows that name none."),
    ] = None,
) -> None:
    """Bring Nextflow's traces or exported history into the schema of a trace."""
    from plimsoll_operator.commands.tracing import TracingRequest, tracing_command

    request = TracingRequest(files=files, out=out, run=run, timezone=timezone, namespace=namespace)
    raise typer.Exit(tracing_command(request))


def add_to(app: typer.Typer) -> None:
    """Put the commands of this file into the command line."""
    app.command(
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
    )(import_history)
    app.command(
        "export",
        rich_help_panel=PAST_RUNS,
        epilog=examples(
            ("all tasks", "plimsoll export --out history.csv.gz"),
            ("one task", "plimsoll export shop/train-demand --out train.parquet"),
        ),
    )(export_history)
    app.command(
        rich_help_panel=PAST_RUNS,
        epilog=examples(
            ("every policy on a trace", "plimsoll replay runs.csv --html replay.html"),
            (
                "a task's own history",
                "plimsoll replay --from-store shop/train-demand --policy plimsoll",
            ),
            ("how well runtimes are forecast", "plimsoll replay --runtime log.csv.gz"),
        ),
    )(replay)
    app.add_typer(traces_app, name="traces", rich_help_panel=PAST_RUNS)
