"""Options of ``plimsoll import`` that concern a Prometheus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

PANEL: Final = "From a Prometheus"

Address = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Take past pods from its kube-state-metrics and cAdvisor series.",
        envvar="PLIMSOLL_PROMETHEUS_URL",
        rich_help_panel=PANEL,
    ),
]
Since = Annotated[
    str, typer.Option(help="How far back, or a date: 30d, 12h.", rich_help_panel=PANEL)
]
Until = Annotated[str | None, typer.Option(help="Up to then; now.", rich_help_panel=PANEL)]
TaskLabel = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL",
        help="A label of pods that names their task, where plimsoll.dev/task does not.",
        rich_help_panel=PANEL,
    ),
]
Match = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MATCHER",
        help='More of what is looked at, such as cluster="prod".',
        rich_help_panel=PANEL,
    ),
]
Margin = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Added to the highest sample, for spikes between two.",
        rich_help_panel=PANEL,
    ),
]
TokenFile = Annotated[
    Path | None, typer.Option(help="Holds a bearer token.", rich_help_panel=PANEL)
]
CaFile = Annotated[
    Path | None, typer.Option(help="Certificates to trust, PEM.", rich_help_panel=PANEL)
]
Save = Annotated[
    Path | None,
    typer.Option(help="Only write what was found, as a history file.", rich_help_panel=PANEL),
]
