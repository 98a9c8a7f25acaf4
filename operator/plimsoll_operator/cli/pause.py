"""`plimsoll pause` and `plimsoll resume`: all sizing stops within seconds, and goes on."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import SET, complete_task, examples, needs_installation
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()

TaskOrCluster = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAMESPACE/TASK]",
        autocompletion=complete_task,
        help="One task; the whole cluster otherwise.",
    ),
]

Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAMESPACE", help="All tasks of this namespace."),
]


@needs_installation
def pause(
    task: TaskOrCluster = None,
    namespace: Namespace = None,
    *,
    installation: Installation,
) -> None:
    """Stop sizing within seconds: pods start as their authors wrote them. Learning goes on.

    Without a task or namespace it pauses the whole cluster, over every policy and annotation.
    """
    _set_paused(True, task, namespace, installation)


@needs_installation
def resume(
    task: TaskOrCluster = None,
    namespace: Namespace = None,
    *,
    installation: Installation,
) -> None:
    """Size pods again, as before `plimsoll pause`."""
    _set_paused(False, task, namespace, installation)


def _set_paused(
    paused: bool, task: str | None, namespace: str | None, installation: Installation
) -> None:
    from plimsoll_operator.commands.modes.pause import PauseRequest, pause_command

    request = PauseRequest(task=task, namespace=namespace, installation=installation, paused=paused)
    raise typer.Exit(pause_command(request))


for switch in (pause, resume):
    name = switch.__name__
    app.command(
        rich_help_panel=SET,
        epilog=examples(
            ("the whole cluster", f"plimsoll {name}"),
            ("one namespace", f"plimsoll {name} -n shop"),
            ("one task", f"plimsoll {name} shop/train-demand"),
        ),
    )(switch)
