"""A bar: the value that a benchmark must reach, as a line of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One line: the measured value, its bar, and whether it holds; None if not measured."""

    what: str
    measured: str
    bar: str
    holds: bool | None


def below(what: str, measured: float, bar: float, form: str = "{:.3f}") -> Bar:
    """A line whose figure must not be above its bar; judged before it is rounded."""
    return Bar(
        what=what, measured=form.format(measured), bar=f"≤ {bar:g}", holds=bool(measured <= bar)
    )


def bars_table(lines: Sequence[Bar]) -> Table:
    """One bar per line, and whether it holds."""
    held = sum(bool(line.holds) for line in lines)
    title = f"{held} of {len(lines)} bars hold"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("what")
    for heading in ("measured", "bar"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    words = {True: "[green]passes[/]", False: "[red]falls short[/]", None: "[red]not measured[/]"}
    for line in lines:
        table.add_row(escape(line.what), line.measured, line.bar, words[line.holds])
    return table
