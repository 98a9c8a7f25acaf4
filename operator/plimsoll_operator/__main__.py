"""The command line: ``plimsoll <command>``. Each command imports only what it needs.

Admission must start light, so nothing heavy may be imported at this file's top.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from plimsoll_operator.command_line import forecasts, looking, moving, options, setting
from plimsoll_operator.command_line.options import (
    PROCESSES,
    Context,
    Kubeconfig,
    complete_task,
    examples,
)
from plimsoll_predictor.policy import Mode

app = typer.Typer(
    name="plimsoll",
    help="Right-sizes batch and ML tasks on Kubernetes: predicts a memory bin, heals OOM kills,"
    " learns from each.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=examples(
        ("is all well, and what is saved", "plimsoll status"),
        ("why a task or a pod gets its size", "plimsoll explain shop/train-demand"),
        ("let it set what it recommends", "plimsoll enforce -n shop"),
        ("stop all sizing, within seconds", "plimsoll pause"),
    ),
)

Token = Annotated[Path | None, typer.Option(help="File with the bearer token of feed and peaks.")]

looking.add_to(app)
forecasts.add_to(app)
setting.add_to(app)
moving.add_to(app)


def _tell_version(wanted: bool) -> None:
    if wanted:
        _print_version()
        raise typer.Exit


@app.callback()
def as_in_terminal(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_tell_version, is_eager=True),
    ] = False,
    terminal_width: Annotated[int | None, typer.Option(hidden=True, min=20)] = None,
    no_colour: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Options of every command; the hidden ones come from a command line elsewhere."""
    if terminal_width is not None:
        # What rich reads; what is printed here is shown in a terminal elsewhere.
        os.environ.update(COLUMNS=str(terminal_width), FORCE_COLOR="1")
    if no_colour:
        os.environ["NO_COLOR"] = "1"


@app.command(rich_help_panel=PROCESSES)
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
    controller_port: Annotated[int, typer.Option(help="Feed, peaks, metrics.")] = 8081,
    page_port: Annotated[int, typer.Option(help="The page.")] = 8082,
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
            page_port=page_port,
            metrics_port=metrics_port,
        )
    )


@app.command(rich_help_panel=PROCESSES)
def controller(
    store: Annotated[str | None, typer.Option(help="The store's URL.")] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    host: Annotated[str | None, typer.Option(help="Address of feed, peaks, metrics.")] = None,
    port: Annotated[int | None, typer.Option(help="Their port; 8081 otherwise.")] = None,
    page_host: Annotated[str | None, typer.Option(help="Address of the page.")] = None,
    page_port: Annotated[int | None, typer.Option(help="Its port; 8082 otherwise.")] = None,
    token_file: Token = None,
    mode: Annotated[Mode | None, typer.Option(help="Default mode of every task.")] = None,
    training_budget: Annotated[float | None, typer.Option(help="Seconds per training.")] = None,
    lease: Annotated[str | None, typer.Option(help="Lease to compete for.")] = None,
    instance: Annotated[str | None, typer.Option(help="This one's name: the pod's.")] = None,
) -> None:
    """The operator: observes, lifts, retries, trains, keeps TaskProfiles."""
    from plimsoll_operator.commands.controlling import serve
    from plimsoll_operator.controller.settings import ControllerSettings

    _logs()
    given = _given(
        store_url=store,
        kubeconfig=kubeconfig,
        context=context,
        listen_host=host,
        listen_port=port,
        page_host=page_host,
        page_port=page_port,
        token_file=token_file,
        mode=mode,
        training_budget_s=training_budget,
        lease=lease,
        instance=instance,
    )
    serve(ControllerSettings(**given))


@app.command(rich_help_panel=PROCESSES)
def admission(
    certificate: Annotated[Path | None, typer.Option(help="TLS certificate, PEM.")] = None,
    key: Annotated[Path | None, typer.Option(help="Its key, PEM.")] = None,
    feed: Annotated[str | None, typer.Option(help="The controller's URL.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with the feed's token.")] = None,
    address: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="HTTPS port; 9443 otherwise.")] = None,
    metrics_port: Annotated[
        int | None, typer.Option(help="Plain port of /metrics, /readyz; 9090 otherwise.")
    ] = None,
    snapshot: Annotated[Path | None, typer.Option(help="Where a copy of the feed is kept.")] = None,
    drain: Annotated[float | None, typer.Option(help="Seconds to serve after SIGTERM.")] = None,
) -> None:
    """The webhook: sizes labelled pods, always admits them."""
    from plimsoll_operator.admission.serving import serve
    from plimsoll_operator.admission.settings import AdmissionSettings

    _logs()
    given = _given(
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
    serve(AdmissionSettings(**given))


@app.command(rich_help_panel=PROCESSES)
def agent(
    controller: Annotated[
        str, typer.Option(help="The controller's URL.", envvar="PLIMSOLL_CONTROLLER_URL")
    ],
    token_file: Annotated[
        Path, typer.Option(help="File with the bearer token.", envvar="PLIMSOLL_TOKEN_FILE")
    ],
    node_name: Annotated[
        str,
        typer.Option(help="This node's name.", envvar=["PLIMSOLL_NODE_NAME", "NODE_NAME"]),
    ],
    state_dir: Annotated[
        Path, typer.Option(help="Where unsent reports wait.", envvar="PLIMSOLL_STATE_DIR")
    ],
    cgroup_root: Annotated[
        Path, typer.Option(help="Where cgroups are mounted.", envvar="PLIMSOLL_CGROUP_ROOT")
    ] = Path("/sys/fs/cgroup"),
    interval: Annotated[float, typer.Option(help="Seconds between readings.")] = 1.0,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            help="Port of /metrics; none otherwise.", envvar="PLIMSOLL_METRICS_LISTEN_PORT"
        ),
    ] = None,
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
            metrics_listen_port=metrics_port,
        )
    )


@app.command("trainer", hidden=True)  # the process's name, as the other three have theirs
@app.command(rich_help_panel=PROCESSES)
def train(
    task: Annotated[str, typer.Argument(metavar="NAMESPACE/TASK", autocompletion=complete_task)],
    budget: Annotated[float, typer.Option(help="Seconds to search.")] = 60.0,
    memory_mib: Annotated[int, typer.Option(help="Memory cap in MiB.")] = 1024,
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 1,
    policy: Annotated[str | None, typer.Option(help="The task's policy as JSON.")] = None,
    store: options.StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: options.InstalledIn = None,
) -> None:
    """Train one task's classifier from the store's observations."""
    arguments = [task, "--budget", str(budget), "--seed", str(seed)]
    arguments += ["--memory-mib", str(memory_mib), *(["--policy", policy] if policy else [])]
    if store is None:
        from plimsoll_operator.commands.in_controller import Errand, run_in_controller

        place = options.place_of(kubeconfig, context, installed_in)
        raise typer.Exit(run_in_controller(Errand(words=["train", *arguments], place=place)))
    from plimsoll_operator.training.worker import main as train_one

    raise typer.Exit(train_one([*arguments, "--store", store]))


@app.command(hidden=True)
def version() -> None:
    """Print the version."""
    _print_version()


def _print_version() -> None:
    from importlib.metadata import version as version_of

    typer.echo(version_of("plimsoll"))


def _given(**options: Any) -> dict[str, Any]:
    """The options on the command line; for the others the environment holds."""
    return {name: value for name, value in options.items() if value is not None}


def _logs() -> None:
    from plimsoll_operator.logs import log_as_records

    log_as_records()


def main() -> None:
    """Run the command line."""
    run_as("plimsoll")


def run_as(name: str) -> None:
    """Run it under a name; errors that people can mend are one line, not a traceback."""
    try:
        app(prog_name=name)
    except Exception as error:
        from plimsoll_operator.logs import words_for

        words: Any = words_for(error)
        if words is None:
            raise
        typer.echo(f"plimsoll: {words}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
