"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from plimsoll_operator.commands.places import Place
from plimsoll_operator.output_forms import OutputForm

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
    from plimsoll_operator.commands.completing import task_names

    return task_names(incomplete)


def place_of(kubeconfig: str | None, context: str | None, installed_in: str | None) -> Place:
    """Which cluster is meant."""
    return Place(kubeconfig=kubeconfig, context=context, installed_in=installed_in)


def examples(*shown: tuple[str, str]) -> str:
    r"""Examples below a command's help, with rich's markup: what for, and the command.

    >>> examples(("all of it", "plimsoll status"))
    '[bold]Examples[/bold]\n[dim]# all of it[/dim]\n$ plimsoll status'
    """
    lines = [f"[dim]# {what}[/dim]\n$ {command}" for what, command in shown]
    return "\n".join(["[bold]Examples[/bold]", *lines])
