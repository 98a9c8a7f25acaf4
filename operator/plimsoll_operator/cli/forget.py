"""`plimsoll forget`: forget tasks with all that was learned of them."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import PAST_RUNS, complete_task, examples, needs_store

app = typer.Typer()


@app.command(
    rich_help_panel=PAST_RUNS,
    epilog=examples(
        ("what would be forgotten", "plimsoll forget 'shop/tmp-*'"),
        ("forget it", "plimsoll forget 'shop/tmp-*' --yes"),
        ("forget a whole namespace", "plimsoll forget shop --yes"),
    ),
)
@needs_store()
def forget(
    tasks: Annotated[
        str,
        typer.Argument(
            metavar="NAMESPACE[/TASK]",
            help="A task, or all tasks of a namespace; * stands for any letters of a task's name.",
            autocompletion=complete_task,
        ),
    ],
    yes: Annotated[
        bool, typer.Option("--yes", help="Forget them; without it they are only listed.")
    ] = False,
    *,
    store: str,
) -> None:
    """Forget tasks: attempts, models, lifts, and the profile unless people wrote into it."""
    from plimsoll_operator.commands.past_runs.forget import Doing, forget_command

    raise typer.Exit(forget_command(tasks, store, Doing.FORGET if yes else Doing.LIST))
