"""Commands about runtimes: forecast, sla, what-if, shapes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.command_line.options import (
    LOOK,
    Context,
    InstalledIn,
    Kubeconfig,
    Output,
    StoreUrl,
    Task,
    TaskOrPod,
    examples,
    in_controller,
    place_of,
    words_of,
)
from plimsoll_operator.output_forms import OutputForm


class Limit(StrEnum):
    """What limits may be imagined as."""

    EQUAL = "equal"


def forecast(
    named: TaskOrPod,
    output: Output = OutputForm.TABLE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Tell how long a task's next run takes, how sure that is, and what its runs were like.

    Of a pod: when its run is expected to end, and whether it is late.
    """
    place = place_of(kubeconfig, context, installed_in)
    if store is None:
        raise in_controller(["forecast", named, "--output", output.value], place)
    import time

    from plimsoll_operator.commands.forecasting import ForecastRequest, forecast_command

    request = ForecastRequest(named=named, store_url=store, now_s=time.time(), place=place)
    raise typer.Exit(forecast_command(request, output))


def sla(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="JSON; docs/forecast.md. - reads stdin.")
    ],
    within: Annotated[
        str | None,
        typer.Option(metavar="SPAN", help="How soon all should have ended: 90m, 1h30m, 2d."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="TIME", help="By when: 2026-01-31T06:00Z.")
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="CHANCE", help="Exit with 3 where it is less likely: 0.95."
        ),
    ] = None,
    stdin_bytes: Annotated[int | None, typer.Option(hidden=True, min=0)] = None,
    output: Output = OutputForm.TABLE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Tell how likely a plan of tasks that wait for one another has ended by a time.

    And the branch of it that decides. The exit status is 3 where that is less likely than
    --at-least.
    """
    if store is None:
        from plimsoll_operator.commands.history_files import given_history

        words = ["sla", "-", "--output", output.value]
        words += words_of(("--within", within), ("--by", by), ("--at-least", at_least))
        place = place_of(kubeconfig, context, installed_in)
        with given_history(plan, None) as path:
            raise in_controller(words, place, stdin=path)
    import time

    from plimsoll_operator.commands.chaining import SlaRequest, sla_command

    request = SlaRequest(
        path=plan,
        store_url=store,
        now_s=time.time(),
        within=within,
        by=by,
        at_least=at_least,
        stdin_bytes=stdin_bytes,
    )
    raise typer.Exit(sla_command(request, output))


def what_if(
    task: Task,
    node_type: Annotated[
        str | None,
        typer.Option(metavar="TYPE", help="All runs on nodes of this instance type."),
    ] = None,
    limit: Annotated[
        Limit | None, typer.Option(help="Limits equal to requests: nothing bursts.")
    ] = None,
    even_load: Annotated[bool, typer.Option("--even-load", help="Nodes loaded alike.")] = False,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="This allocation of memory: 4Gi.")
    ] = None,
    output: Output = OutputForm.TABLE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Tell what other conditions would change of a task's runtimes, as far as past runs can tell.

    Several conditions mean all of them together.
    """
    from plimsoll_operator.scenarios import BadScenario, scenario_of

    try:
        scenario = scenario_of(
            node_type=node_type, memory=memory, limit_equal=limit is not None, even_load=even_load
        )
    except BadScenario as error:
        raise typer.BadParameter(str(error)) from error
    if store is None:
        words = ["what-if", task, "--output", output.value]
        words += words_of(("--even-load", even_load), ("--node-type", node_type))
        words += words_of(("--limit", limit), ("--memory", memory))
        raise in_controller(words, place_of(kubeconfig, context, installed_in))
    from plimsoll_operator.commands.what_if import WhatIfRequest, what_if_command

    request = WhatIfRequest(named=task, store_url=store, scenario=scenario)
    raise typer.Exit(what_if_command(request, output))


def shapes(
    learn: Annotated[
        bool, typer.Option("--learn", help="Anew from the runs that are stored, and keep them.")
    ] = False,
    output: Output = OutputForm.TABLE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """List the typical shapes that tasks' runtimes come in."""
    if store is None:
        words = ["shapes", *words_of(("--learn", learn)), "--output", output.value]
        raise in_controller(words, place_of(kubeconfig, context, installed_in))
    import time

    from plimsoll_operator.commands.shapes import ShapesRequest, shapes_command

    request = ShapesRequest(store_url=store, now_s=time.time(), learn=learn)
    raise typer.Exit(shapes_command(request, output))


def add_to(app: typer.Typer) -> None:
    """Put the commands of this file into the command line."""
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("a task: how long its next run takes", "plimsoll forecast shop/train-demand"),
            ("a pod: when it ends, and whether it is late", "plimsoll forecast shop/train-x7k2p"),
        ),
    )(forecast)
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("how likely all has ended in two hours", "plimsoll sla plan.json --within 2h"),
            ("for an engine", "plimsoll sla plan.json --at-least 0.95 --output json | jq .chance"),
        ),
    )(sla)
    app.command(
        name="what-if",
        rich_help_panel=LOOK,
        epilog=examples(
            ("on other nodes", "plimsoll what-if shop/train-demand --node-type n2-standard-8"),
            ("without bursting", "plimsoll what-if shop/train-demand --limit equal"),
        ),
    )(what_if)
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("those that were learned last", "plimsoll shapes"),
            ("anew, with why each task has its own", "plimsoll shapes --learn"),
        ),
    )(shapes)
