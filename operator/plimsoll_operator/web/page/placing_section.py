"""Parts of the page about neighbours: the index's picture, and one task's best and worst. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from plimsoll_operator.views.placing_facts import PlacingFacts
from plimsoll_operator.web.plots import placing_plot
from plimsoll_operator.wording.placing_words import CANNOT_TELL, WHY_NOT, words_for_neighbours
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.placing.matrix import Slowdown
from plimsoll_predictor.placing.telling import Neighbour

_UNTOLD: Final = "?"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacingPart:
    """The index's picture. narrow: for a phone. rows: the same as figures: a name and its cells."""

    wide: Markup
    narrow: Markup
    runs: int
    kinds: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    more: int

    @property
    def narrow_kinds(self) -> int:
        """How many tasks a phone shows."""
        return min(len(self.kinds), placing_plot.NARROW.kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourRow:
    """One neighbour. task: None for a name that has no page. own: the task itself."""

    name: str
    task: TaskId | None
    own: bool
    takes: str
    between: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighboursPart:
    """A task's neighbours. words: a sentence without the task's name."""

    words: str
    best: tuple[NeighbourRow, ...]
    worst: tuple[NeighbourRow, ...]


def placing_part(facts: PlacingFacts | None) -> PlacingPart | None:
    """Draw the index's picture; None if nothing is known."""
    if facts is None or not facts.any_known:
        return None
    kinds = facts.kinds[: placing_plot.WIDE.kinds]
    return PlacingPart(
        wide=placing_plot.placing_plot(facts),
        narrow=placing_plot.placing_plot(facts, placing_plot.NARROW),
        runs=facts.taught,
        kinds=kinds,
        rows=tuple(
            (kind, tuple(_figure(facts.slowdown(kind, other)) for other in kinds)) for kind in kinds
        ),
        more=len(facts.kinds) - len(kinds),
    )


def neighbours_part(facts: PlacingFacts | None, task: TaskId) -> NeighboursPart | None:
    """One task's neighbours; None if none of its runs taught anything."""
    kind = str(task)
    runs = 0 if facts is None else facts.runs.get(kind, 0)
    if facts is None or not runs:
        return None
    found = facts.neighbours(kind)
    words = words_for_neighbours(found, runs)
    if words.startswith(CANNOT_TELL):
        words = f"{CANNOT_TELL}, from {counted(runs, 'run')} of it: {WHY_NOT}"
    return NeighboursPart(words=words, best=_rows(found.best, kind), worst=_rows(found.worst, kind))


def _rows(besides: Sequence[Neighbour], own: str) -> tuple[NeighbourRow, ...]:
    return tuple(
        NeighbourRow(
            name=each.kind,
            task=_task_of(each.kind),
            own=each.kind == own,
            takes=f"{each.slowdown.times:.2f} times",
            between=f"{each.slowdown.low:.2f} to {each.slowdown.high:.2f}",
        )
        for each in besides
    )


def _figure(slowdown: Slowdown) -> str:
    return f"{slowdown.times:.2f}" if slowdown.known else _UNTOLD


def _task_of(kind: str) -> TaskId | None:
    try:
        return TaskId.parse(kind)
    except ValueError:
        return None
