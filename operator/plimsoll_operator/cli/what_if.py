"""`plimsoll what-if`: what other conditions would change of a task's runtimes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    LOOK,
    Context,
    InstalledIn,
    Kubeconfig,
    Output,
    StoreUrl,
    Task,
    examples,
    in_controller,
    place_of,
    words_of,
)
from plimsoll_operator.commands.printing.output_forms import OutputForm


class Limit(StrEnum):
    """What limits may be imagined as."""

    EQUAL = "equal"


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
    from plimsoll_operator.views.scenarios import BadScenario, scenario_of

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
    from plimsoll_operator.commands.runtimes.what_if import WhatIfRequest, what_if_command

    request = WhatIfRequest(named=task, store_url=store, scenario=scenario)
    raise typer.Exit(what_if_command(request, output))


def add_to(app: typer.Typer) -> None:
    """Put it into the command line."""
    app.command(
        name="what-if",
        rich_help_panel=LOOK,
        epilog=examples(
            ("on other nodes", "plimsoll what-if shop/train-demand --node-type n2-standard-8"),
            ("without bursting", "plimsoll what-if shop/train-demand --limit equal"),
        ),
    )(what_if)
