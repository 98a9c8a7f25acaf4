"""`plimsoll what-if`: how other conditions would change a task's runtimes."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from plimsoll_operator.cli.options import LOOK, Output, Task, examples, needs_store
from plimsoll_operator.commands.printing.output_forms import OutputForm

if TYPE_CHECKING:
    from plimsoll_predictor.runtimes.what_if.scenario import Scenario

app = typer.Typer()


class Limit(StrEnum):
    """The limits that may be imagined."""

    EQUAL = "equal"


def _scenario(
    *, node_type: str | None, limit: Limit | None, even_load: bool, memory: str | None, **_: object
) -> Scenario:
    from plimsoll_operator.views.runtimes.scenarios import BadScenario, scenario_of

    try:
        return scenario_of(
            node_type=node_type, memory=memory, limit_equal=limit is not None, even_load=even_load
        )
    except BadScenario as error:
        raise typer.BadParameter(str(error)) from error


@app.command(
    name="what-if",
    rich_help_panel=LOOK,
    epilog=examples(
        ("on other nodes", "plimsoll what-if shop/train-demand --node-type n2-standard-8"),
        ("without bursting", "plimsoll what-if shop/train-demand --limit equal"),
    ),
)
@needs_store(check=_scenario)
def what_if(
    task: Task,
    node_type: Annotated[
        str | None,
        typer.Option(metavar="TYPE", help="Imagine all runs on nodes of this instance type."),
    ] = None,
    limit: Annotated[
        Limit | None, typer.Option(help="Imagine limits equal to requests: nothing bursts.")
    ] = None,
    even_load: Annotated[
        bool, typer.Option("--even-load", help="Imagine the same load on all nodes.")
    ] = False,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Imagine this allocation of memory: 4Gi.")
    ] = None,
    output: Output = OutputForm.TABLE,
    *,
    store: str,
) -> None:
    """Tell how other conditions would change a task's runtimes, as far as past runs can tell.

    Several conditions hold together.
    """
    from plimsoll_operator.commands.runtimes.what_if import what_if_command

    scenario = _scenario(node_type=node_type, limit=limit, even_load=even_load, memory=memory)
    raise typer.Exit(what_if_command(task, scenario, store, output))
