"""`plimsoll shapes`: the typical shapes of runtimes."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    LOOK,
    Context,
    InstalledIn,
    Kubeconfig,
    Output,
    StoreUrl,
    examples,
    in_controller,
    place_of,
    words_of,
)
from plimsoll_operator.commands.printing.output_forms import OutputForm


def shapes(
    learn: Annotated[
        bool, typer.Option("--learn", help="Anew from the runs that are stored, and keep them.")
    ] = False,
    output: Output = OutputForm.TABLE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """List the typical shapes that tasks' runtimes come in."""
    if store is None:
        words = ["shapes", *words_of(("--learn", learn)), "--output", output.value]
        raise in_controller(words, place_of(kubeconfig, context, installed_in))
    import time

    from plimsoll_operator.commands.runtimes.shapes import ShapesRequest, shapes_command

    request = ShapesRequest(store_url=store, now_s=time.time(), learn=learn)
    raise typer.Exit(shapes_command(request, output))


def add_to(app: typer.Typer) -> None:
    """Put it into the command line."""
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("those that were learned last", "plimsoll shapes"),
            ("anew, with why each task has its own", "plimsoll shapes --learn"),
        ),
    )(shapes)
