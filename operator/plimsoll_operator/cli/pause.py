"""`plimsoll pause` and `plimsoll resume`: all sizing stops within seconds, and goes on."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    SET,
    Context,
    InstalledIn,
    Kubeconfig,
    complete_task,
    examples,
    place_of,
)

TaskOrCluster = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAMESPACE/TASK]",
        autocompletion=complete_task,
        help="One task; else the whole cluster.",
    ),
]

Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAMESPACE", help="All tasks of this namespace."),
]


def pause(
    task: TaskOrCluster = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Stop sizing within seconds: pods start as their authors wrote them. Learning goes on.

    Without a task or namespace the whole cluster is paused, over every policy and annotation.
    """
    _pause(task, namespace, (kubeconfig, context, installed_in), paused=True)


def resume(
    task: TaskOrCluster = None,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Size pods again, as before `plimsoll pause`."""
    _pause(task, namespace, (kubeconfig, context, installed_in), paused=False)


def _pause(
    task: str | None,
    namespace: str | None,
    where: tuple[str | None, str | None, str | None],
    *,
    paused: bool,
) -> None:
    from plimsoll_operator.commands.modes.pause import PauseRequest, pause_command

    request = PauseRequest(task=task, namespace=namespace, place=place_of(*where), paused=paused)
    raise typer.Exit(pause_command(request))


def add_to(app: typer.Typer) -> None:
    """Put it into the command line."""
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
