"""Which task slows which, as tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from plimsoll_operator.commands.placing.starts_told import StartsTold
from plimsoll_operator.commands.printing.tables import panel, plain
from plimsoll_operator.views.placing_facts import PlacingFacts
from plimsoll_operator.wording.placing_words import (
    CANNOT_TELL,
    WHY_NOT,
    words_for_gain,
    words_for_neighbours,
)
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.placing.matrix import Slowdown
from plimsoll_predictor.replay.placing.past_queue import Gain

MOST_SHOWN: Final = 12
"""Kinds in the table; --output json has all."""
NAMED: Final = 2
"""Best and worst neighbours in a task's line; its own page has more."""
_CELL: Final = 6
"""Columns of the terminal that a figure takes."""
_RUNS: Final = 10
"""Columns of the terminal that the runs and the table's edges take."""
_LEAST_NAME, _MOST_NAME = 24, 40
_STYLES: Final = (
    (0.95, "black on sky_blue2"),
    (1.1, ""),
    (1.25, "black on light_goldenrod2"),
    (1.5, "black on orange1"),
    (2.0, "black on dark_orange"),
    (float("inf"), "bright_white on red3"),
)
"""Slowdown below which each style holds; brightness falls, so it can be read without colour."""


def cluster_tables(facts: PlacingFacts, starts: Sequence[StartsTold] = ()) -> RenderableType:
    """All tasks: the matrix, a line for each of its tasks, the saving, and where pods started."""
    shown = [_Matrix(facts), saving_panel(facts)]
    if starts:
        title = "where pods started, since the controller leads"
        shown.append(panel(title, {each.placing: each.words for each in starts}))
    return Group(*shown)


def task_tables(facts: PlacingFacts, kind: str) -> RenderableType:
    """One task: in a line, how it does beside others, and how they do beside it."""
    runs = facts.runs.get(kind, 0)
    words = words_for_neighbours(facts.neighbours(kind), runs)
    head = panel(kind, {"runs": f"{runs:,}", "neighbours": words})
    table = _narrow_table("beside it on a node")
    table.add_column("other task", overflow="fold", min_width=9)
    table.add_column(" it takes", justify="right")
    table.add_column(" the other takes", justify="right")
    table.add_column(" runs", justify="right", no_wrap=True, min_width=5)
    of_it = {other: facts.slowdown(kind, other) for other in facts.kinds}
    for other in sorted(facts.kinds, key=lambda each: (not of_it[each].known, of_it[each].times)):
        table.add_row(
            plain(f"{other} (itself)" if other == kind else other),
            _interval(of_it[other]),
            _interval(facts.slowdown(other, kind)),
            f"{facts.runs.get(other, 0):,}",
        )
    words = "Times as long as alone, and where nine of ten are. ?: cannot be told yet."
    return Group(head, table, plain(words, style="dim"))


def _narrow_table(title: str) -> Table:
    """A table with one blank between columns: figures of many tasks fit side by side."""
    return Table(title=plain(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, padding=0)


def saving_panel(facts: PlacingFacts) -> RenderableType:
    """What placing would have saved in the past."""
    title, gains = "what placing would have saved", facts.gains
    if gains is None and facts.any_known and len(facts.kinds) == 1:
        return panel(title, {"no choice": "only one task runs: all its neighbours are alike"})
    if gains is None:
        return panel(title, {CANNOT_TELL: f"too few slowdowns are known: {WHY_NOT}"})
    past = (
        f"the newest {counted(gains.runs, 'run')}, as they were submitted, on"
        f" {counted(gains.nodes, 'node')} of {gains.places} places"
    )
    usual = f"{gains.usual_slowdown:.2f} times as long as alone"
    return panel(
        title,
        {
            "played again": past,
            "as usual": f"a run takes {usual}, on the node with the most room",
            "nodes chosen": _gain(gains.nodes_chosen, gains.plays),
            "order, too": _gain(gains.ordered, gains.plays),
        },
    )


def _gain(gain: Gain, plays: int) -> Text:
    words = plain(f"{gain.mean_slowdown:.2f} times: ")
    return words.append(words_for_gain(gain, plays), style="bold" if gain.certain else "")


@dataclass(frozen=True, slots=True, eq=False)
class _Matrix:
    """As many kinds as fit the terminal's width, and a line for each."""

    facts: PlacingFacts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        kinds = self.facts.kinds
        names = max(map(len, kinds), default=0) + 1 + len(str(MOST_SHOWN))
        room = options.max_width - _RUNS
        fitting = max(1, (room - min(names, _LEAST_NAME)) // _CELL)
        shown = kinds[: min(fitting, MOST_SHOWN)]
        yield self._table(shown, min(names, _MOST_NAME, max(1, room - _CELL * len(shown))))
        yield self._caption(len(shown))
        yield ""
        yield _lines(self.facts, shown)
        yield ""

    def _table(self, shown: Sequence[str], name_width: int) -> Table:
        title = f"who slows whom, from {counted(self.facts.taught, 'run')}"
        table = _narrow_table(title)
        width = max(16, name_width)
        table.add_column("task ↓  beside →", no_wrap=True, max_width=width)
        for place in range(1, len(shown) + 1):
            table.add_column(f"{place:>3}", no_wrap=True, width=_CELL - 1)
        table.add_column("runs", justify="right", no_wrap=True, style="dim", min_width=6)
        for place, kind in enumerate(shown, 1):
            number = f"{place:>{len(str(len(shown)))}} "
            name = plain(number + cut_in_the_middle(kind, width - len(number)))
            cells = [_cell(self.facts.slowdown(kind, other)) for other in shown]
            table.add_row(name, *cells, f"{self.facts.runs.get(kind, 0):,}")
        return table

    def _caption(self, shown: int) -> Text:
        words = "How many times as long the row's task takes beside one of the column's."
        if self.facts.any_known:
            words += " ?: cannot be told yet."
        else:
            words += f" {CANNOT_TELL.capitalize()}: {WHY_NOT}."
        left = len(self.facts.kinds) - shown
        wider = "in a wider terminal, or " if shown < MOST_SHOWN else ""
        more = f" {counted(left, 'more task')} {wider}by --output json." if left > 0 else ""
        return plain(f"{words}{more}", style="dim")


def cut_in_the_middle(name: str, most: int) -> str:
    """Return a name in at most ``most`` characters: its end tells it from others, too.

    >>> cut_in_the_middle("shop/nightly-reports-of-sales", 16), cut_in_the_middle("shop/a", 16)
    ('shop/nig…f-sales', 'shop/a')
    """
    if len(name) <= most:
        return name
    after = (most - 1) // 2
    return f"{name[: most - 1 - after]}…{name[len(name) - after :]}"


def _lines(facts: PlacingFacts, shown: Sequence[str]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold", max_width=_MOST_NAME)
    grid.add_column(overflow="fold")
    for kind in shown:
        neighbours = facts.neighbours(kind, NAMED)
        words = words_for_neighbours(neighbours, facts.runs.get(kind, 0), apart="\n")
        unknown = words.startswith(CANNOT_TELL)
        lines = (plain(each, style="dim" if unknown else "") for each in words.split("\n"))
        grid.add_row(plain(kind, style="bold"), Text("\n").join(lines))
    return grid


def _cell(slowdown: Slowdown) -> Text:
    if not slowdown.known:
        return plain(f"{_figure(slowdown)}?", style="dim")
    return plain(_figure(slowdown), style=_style(slowdown.times))


def _figure(slowdown: Slowdown) -> str:
    return f"{slowdown.times:.2f}" if slowdown.times < 9.995 else f"{slowdown.times:.1f}"


def _style(times: float) -> str:
    return next(style for below, style in _STYLES if times < below)


def _interval(slowdown: Slowdown) -> Text:
    interval = f" {slowdown.low:.2f} to {slowdown.high:.2f}"
    if not slowdown.known:
        return plain(f"{slowdown.times:.2f}?{interval}", style="dim")
    text = plain(f"{slowdown.times:.2f} ", style=_style(slowdown.times))
    return text.append(interval, style="default on default")
