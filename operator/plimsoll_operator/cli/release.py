"""`plimsoll release`: pods and Jobs no longer wait for their turn."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import SET, Context, Kubeconfig, examples
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()


@app.command(
    rich_help_panel=SET,
    epilog=examples(
        ("before Plimsoll is removed without Helm", "plimsoll release --without-webhook plimsoll"),
        ("after the order was switched off without Helm", "plimsoll release --quiet-for 30"),
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
    quiet_for: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="Stop only after no waiting pod or Job was found for this many seconds: replicas "
            "of admission that are about to end may still hold some.",
        ),
    ] = 0.0,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Start all pods and Jobs that wait for their turn.

    Plimsoll's scheduling gate is removed from pods, and Jobs that it suspended are resumed.

    `helm uninstall` does the same if pods may wait; `helm upgrade` and `helm rollback` do it if
    pods may no longer wait. This command needs no running Plimsoll: it also helps after all of
    Plimsoll was removed.
    """
    from plimsoll_operator.commands.modes.release import release_command

    installation = Installation(kubeconfig=kubeconfig, context=context)
    raise typer.Exit(
        release_command(installation, without_webhook=without_webhook, quiet_for_s=quiet_for)
    )
