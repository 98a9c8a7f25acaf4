"""Chooses the points that are drawn. Pure.

People look for kills, so kills are kept first; the other points are thinned evenly, and the plot
says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.views.report.records import AttemptPoint

POINTS_PER_PLOT: Final = 600
POINTS_PER_REPORT: Final = 12_000
"""The most points of all sections together: a page of a few MB at most."""
FEWEST_POINTS: Final = 60


@dataclass(frozen=True, slots=True)
class Thinned:
    """Points to draw with their places among all; total, kills: how many there were."""

    points: tuple[tuple[int, AttemptPoint], ...]
    total: int
    kills: int

    @property
    def words(self) -> str | None:
        """What was left out, for the plot's caption; None if nothing was."""
        if len(self.points) == self.total:
            return None
        drawn = sum(point.killed for _, point in self.points)
        kills = f"all {drawn}" if drawn == self.kills else f"the last {drawn} of {self.kills:,}"
        return f"{len(self.points)} of {self.total:,} attempts are drawn, {kills} kills among them"


def points_per_plot(tasks: int) -> int:
    """Room for one task's plot when ``tasks`` share the page."""
    return min(POINTS_PER_PLOT, max(FEWEST_POINTS, POINTS_PER_REPORT // max(1, tasks)))


def thin(points: Sequence[AttemptPoint], room: int) -> Thinned:
    """At most ``room`` points: every kill if they fit (else the newest), then evenly the others."""
    places = list(enumerate(points))
    kills = [pair for pair in places if pair[1].killed]
    if len(places) <= room:
        return Thinned(tuple(places), len(places), len(kills))
    killed = kills[-room:]
    others = [pair for pair in places if not pair[1].killed]
    chosen = killed + _evenly(others, room - len(killed))
    return Thinned(tuple(sorted(chosen, key=lambda pair: pair[0])), len(places), len(kills))


def _evenly(pairs: Sequence[tuple[int, AttemptPoint]], room: int) -> list[tuple[int, AttemptPoint]]:
    """The first, the last, and others at equal steps between."""
    if room <= 1 or len(pairs) <= room:
        return list(pairs[-room:]) if room > 0 else []
    step = (len(pairs) - 1) / (room - 1)
    return [pairs[round(place * step)] for place in range(room)]
