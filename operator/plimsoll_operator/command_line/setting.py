"""Commands that set: pause, resume, enforce, recommend, off."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.command_line.options import (
    SET,
    Context,
    InstalledIn,
    Kubeconfig,
    complete_task,
    examples,
    place_of,
)
from plimsoll_predictor.policy import Mode

Task = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAMESPACE/TASK]",
        autocompletion=complete_task,
        help="One task; or name a namespace.",
    ),
]
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
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


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


def enforce(
    task: Task = None,
    namespace: Namespace = None,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Let Plimsoll set the memory of a task's pods, or of all in a namespace.

    Says first what changes, and what it would have saved and killed so far.
    """
    _set_mode(Mode.ENFORCE, (task, namespace), (kubeconfig, context), ask=not yes)


def recommend(
    task: Task = None,
    namespace: Namespace = None,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Only write down what Plimsoll would do; change no pod's memory."""
    _set_mode(Mode.RECOMMEND, (task, namespace), (kubeconfig, context), ask=not yes)


def off(
    task: Task = None,
    namespace: Namespace = None,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Leave a task's pods alone, or all in a namespace."""
    _set_mode(Mode.OFF, (task, namespace), (kubeconfig, context), ask=not yes)


def _pause(
    task: str | None,
    namespace: str | None,
    where: tuple[str | None, str | None, str | None],
    *,
    paused: bool,
) -> None:
    from plimsoll_operator.commands.pausing import PauseRequest, pause_command

    request = PauseRequest(task=task, namespace=namespace, place=place_of(*where), paused=paused)
    raise typer.Exit(pause_command(request))


def _set_mode(
    mode: Mode,
    named: tuple[str | None, str | None],
    where: tuple[str | None, str | None],
    *,
    ask: bool,
) -> None:
    from plimsoll_operator.commands.mode_setting import ModeRequest, mode_command

    task, namespace = named
    place = place_of(*where, None)
    request = ModeRequest(mode=mode, task=task, namespace=namespace, place=place, ask=ask)
    raise typer.Exit(mode_command(request))


def add_to(app: typer.Typer) -> None:
    """Put the commands of this file into the command line."""
    modes = (
        (enforce, ("one task", "plimsoll enforce shop/train-demand")),
        (recommend, ("one task", "plimsoll recommend shop/train-demand")),
        (off, ("one task", "plimsoll off shop/train-demand")),
    )
    for command, example in modes:
        whole = ("a namespace, without asking", f"plimsoll {command.__name__} -n shop --yes")
        app.command(rich_help_panel=SET, epilog=examples(example, whole))(command)
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
