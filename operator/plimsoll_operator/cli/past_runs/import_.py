"""`plimsoll import`: past runs as training data, from a file, a Prometheus or an Airflow."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from plimsoll_operator.cli.options import (
    PAST_RUNS,
    StoreUrl,
    examples,
    needs_installation,
    understood,
)
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()

OF_PROMETHEUS: Final = "From a Prometheus"
OF_PAST: Final = "From a Prometheus or an Airflow"
FOR_PROMETHEUS: Final = ("prometheus", "task_label", "match", "margin", "token_file", "ca_file")
"""Parameters that say how a Prometheus is read, and nothing else."""
FOR_PAST: Final = (*FOR_PROMETHEUS, "airflow", "since", "until", "save")
"""Parameters that say how a Prometheus or an Airflow is read; a file has no use for them."""
from_prometheus = partial(typer.Option, rich_help_panel=OF_PROMETHEUS)
from_past = partial(typer.Option, rich_help_panel=OF_PAST)


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
        (
            "a month of an Airflow's tries",
            "plimsoll import --airflow sqlite:////opt/airflow/airflow.db",
        ),
    ),
)
@needs_installation
def import_history(
    ctx: typer.Context,
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
            help="Namespace for rows without one. With --prometheus or --airflow: the only "
            "namespace that is read.",
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
    airflow: Annotated[
        str | None,
        from_past(
            metavar="URL",
            help="Take past tries from an Airflow's metadata database.",
            envvar="PLIMSOLL_AIRFLOW_DATABASE",
        ),
    ] = None,
    since: Annotated[str, from_past(help="How far back to read, or a date: 30d, 12h.")] = "30d",
    until: Annotated[str | None, from_past(help="Until when to read; now otherwise.")] = None,
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
        Path | None, from_past(help="Only write the past runs to this history file.")
    ] = None,
    unobserved: Annotated[
        bool,
        typer.Option("--unobserved", help="Leave out runs that Plimsoll observed itself."),
    ] = False,
    stdin_bytes: Annotated[int | None, typer.Option(hidden=True, min=0)] = None,
    store: StoreUrl = None,
    *,
    installation: Installation,
) -> None:
    """Import past runs as training data, so that tasks get sizes on day one."""
    taken_in = _TakenIn(strict, unobserved, store, installation)
    if history is not None:
        _check_none_given(ctx, FOR_PAST, "a Prometheus or an Airflow, not for a file")
        from plimsoll_operator.commands.past_runs.history_files import given_history

        with given_history(history, stdin_bytes) as path:
            raise typer.Exit(taken_in.file(path, namespace, history))
    import tempfile

    from_airflow = _is_from_airflow(ctx, prometheus, airflow)
    _check_past(since, until, save)
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        history_file = save or Path(folder) / "past.csv.gz"
        if from_airflow:
            from plimsoll_operator.commands.past_runs.import_airflow import (
                AirflowRequest,
                airflow_command,
            )

            asked = AirflowRequest(
                address=airflow or "", since=since, until=until, namespace=namespace
            )
            status = airflow_command(asked, history_file, time.time())
            # Airflow does not know pods' UIDs, which identify an attempt that was observed.
            taken_in = replace(taken_in, unobserved=True)
        else:
            from plimsoll_operator.commands.past_runs.import_prometheus import (
                PrometheusRequest,
                prometheus_command,
            )

            request = PrometheusRequest(
                address=prometheus or "",
                since=since,
                until=until,
                namespaces=(namespace,) if namespace else (),
                matchers=tuple(match or ()),
                task_label=task_label,
                margin=margin,
                token_file=token_file,
                ca_file=ca_file,
            )
            status = prometheus_command(request, history_file, time.time())
        if status == 0 and save is None:
            status = taken_in.file(history_file, None)
        raise typer.Exit(status)


def _is_from_airflow(ctx: typer.Context, prometheus: str | None, airflow: str | None) -> bool:
    """Whether an Airflow is read, not a Prometheus; the one on the command line, if one is."""
    if prometheus is None and airflow is None:
        raise typer.BadParameter(
            "name a history file, a Prometheus with --prometheus URL, or an Airflow with"
            " --airflow URL"
        )
    wants_airflow = airflow is not None
    if prometheus is not None and airflow is not None:
        wants_airflow = _was_given(ctx, "airflow")
        if wants_airflow and _was_given(ctx, "prometheus"):
            raise typer.BadParameter("--prometheus and --airflow were both given; leave one out")
        if not wants_airflow and not _was_given(ctx, "prometheus"):
            raise typer.BadParameter(
                "PLIMSOLL_PROMETHEUS_URL and PLIMSOLL_AIRFLOW_DATABASE are both set; name one with"
                " --prometheus URL or --airflow URL"
            )
    if wants_airflow:
        _check_none_given(ctx, FOR_PROMETHEUS, "a Prometheus")
    return wants_airflow


def _check_past(since: str, until: str | None, save: Path | None) -> None:
    from plimsoll_operator.commands.past_runs.spans import span_before
    from plimsoll_predictor.tables.table_writing import check_ending

    with understood():
        span_before(time.time(), since, until)
        if save is not None:
            check_ending(save)


def _check_none_given(ctx: typer.Context, names: Collection[str], whose: str) -> None:
    """Refuse options that would be ignored. names: of their parameters. whose: who reads them."""
    given = [
        each.opts[0]
        for each in ctx.command.params
        if each.name in names and _was_given(ctx, each.name)
    ]
    if not given:
        return
    named = " and ".join(given) + (" is" if len(given) == 1 else " are")
    raise typer.BadParameter(f"{named} for {whose}; leave out what is not wanted")


def _was_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


@dataclass(frozen=True, slots=True)
class _TakenIn:
    """How a history file is imported. store: None for the store of the controller that leads."""

    strict: bool
    unobserved: bool
    store: str | None
    installation: Installation

    def file(self, path: Path, namespace: str | None, given: Path | None = None) -> int:
        """Import it, here or where the store is; the exit status.

        given: what people named; None for a file that we made.
        """
        from_stdin = str(given) == "-"
        if self.store is None:
            shown = "standard input" if from_stdin else str(given or path)
            status = self._sent(path, namespace, shown)
            if status and given is not None and not from_stdin:
                from plimsoll_operator.commands.printing.printing import complain

                # The controller knows the file as its standard input.
                complain(f"plimsoll import: {given} was not imported, or not to its end")
            return status
        from plimsoll_operator.commands.past_runs.import_file import ImportRules, import_command

        rules = ImportRules(
            namespace, strict=self.strict, unobserved=self.unobserved, now_s=time.time()
        )
        return import_command(
            path, self.store, rules, shown="standard input" if from_stdin else None
        )

    def _sent(self, path: Path, namespace: str | None, shown: str) -> int:
        """Have the leading controller import it; the exit status."""
        from plimsoll_operator.commands.past_runs.parquet_files import sendable
        from plimsoll_operator.commands.printing.printing import complain
        from plimsoll_operator.commands.reaching.in_controller import Errand, run_in_controller
        from plimsoll_predictor.tables.cells import TableError

        words = ["import", "-"]
        words += ["--namespace", namespace] if namespace else []
        words += ["--strict"] if self.strict else []
        words += ["--unobserved"] if self.unobserved else []
        try:
            with sendable(path, shown) as file:
                errand = Errand(words=words, installation=self.installation, stdin=file)
                return run_in_controller(errand)
        except TableError as error:
            complain(f"plimsoll import: {error}")
        except OSError as error:
            complain(f"plimsoll import: {error.filename or path}: {error.strerror}")
        return 1
