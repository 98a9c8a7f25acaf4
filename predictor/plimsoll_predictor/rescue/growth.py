"""Extrapolates the memory of a running attempt: how fast it grows, and when it reaches its limit.

Only memory that cannot be reclaimed is read here (``agent.need``), so page cache never counts.

Memory grows in two ways. A *ramp* rises in every part of a window and goes on at its pace. *Steps*
rise at once and then stay, as in programs that load what they need: they have no pace, but another
step may come, as high as the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from plimsoll_predictor.core.units import MIB

WINDOWS_S: Final = (0.8, 2.0, 4.0)
"""The pace is the largest over these: a ramp counts as soon as it sets in, and also if it
pauses."""
QUARTERS: Final = 4
SLACK_S: Final = 0.15
ROUNDING: Final = 1e-6
KEPT_S: Final = 4.5
STEP_BYTES: Final = 4 * MIB
STEP_SHARE: Final = 0.02
"""A rise within one reading is a step if it is as large as both; the share is of the limit."""
STEP_READINGS: Final = 2
"""A rise in more successive readings than this is a ramp; a reading may cut a step in two."""
MOST_POINTS: Final = 16
"""Points of a curve's shape; in a longer life, every second one is dropped."""

Point = tuple[float, int]
"""Seconds, by any one clock, and bytes that cannot be reclaimed."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What an attempt's readings forecast.

    growth_bytes_s: the pace at which it rises now; 0 if it does not.
    step_bytes: the height of its latest step, 0 if there was none; steps: how many there were.
    """

    growth_bytes_s: float = 0.0
    step_bytes: int = 0
    steps: int = 0

    def to_limit_s(self, used_bytes: int, limit_bytes: int) -> float | None:
        """Return the seconds until it reaches its limit at its pace; None if it never does.

        >>> Outlook(growth_bytes_s=50.0).to_limit_s(100, 200)
        2.0
        """
        if self.growth_bytes_s <= 0:
            return None
        return max(0, limit_bytes - used_bytes) / self.growth_bytes_s

    @property
    def next_step_bytes(self) -> int:
        """Return how high another step may be: as high as the latest; 0 if none is expected.

        Every program begins with one step; only two count as steps.
        """
        return self.step_bytes if self.steps >= 2 else 0

    def steps_over(self, used_bytes: int, limit_bytes: int) -> bool:
        """Say whether one step more, as high as the latest, would reach the limit."""
        return self.steps >= 2 and used_bytes + self.next_step_bytes >= limit_bytes


class Readings:
    """The readings of one attempt, oldest first, as far as they are needed. Bounded."""

    def __init__(self) -> None:
        self._recent: list[Point] = []
        self._shape: list[Point] = []
        self._every = 1
        self._seen = 0
        self._step_bytes = 0
        self._steps = 0
        self._rising_bytes = 0
        self._rising_readings = 0

    @property
    def latest(self) -> Point | None:
        """Return the last reading; None before the first."""
        return self._recent[-1] if self._recent else None

    @property
    def shape(self) -> tuple[Point, ...]:
        """Return its whole life in at most MOST_POINTS points, plus its last one."""
        if self._recent and (not self._shape or self._shape[-1] != self._recent[-1]):
            return (*self._shape, self._recent[-1])
        return tuple(self._shape)

    def add(self, at_s: float, used_bytes: int, limit_bytes: int | None) -> None:
        """Add one more reading; one that is not later than the last is left out."""
        last = self.latest
        if last is not None and at_s <= last[0]:
            return
        if last is not None:
            self._look_for_step(last, (at_s, used_bytes), limit_bytes or 0)
        self._recent.append((at_s, used_bytes))
        while len(self._recent) > 2 and at_s - self._recent[1][0] > KEPT_S:
            del self._recent[0]
        self._keep_shape((at_s, used_bytes))

    def outlook(self) -> Outlook:
        """Return what the readings forecast."""
        pace = max((_pace(self._recent, window_s) for window_s in WINDOWS_S), default=0.0)
        return Outlook(pace, self._step_bytes, self._steps)

    def _look_for_step(self, last: Point, now: Point, limit_bytes: int) -> None:
        rise = now[1] - last[1]
        if rise >= max(STEP_BYTES, STEP_SHARE * limit_bytes):
            self._rising_bytes += rise
            self._rising_readings += 1
            return
        if 0 < self._rising_readings <= STEP_READINGS:
            self._steps, self._step_bytes = self._steps + 1, self._rising_bytes
        self._rising_bytes = self._rising_readings = 0

    def _keep_shape(self, point: Point) -> None:
        if self._seen % self._every == 0:
            self._shape.append(point)
            if len(self._shape) >= MOST_POINTS:
                self._shape = self._shape[::2]
                self._every *= 2
        self._seen += 1


def _pace(readings: list[Point], window_s: float) -> float:
    """Return the bytes a second by which at least three of the window's four quarters rose.

    A rise counts at the reading that showed it: it may have come at once between two readings. So a
    rise that lasts less than half of the window has no pace.
    """
    if not readings or readings[-1][0] - readings[0][0] < window_s - SLACK_S:
        return 0.0
    quarter_s = window_s / QUARTERS
    risen = [0] * QUARTERS
    ended_s = readings[-1][0]
    for earlier, later in pairwise(readings):
        number = int((ended_s - later[0]) / quarter_s + ROUNDING)
        if number < QUARTERS:
            risen[number] += later[1] - earlier[1]
    return max(0.0, sorted(risen)[1] / quarter_s)
