"""The command line: ``plimsoll <command>``. Each command imports only what it needs.

Admission must start light, so nothing heavy may be imported at this file's top.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from plimsoll_operator.output_forms import OutputForm
from plimsoll_predictor.policy import Mode
from plimsoll_predictor.replay.engine import DecideAt

app = typer.Typer(
    name="plimsoll",
    help="Right-sizes batch and ML tasks on Kubernetes: predicts a memory bin, heals OOM kills,"
    " learns from each.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Kubeconfig = Annotated[
    str | None, typer.Option(help="Path of a kubeconfig.", envvar="PLIMSOLL_KUBECONFIG")
]
Context = Annotated[
    str | None, typer.Option(help="Context in the kubeconfig; its current one otherwise.")
]
StoreUrl = Annotated[
    str, typer.Option("--store", help="The store's URL.", envvar="PLIMSOLL_STORE_URL")
]
Token = Annotated[Path | None, typer.Option(help="File with the bearer token of feed and peaks.")]

DEFAULT_STORE = "sqlite:///plimsoll.db"


@app.command()
def run(
    state_dir: Annotated[Path, typer.Option(help="Where its files go.")] = Path("plimsoll-state"),
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    mode: Annotated[Mode, typer.Option(help="Default mode of every task.")] = Mode.RECOMMEND,
    host: Annotated[str, typer.Option(help="Address the API server reaches.")] = "127.0.0.1",
    training_budget: Annotated[float, typer.Option(help="Seconds per training.")] = 60.0,
    agent: Annotated[bool, typer.Option(help="Measure this machine's pods, too.")] = False,
    node_name: Annotated[str, typer.Option(help="This machine's node name.")] = "node-1",
    admission_port: Annotated[int, typer.Option(help="The webhook's HTTPS port.")] = 9443,
    controller_port: Annotated[int, typer.Option(help="Feed, peaks, metrics, the page.")] = 8081,
    metrics_port: Annotated[int, typer.Option(help="Admission's /metrics, /readyz.")] = 9090,
) -> None:
    """Controller, admission and agent together, on a laptop or a one-node cluster."""
    from plimsoll_operator.commands.running import run as run_all
    from plimsoll_operator.running.settings import RunSettings

    _logs()
    run_all(
        RunSettings(
            state_dir=state_dir,
            kubeconfig=kubeconfig,
            context=context,
            mode=mode,
            host=host,
            training_budget_s=training_budget,
            agent=agent,
            node_name=node_name,
            admission_port=admission_port,
            controller_port=controller_port,
            metrics_port=metrics_port,
        )
    )


@app.command()
def controller(
    store: StoreUrl = DEFAULT_STORE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Feed, peaks, metrics and the page.")] = 8081,
    token_file: Token = None,
    mode: Annotated[Mode, typer.Option(help="Default mode of every task.")] = Mode.RECOMMEND,
    training_budget: Annotated[float, typer.Option(help="Seconds per training.")] = 60.0,
) -> None:
    """The operator: observes, lifts, retries, trains, keeps TaskProfiles."""
    from plimsoll_operator.commands.controlling import serve
    from plimsoll_operator.controller.settings import ControllerSettings

    _logs()
    serve(
        ControllerSettings(
            store_url=store,
            kubeconfig=kubeconfig,
            context=context,
            listen_host=host,
            listen_port=port,
            token_file=token_file,
            mode=mode,
            training_budget_s=training_budget,
        )
    )


@app.command()
def admission(
    certificate: Annotated[Path, typer.Option(help="TLS certificate, PEM.")],
    key: Annotated[Path, typer.Option(help="Its key, PEM.")],
    feed: Annotated[str, typer.Option(help="The controller's URL.")],
    token_file: Annotated[Path, typer.Option(help="File with the feed's bearer token.")],
    address: Annotated[str, typer.Option(help="Address to listen on.")] = "0.0.0.0",
    port: Annotated[int, typer.Option(help="HTTPS port.")] = 9443,
    metrics_port: Annotated[int, typer.Option(help="Plain port of /metrics, /readyz.")] = 9090,
    snapshot: Annotated[Path | None, typer.Option(help="Where a copy of the feed is kept.")] = None,
    drain: Annotated[float, typer.Option(help="Seconds to serve on after SIGTERM.")] = 5.0,
) -> None:
    """The webhook: sizes labelled pods, always admits them."""
    from plimsoll_operator.admission.serving import serve
    from plimsoll_operator.admission.settings import AdmissionSettings

    _logs()
    serve(
        AdmissionSettings(
            certificate_file=certificate,
            key_file=key,
            feed_url=feed,
            feed_token_file=token_file,
            listen_address=address,
            listen_port=port,
            metrics_listen_port=metrics_port,
            snapshot_file=snapshot,
            drain_s=drain,
        )
    )


@app.command()
def agent(
    controller: Annotated[str, typer.Option(help="The controller's URL.")],
    token_file: Annotated[Path, typer.Option(help="File with the bearer token.")],
    node_name: Annotated[str, typer.Option(help="This node's name.", envvar="NODE_NAME")],
    state_dir: Annotated[Path, typer.Option(help="Where unsent reports wait.")],
    cgroup_root: Annotated[Path, typer.Option(help="Where cgroups are mounted.")] = Path(
        "/sys/fs/cgroup"
    ),
    interval: Annotated[float, typer.Option(help="Seconds between readings.")] = 1.0,
) -> None:
    """Measures the memory of this node's pods, page cache told apart from need."""
    from plimsoll_operator.agent.serving import serve
    from plimsoll_operator.agent.settings import AgentSettings

    _logs()
    serve(
        AgentSettings(
            controller_url=controller,
            token_file=token_file,
            node_name=node_name,
            state_dir=state_dir,
            cgroup_root=cgroup_root,
            interval_s=interval,
        )
    )


@app.command()
def train(
    task: Annotated[str, typer.Argument(help="namespace/name")],
    store: StoreUrl = DEFAULT_STORE,
    budget: Annotated[float, typer.Option(help="Seconds to search.")] = 60.0,
    memory_mib: Annotated[int, typer.Option(help="Memory cap in MiB.")] = 1024,
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 1,
    policy: Annotated[str | None, typer.Option(help="The task's policy as JSON.")] = None,
) -> None:
    """Train one task's classifier from the store's observations."""
    from plimsoll_operator.training.worker import main as train_one

    arguments = [task, "--store", store, "--budget", str(budget), "--seed", str(seed)]
    arguments += ["--memory-mib", str(memory_mib)]
    raise typer.Exit(train_one([*arguments, *(["--policy", policy] if policy else [])]))


@app.command()
def models(
    task: Annotated[str, typer.Argument(help="namespace/name")],
    store: StoreUrl = DEFAULT_STORE,
    output: Annotated[OutputForm, typer.Option(help="For people or programs.")] = OutputForm.TABLE,
    version: Annotated[str | None, typer.Option(help="One training in full.")] = None,
) -> None:
    """List a task's trainings: parameters, scores, champion, failures."""
    from plimsoll_operator.commands.models import models_command

    raise typer.Exit(models_command(task, store, output, version))


@app.command()
def explain(
    named: Annotated[str, typer.Argument(metavar="NAMESPACE/TASK | NAMESPACE/POD")],
    store: StoreUrl = DEFAULT_STORE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Annotated[OutputForm, typer.Option(help="For people or programs.")] = OutputForm.TABLE,
) -> None:
    """Tell who decides a task's sizes, why, and what the others would have cost."""
    from plimsoll_operator.commands.explaining import ExplainRequest, explain_command

    request = ExplainRequest(named=named, store_url=store, kubeconfig=kubeconfig, context=context)
    raise typer.Exit(explain_command(request, output))


@app.command("import")
def import_history(
    history: Annotated[Path, typer.Argument(help="CSV of past runs; docs/history.md")],
    store: StoreUrl = DEFAULT_STORE,
    namespace: Annotated[str | None, typer.Option(help="Of rows that name none.")] = None,
    strict: Annotated[bool, typer.Option(help="Keep none if any row is bad.")] = False,
) -> None:
    """Take in past runs as training data."""
    from plimsoll_operator.commands.importing import ImportRequest, import_command

    request = ImportRequest(path=history, store_url=store, namespace=namespace, strict=strict)
    raise typer.Exit(import_command(request))


@app.command()
def report(
    task: Annotated[str | None, typer.Argument(help="namespace/name; all tasks otherwise")] = None,
    store: StoreUrl = DEFAULT_STORE,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("plimsoll.html"),
) -> None:
    """Write the report page as one self-contained file."""
    import time

    from plimsoll_operator.commands.reporting import report_command

    raise typer.Exit(report_command(task, store, out, now_s=time.time()))


@app.command()
def replay(
    traces: Annotated[
        list[Path] | None, typer.Argument(help="CSV or Parquet of past runs; docs/replay.md")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="plimsoll, a baseline, or all; may be repeated.")
    ] = None,
    decide: Annotated[DecideAt, typer.Option(help="When a size is decided.")] = DecideAt.SUBMIT,
    first_size: Annotated[
        float, typer.Option(help="Size of a task never seen, as a share of its request.")
    ] = 1.0,
    json: Annotated[Path | None, typer.Option(help="Where the figures go.")] = None,
    html: Annotated[Path | None, typer.Option(help="Where the page with plots goes.")] = None,
    from_store: Annotated[
        str | None, typer.Option(help="namespace/name: replay a task's own history, too.")
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
) -> None:
    """Play past runs through a policy: what it would have wasted, how often failed."""
    import time

    from plimsoll_operator.commands.replaying import ReplayRequest, replay_command
    from plimsoll_predictor.replay.playing import Setting

    request = ReplayRequest(
        traces=traces or (),
        policies=tuple(policy or ("all",)),
        setting=Setting(decide_at=decide, first_size=first_size),
        from_store=from_store,
        store_url=store,
        json_file=json,
        html_file=html,
    )
    raise typer.Exit(replay_command(request, time.time()))


traces_app = typer.Typer(
    help="Past runs from elsewhere, made ready for `plimsoll replay`.", no_args_is_help=True
)
app.add_typer(traces_app, name="traces")


@traces_app.command("convert")
def traces_convert(
    files: Annotated[
        list[Path], typer.Argument(help="Nextflow traces, or what `plimsoll export` has written")
    ],
    out: Annotated[Path, typer.Option(help="Trace to write: .csv, .csv.gz or .parquet.")],
    run: Annotated[str | None, typer.Option(help="The run's name; else each file's.")] = None,
    timezone: Annotated[str, typer.Option(help="Of dates that name none.")] = "UTC",
    namespace: Annotated[str | None, typer.Option(help="Of rows that name none.")] = None,
) -> None:
    """Bring Nextflow's traces or exported history into the schema of a trace."""
    from plimsoll_operator.commands.tracing import TracingRequest, tracing_command

    request = TracingRequest(files=files, out=out, run=run, timezone=timezone, namespace=namespace)
    raise typer.Exit(tracing_command(request))


@app.command("export")
def export_history(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="namespace/name; all tasks otherwise")
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
    out: Annotated[Path, typer.Option(help="History to write: .csv, .csv.gz or .parquet.")] = Path(
        "plimsoll-history.csv"
    ),
) -> None:
    """Write what was observed, as `plimsoll import` reads it."""
    from plimsoll_operator.commands.exporting import export_command

    raise typer.Exit(export_command(tuple(tasks or ()), store, out))


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as version_of

    typer.echo(version_of("plimsoll"))


def _logs() -> None:
    from plimsoll_operator.logs import log_as_records

    log_as_records()


def main() -> None:
    """Run the command line; errors that people can mend are one line, not a traceback."""
    from plimsoll_operator.logs import words_for

    try:
        app()
    except Exception as error:
        words: Any = words_for(error)
        if words is None:
            raise
        typer.echo(f"plimsoll: {words}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
