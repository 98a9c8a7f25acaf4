"""`plimsoll sla`: the chance that a plan of tasks has ended by a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import LOOK, Output, examples, needs_store, understood
from plimsoll_operator.commands.printing.output_forms import OutputForm

app = typer.Typer()


def _deadline(*, within: str | None, by: str | None, **_: object) -> None:
    import time

    from plimsoll_operator.commands.runtimes.deadlines import deadline_s

    with understood():
        deadline_s(within, by, time.time())


@app.command(
    rich_help_panel=LOOK,
    epilog=examples(
        ("the chance that all tasks end within two hours", "plimsoll sla plan.json --within 2h"),
        ("for an engine", "plimsoll sla plan.json --at-least 0.95 --output json | jq .chance"),
    ),
)
@needs_store(stdin="plan", check=_deadline)
def sla(
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN", help="The plan as JSON, as in docs/forecast.md; - reads stdin."
        ),
    ],
    within: Annotated[
        str | None,
        typer.Option(metavar="SPAN", help="Span in which all should have ended: 90m, 1h30m, 2d."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time by which all should have ended: 2026-01-31T06:00Z; UTC without a zone.",
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="CHANCE", help="Exit with 3 if the chance is lower: 0.95."
        ),
    ] = None,
    stdin_bytes: Annotated[int | None, typer.Option(hidden=True, min=0)] = None,
    output: Output = OutputForm.TABLE,
    *,
    store: str,
) -> None:
    """Tell how likely it is that all tasks of a plan have ended by a time.

    The tasks wait for one another, and it names the branch that decides. The chance is that of a
    plan in which no attempt is killed or fails. The exit status is 3 if it is below --at-least.
    """
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
