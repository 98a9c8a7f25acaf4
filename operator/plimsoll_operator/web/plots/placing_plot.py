"""The picture of which tasks slow which: a row and a column per task, stronger if slower. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from plimsoll_operator.names.conditions import cut
from plimsoll_operator.views.placing_facts import PlacingFacts
from plimsoll_operator.web.plots import svg
from plimsoll_operator.wording.placing_words import words_for_times
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.placing.matrix import Slowdown

ALIKE: Final = 0.05
"""A slowdown whose logarithm is nearer to zero is not coloured."""
DARKEST: Final = math.log(2.5)
"""The logarithm at which a colour is strongest."""
_HEATS: Final = 10
"""Steps of the sheet's colours."""
_LETTER: Final = 7.4
"""Width of a letter where letters are wide."""
_HEAD: Final = 22
_GAP: Final = 2


@dataclass(frozen=True, slots=True)
class Room:
    """The room that a picture has. kinds: the most kinds. letters: the most letters of a name."""

    width: int
    letters: int
    kinds: int
    cell: int
    row: int


WIDE: Final = Room(width=760, letters=26, kinds=12, cell=72, row=30)
NARROW: Final = Room(width=360, letters=15, kinds=5, cell=54, row=34)


def placing_plot(facts: PlacingFacts, room: Room = WIDE) -> Markup:
    """Draw the tasks that run most; columns have the same numbers as rows."""
    kinds = facts.kinds[: room.kinds]
    names = [f"{place} {cut(kind, room.letters)}" for place, kind in enumerate(kinds, 1)]
    left = 8 + round(_LETTER * max(map(len, names), default=0))
    cell = min(room.cell, (room.width - left) // max(1, len(kinds)))
    parts: list[Markup] = []
    for place, kind in enumerate(kinds):
        x, y = left + cell * place, _HEAD + room.row * place
        parts += [
            svg.text((x + cell / 2, _HEAD - 8), place + 1, "name", "middle"),
            svg.text((left - 8, y + room.row / 2 + 4), names[place], "name", "end"),
        ]
        parts += _row(facts, kind, kinds, (left, y, cell, room.row))
    size = (left + cell * len(kinds), _HEAD + room.row * len(kinds) + _GAP)
    return svg.picture(*size, "Who slows whom", parts, placing_description(facts))


def placing_description(facts: PlacingFacts) -> str:
    """The picture in words."""
    pairs = [
        (slowdown.times, kind, other)
        for kind in facts.kinds
        for other in facts.kinds
        if (slowdown := facts.slowdown(kind, other)).known
    ]
    known = f"{len(pairs):,} of {counted(len(facts.kinds) ** 2, 'slowdown')} known"
    if not pairs:
        return f"{known}."
    times, kind, other = max(pairs)
    return f"{known}; the largest is of {kind} beside {other}, {times:.2f} times."


def heat_of(slowdown: Slowdown) -> str:
    """The classes of a cell: blue where a neighbour helps, amber where it harms.

    >>> heat_of(Slowdown(2.5, 2.4, 2.6, True)), heat_of(Slowdown(1.02, 1.0, 1.04, True))
    ('over heat-10', 'alike')
    >>> heat_of(Slowdown(0.9, 0.85, 0.95, True)), heat_of(Slowdown(1.9, 1.0, 3.0, False))
    ('right heat-1', 'unknown')
    """
    log_times = math.log(slowdown.times)
    if not slowdown.known:
        return "unknown"
    if abs(log_times) <= ALIKE:
        return "alike"
    step = min(_HEATS, round(_HEATS * abs(log_times) / DARKEST))
    return f"{'over' if log_times > 0 else 'right'} heat-{step}"


def _row(
    facts: PlacingFacts, kind: str, others: tuple[str, ...], at: tuple[int, int, int, int]
) -> Iterator[Markup]:
    left, top, width, height = at
    for place, other in enumerate(others):
        slowdown = facts.slowdown(kind, other)
        x = left + width * place
        told = words_for_times(slowdown) if slowdown.known else "cannot be told yet"
        yield svg.titled(
            "rect",
            f"{kind} beside {other}: {told}",
            x=x,
            y=top,
            width=width - _GAP,
            height=height - _GAP,
            rx=3,
            class_=f"cell {heat_of(slowdown)}",
        )
        figure = f"{slowdown.times:.2f}" if slowdown.known else "?"
        middle = (x + (width - _GAP) / 2, top + height / 2 + 4)
        yield svg.text(middle, figure, "times" if slowdown.known else "unknown", "middle")
