"""`plimsoll models`: a task's trainings."""

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
    Task,
    examples,
    in_controller,
    place_of,
    words_of,
)
from plimsoll_operator.commands.printing.output_forms import OutputForm


def models(
    task: Task,
    version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="One training in full; first characters do."),
    ] = None,
    output: Output = OutputForm.TABLE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """List a task's trainings: parameters, scores, out-of-time costs, failures."""
    if store is None:
        words = ["models", task, "--output", output.value, *words_of(("--version", version))]
        raise in_controller(words, place_of(kubeconfig, context, installed_in))
    from plimsoll_operator.commands.sizes.models import models_command

    raise typer.Exit(models_command(task, store, output, version))


def add_to(app: typer.Typer) -> None:
    """Put it into the command line."""
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("all that are kept, newest first", "plimsoll models shop/train-demand"),
            ("one in full", "plimsoll models shop/train-demand --version 3fa9"),
        ),
    )(models)
