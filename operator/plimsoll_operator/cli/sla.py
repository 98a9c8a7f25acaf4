"""`plimsoll sla`: how likely a plan of tasks has ended by a time."""

from __future__ import annotations

from pathlib import Path
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


def sla(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="JSON; docs/forecast.md. - reads stdin.")
    ],
    within: Annotated[
        str | None,
        typer.Option(metavar="SPAN", help="How soon all should have ended: 90m, 1h30m, 2d."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="TIME", help="By when: 2026-01-31T06:00Z.")
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="CHANCE", help="Exit with 3 where it is less likely: 0.95."
        ),
    ] = None,
    stdin_bytes: Annotated[int | None, typer.Option(hidden=True, min=0)] = None,
    output: Output = OutputForm.TABLE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Tell how likely a plan of tasks that wait for one another has ended by a time.

    And the branch of it that decides. The exit status is 3 where that is less likely than
    --at-least.
    """
    if store is None:
        from plimsoll_operator.commands.past_runs.history_files import given_history

        words = ["sla", "-", "--output", output.value]
        words += words_of(("--within", within), ("--by", by), ("--at-least", at_least))
        place = place_of(kubeconfig, context, installed_in)
        with given_history(plan, None) as path:
            raise in_controller(words, place, stdin=path)
    import time

    from plimsoll_operator.commands.runtimes.sla import SlaRequest, sla_command

    request = SlaRequest(
        path=plan,
        store_url=store,
        now_s=time.time(),
        within=within,
        by=by,
        at_least=at_least,
        stdin_bytes=stdin_bytes,
    )
    raise typer.Exit(sla_command(request, output))


def add_to(app: typer.Typer) -> None:
    """Put it into the command line."""
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("how likely all has ended in two hours", "plimsoll sla plan.json --within 2h"),
            ("for an engine", "plimsoll sla plan.json --at-least 0.95 --output json | jq .chance"),
        ),
    )(sla)
