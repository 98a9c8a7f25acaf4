"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.places import Place

LOOK: Final = "Look"
SET: Final = "Set"
PAST_RUNS: Final = "Past runs"
PROCESSES: Final = "Processes"
CLUSTER: Final = "Which cluster and store"

Kubeconfig = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Path of a kubeconfig.",
        envvar="PLIMSOLL_KUBECONFIG",
        rich_help_panel=CLUSTER,
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Context in the kubeconfig; its current one otherwise.",
        rich_help_panel=CLUSTER,
    ),
]
InstalledIn = Annotated[
    str | None,
    typer.Option(
        "--installed-in",
        metavar="NAMESPACE",
        help="Namespace that Plimsoll runs in; looked for otherwise.",
        envvar="PLIMSOLL_INSTALLED_IN",
        rich_help_panel=CLUSTER,
    ),
]
StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="The store, if it can be reached from here; the command runs in the controller's pod"
        " otherwise.",
        envvar="PLIMSOLL_STORE_URL",
        rich_help_panel=CLUSTER,
    ),
]
Output = Annotated[OutputForm, typer.Option("--output", "-o", help="For people, or for programs.")]


def complete_task(incomplete: str) -> list[str]:
    """Tasks whose ``namespace/name`` begins so; none if the cluster does not answer at once."""
    from plimsoll_operator.commands.status.completing import task_names

    return task_names(incomplete)


Task = Annotated[str, typer.Argument(metavar="NAMESPACE/TASK", autocompletion=complete_task)]
TaskOrPod = Annotated[
    str,
    typer.Argument(
        metavar="NAMESPACE/NAME", help="A task, or a pod.", autocompletion=complete_task
    ),
]


def place_of(kubeconfig: str | None, context: str | None, installed_in: str | None) -> Place:
    """Which cluster is meant."""
    return Place(kubeconfig=kubeconfig, context=context, installed_in=installed_in)


def in_controller(
    words: Sequence[str], place: Place, *, stdin: Path | None = None, out: Path | None = None
) -> typer.Exit:
    """Run a command where the store is, and end with its exit status.

    words: the command. stdin: a file that it reads. out: where its output goes; None prints it.
    """
    from plimsoll_operator.commands.reaching.in_controller import Errand, run_in_controller

    return typer.Exit(run_in_controller(Errand(words=words, place=place, stdin=stdin, out=out)))


def words_of(*options: tuple[str, object]) -> list[str]:
    """The words of options that were given; None was not, and True needs no value.

    >>> words_of(("--by", None), ("--strict", True), ("--at-least", 0.95))
    ['--strict', '--at-least', '0.95']
    """
    words = []
    for name, value in options:
        if value is True:
            words.append(name)
        elif value is not None and value is not False:
            words += [name, str(value)]
    return words


def given_only(**options: Any) -> dict[str, Any]:
    """The options on the command line; for the others the environment holds."""
    return {name: value for name, value in options.items() if value is not None}


def examples(*shown: tuple[str, str]) -> str:
    r"""Examples below a command's help, with rich's markup: what for, and the command.

    >>> examples(("all of it", "plimsoll status"))
    '[bold]Examples[/bold]\n[dim]# all of it[/dim]\n$ plimsoll status'
    """
    lines = [f"[dim]# {what}[/dim]\n$ {command}" for what, command in shown]
    return "\n".join(["[bold]Examples[/bold]", *lines])
