"""`plimsoll replay`: what a policy would have wasted on past runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    PAST_RUNS,
    StoreUrl,
    examples,
    names_of,
    needs_installation,
    understood,
)
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_predictor.replay.sizes.engine import DecideAt

app = typer.Typer()


@app.command(
    rich_help_panel=PAST_RUNS,
    epilog=examples(
        ("every policy on a trace", "plimsoll replay runs.csv --html replay.html"),
        (
            "a task's own history",
            "plimsoll replay --from-store shop/train-demand --policy plimsoll",
        ),
        ("how well runtimes are forecast", "plimsoll replay --runtime log.csv.gz"),
    ),
)
@needs_installation
def replay(
    traces: Annotated[
        list[Path] | None, typer.Argument(help="CSV or Parquet of past runs, as in docs/replay.md.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Policy: plimsoll, a baseline, or all; may be repeated."),
    ] = None,
    decide: Annotated[DecideAt, typer.Option(help="When a size is decided.")] = DecideAt.SUBMIT,
    first_size: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Size of a task never seen, as a share of its request."),
    ] = 1.0,
    trainings: Annotated[
        bool,
        typer.Option("--trainings", help="Train Plimsoll's models, too; takes minutes a trace."),
    ] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="File for the figures.")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for the page with plots.")
    ] = None,
    from_store: Annotated[
        str | None,
        typer.Option(
            metavar="NAMESPACE/TASK", help="Replay a task's own history, too.", callback=names_of
        ),
    ] = None,
    runtime: Annotated[
        list[Path] | None,
        typer.Option(metavar="LOG", help="A log of runtimes to forecast; may be repeated."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Method for --runtime: plimsoll, a baseline, or all."),
    ] = None,
    store: StoreUrl = None,
    *,
    installation: Installation,
) -> None:
    """Play past runs through policies: tell how much each wastes, and how often it fails."""
    if runtime:
        if traces or from_store or html:
            raise typer.BadParameter("a log of runtimes is replayed alone, and has no page")
        from plimsoll_operator.commands.past_runs.runtime_replay import runtime_replay_command
        from plimsoll_predictor.replay.runtimes.judging import methods_named

        with understood():
            methods_named(method or ())
        raise typer.Exit(runtime_replay_command(runtime, method or ["plimsoll"], json))
    if method:
        raise typer.BadParameter("--method is of --runtime LOG; a trace has --policy")
    import time

    from plimsoll_operator.commands.past_runs.replay import (
        ReplayRequest,
        check_request,
        replay_command,
    )
    from plimsoll_predictor.replay.sizes.playing import Setting
    from plimsoll_predictor.replay.sizes.sizer import Trainings

    request = ReplayRequest(
        traces=traces or (),
        policies=tuple(policy or ("all",)),
        setting=Setting(
            decide_at=decide,
            first_size=first_size,
            trainings=Trainings() if trainings else None,
        ),
        from_store=from_store,
        store_url=store,
        installation=installation,
        json_file=json,
        html_file=html,
    )
    with understood():
        check_request(request)
    raise typer.Exit(replay_command(request, time.time()))
