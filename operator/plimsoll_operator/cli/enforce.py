"""`plimsoll enforce`, `plimsoll recommend`, `plimsoll off`: the mode of a task or namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import typer

from plimsoll_operator.cli.options import (
    SET,
    Context,
    Kubeconfig,
    Namespace,
    examples,
    some_task,
    understood,
)
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_predictor.core.policy import Mode

app = typer.Typer()

Task = Annotated[str | None, some_task(help="Name one task, or a namespace with -n.")]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def _mode_command(mode: Mode) -> Callable[..., None]:
    def set_mode(
        task: Task = None,
        namespace: Namespace = None,
        yes: Yes = False,
        kubeconfig: Kubeconfig = None,
        context: Context = None,
    ) -> None:
        from plimsoll_operator.commands.modes.enforce import mode_command, target_of

        with understood():
            target_of(task, namespace)
        installation = Installation(kubeconfig=kubeconfig, context=context)
        raise typer.Exit(mode_command(mode, task, namespace, installation, ask=not yes))

    return set_mode


HELP: Final = {
    Mode.ENFORCE: """Let Plimsoll set the memory of a task's pods, or of all tasks in a namespace.

    It first says what changes, and what it would have saved and killed so far.
    """,
    Mode.RECOMMEND: "Only write down what Plimsoll would do; change no pod's memory.",
    Mode.OFF: "Leave a task's pods alone, or those of all tasks in a namespace.",
}

for mode, words in HELP.items():
    app.command(
        mode.value,
        help=words,
        rich_help_panel=SET,
        epilog=examples(
            ("one task", f"plimsoll {mode.value} shop/train-demand"),
            ("a namespace, without asking", f"plimsoll {mode.value} -n shop --yes"),
        ),
    )(_mode_command(mode))
