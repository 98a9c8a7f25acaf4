"""`plimsoll status`: is Plimsoll healthy, and what does it do."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    LOOK,
    Context,
    InstalledIn,
    Kubeconfig,
    Output,
    examples,
    place_of,
)
from plimsoll_operator.commands.printing.output_forms import OutputForm


def status(
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAMESPACE",
            help="Tasks of this one; all you may see otherwise.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, metavar="COUNT", help="Most tasks in the table.")
    ] = 40,
    output: Output = OutputForm.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Tell whether Plimsoll is healthy, what it does for each task, and what to do next.

    Reads the Kubernetes API only, and says what you may not see.
    The exit status is 0 if Plimsoll is healthy, 1 if not.
    """
    from plimsoll_operator.commands.status.status import StatusRequest, status_command

    request = StatusRequest(
        place=place_of(kubeconfig, context, installed_in), namespace=namespace, limit=limit
    )
    raise typer.Exit(status_command(request, output))


def add_to(app: typer.Typer) -> None:
    """Put it into the command line."""
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("is all well, and what is saved", "plimsoll status"),
            ("the tasks of one namespace", "plimsoll status -n shop"),
            ("for a script", "plimsoll status --output json | jq .healthy"),
        ),
    )(status)
