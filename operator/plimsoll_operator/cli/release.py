"""`plimsoll release`: nothing waits for its turn any more."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import SET, Context, Kubeconfig, examples
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()


@app.command(
    rich_help_panel=SET,
    epilog=examples(
        ("before Plimsoll is removed without Helm", "plimsoll release --without-webhook plimsoll")
    ),
)
def release(
    without_webhook: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="First delete this MutatingWebhookConfiguration, so that nothing more is held.",
        ),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Let all pods and Jobs start that wait for their turn.

    Plimsoll's scheduling gate is removed from pods, and Jobs that it suspended are resumed.

    `helm uninstall` does it by itself where pods may wait.
    """
    from plimsoll_operator.commands.modes.release import release_command

    installation = Installation(kubeconfig=kubeconfig, context=context)
    raise typer.Exit(release_command(installation, without_webhook=without_webhook))
