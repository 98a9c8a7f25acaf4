"""`plimsoll enforce`, `plimsoll recommend` and `plimsoll off`: a task's mode or a namespace's."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import SET, Context, Kubeconfig, complete_task, examples
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_predictor.core.policy import Mode

app = typer.Typer()

Task = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAMESPACE/TASK]",
        autocompletion=complete_task,
        help="Name one task, or a namespace with -n.",
    ),
]

Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAMESPACE", help="All tasks of this namespace."),
]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def enforce(
    task: Task = None,
    namespace: Namespace = None,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Let Plimsoll set the memory of a task's pods, or of all pods in a namespace.

    It first says what changes, and what it would have saved and killed so far.
    """
    installation = Installation(kubeconfig=kubeconfig, context=context)
    _set_mode(Mode.ENFORCE, (task, namespace), installation, ask=not yes)


def recommend(
    task: Task = None,
    namespace: Namespace = None,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Only write down what Plimsoll would do; change no pod's memory."""
    installation = Installation(kubeconfig=kubeconfig, context=context)
    _set_mode(Mode.RECOMMEND, (task, namespace), installation, ask=not yes)


def off(
    task: Task = None,
    namespace: Namespace = None,
    yes: Yes = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Leave a task's pods alone, or all pods in a namespace."""
    installation = Installation(kubeconfig=kubeconfig, context=context)
    _set_mode(Mode.OFF, (task, namespace), installation, ask=not yes)


def _set_mode(
    mode: Mode, named: tuple[str | None, str | None], installation: Installation, *, ask: bool
) -> None:
    from plimsoll_operator.commands.modes.enforce import ModeRequest, mode_command

    task, namespace = named
    request = ModeRequest(
        mode=mode, task=task, namespace=namespace, installation=installation, ask=ask
    )
    raise typer.Exit(mode_command(request))


modes = (
    (enforce, ("one task", "plimsoll enforce shop/train-demand")),
    (recommend, ("one task", "plimsoll recommend shop/train-demand")),
    (off, ("one task", "plimsoll off shop/train-demand")),
)
for command, example in modes:
    whole = ("a namespace, without asking", f"plimsoll {command.__name__} -n shop --yes")
    app.command(rich_help_panel=SET, epilog=examples(example, whole))(command)
