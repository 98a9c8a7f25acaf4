"""Counts a task's runs, and those that had an attempt killed at a size below their request."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from plimsoll_predictor.knowledge.error_budget import WINDOW_RUNS, Spent

MOST_KILLS: Final = 500
"""The most kills that are remembered; the oldest are forgotten first."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A run's first kill below its request. after_runs: how many runs had ended before it."""

    after_runs: int
    run: str
    cause: str


@dataclass(slots=True)
class Spending:
    """One task's counts. ended_runs: all that ever ended; kills: of the window, oldest first."""

    ended_runs: int = 0
    kills: deque[Kill] = field(default_factory=deque)

    def __post_init__(self) -> None:
        """Bound what was read."""
        self.kills = deque(self.kills, maxlen=MOST_KILLS)

    def end_run(self) -> None:
        """Count a run that ended, and forget the kills that the window has left behind."""
        self.ended_runs += 1
        while self.kills and self.kills[0].after_runs < self.ended_runs - WINDOW_RUNS:
            self.kills.popleft()

    def kill(
        self, run: str, allocation_bytes: float, request_bytes: float | None, cause: str
    ) -> None:
        """Count a kill at a size below the request, if it is its run's first."""
        if request_bytes is None or allocation_bytes >= request_bytes:
            return
        if all(earlier.run != run for earlier in self.kills):
            self.kills.append(Kill(self.ended_runs, run, cause))

    @property
    def spent(self) -> Spent:
        """What is spent now."""
        killed = len(self.kills)
        # A killed run counts as a run before it has ended.
        return Spent(min(max(self.ended_runs, killed), WINDOW_RUNS), killed)

    @property
    def causes(self) -> Mapping[str, int]:
        """Cause -> how many runs of the window were killed by it; "" where nobody said."""
        return Counter(kill.cause for kill in self.kills)
