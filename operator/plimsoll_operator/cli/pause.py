"""`plimsoll pause` and `plimsoll resume`: all sizing stops within seconds, and continues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import typer

from plimsoll_operator.cli.options import (
    SET,
    Namespace,
    examples,
    needs_installation,
    some_task,
    understood,
)
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()

TaskOrCluster = Annotated[str | None, some_task(help="One task; the whole cluster otherwise.")]


def _switch(*, paused: bool) -> Callable[..., None]:
    @needs_installation
    def switch(
        task: TaskOrCluster = None, namespace: Namespace = None, *, installation: Installation
    ) -> None:
        from plimsoll_operator.commands.modes.pause import pause_command, target_of

        with understood():
            target_of(task, namespace, None)
        raise typer.Exit(pause_command(task, namespace, installation, paused=paused))

    return switch


HELP: Final = {
    "pause": """
    Stop sizing within seconds: pods start as their authors wrote them. Learning goes on.

    Without a task or namespace it pauses the whole cluster, over every policy and annotation.
    """,
    "resume": "Size pods again, as before `plimsoll pause`.",
}

for name, words in HELP.items():
    app.command(
        name,
        help=words,
        rich_help_panel=SET,
        epilog=examples(
            ("the whole cluster", f"plimsoll {name}"),
            ("one namespace", f"plimsoll {name} -n shop"),
            ("one task", f"plimsoll {name} shop/train-demand"),
        ),
    )(_switch(paused=name == "pause"))
