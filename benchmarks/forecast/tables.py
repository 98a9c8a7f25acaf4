"""Figures of forecasts, as a table in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from benchmarks.forecast.bars import OWN

HEADINGS: Final[dict[str, tuple[str, str]]] = {
    "pin, runs": ("pin_runs", "{:.4f}"),
    "tasks": ("pin_tasks", "{:.4f}"),
    "1–5 known": ("pin_few_runs", "{:.3f}"),
    "≤ P90": ("p90_coverage", "{:.3f}"),
    "≤ P95": ("p95_coverage", "{:.3f}"),
    "≤ P99": ("p99_coverage", "{:.3f}"),
    "skill > 2×": ("skill_2x", "{:.3f}"),
    "> 10×": ("skill_10x", "{:.3f}"),
    "µs": ("us_per_forecast", "{:.1f}"),
    "bytes a task": ("bytes_per_task", "{:,.0f}"),
}
"""Heading -> the figure's key, and how it is written."""


def figures_table(figures: Sequence[dict[str, Any]]) -> Table:
    """A row per method, one log after the other."""
    table = Table(title="Forecasts of runtimes", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("log", "method"):
        table.add_column(heading, no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    previous = None
    for each in figures:
        if previous not in (None, each["log"]):
            table.add_section()
        table.add_row(
            "" if previous == each["log"] else escape(each["log"]),
            each["method"],
            *(
                "–" if each[key] is None else form.format(each[key])
                for key, form in HEADINGS.values()
            ),
            style="bold" if each["method"] == OWN else "",
        )
        previous = each["log"]
    return table
