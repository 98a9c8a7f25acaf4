"""Notices that a task has changed: its latest needs lie wholly below or above those before.

Levels that do not overlap are no coincidence: of n + k exchangeable runs, the k latest are all the
smallest, or all the largest, once in (n + k choose k) / 2 times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

LATEST: Final = 8
LATEST_AFTER_A_CHANGE: Final = 4
"""After a new image or command, fewer runs are enough."""
BEFORE: Final = 16
"""Runs before the latest that they are compared with."""
APART: Final = 1.25
"""The levels must lie this factor apart: less is not worth forgetting the past for."""
RESTLESS: Final = 4
"""After so many new versions in a row that each lasted fewer than LATEST_AFTER_A_CHANGE runs,
another one is no sign: some people build an image for every run."""


def _by_nothing(latest: int, before_bytes: Sequence[float]) -> bool:
    del latest, before_bytes
    return False


@dataclass(slots=True)
class Drift:
    """The memory by which a change is noticed.

    version: the image and command of the latest run; empty if nobody said.
    since_change: runs since that changed; None if it never did.
    drifting: True from a new version or a shift of level until ``BEFORE`` runs follow it.
    shifts: how many shifts of level there have been.
    returned: whether the last shift was a return to a level of the one before.
    latest_bytes, before_bytes: least and most of the needs after and before the last shift; empty
        before the first shift, and after a newer version.
    lasted: runs in a row of the present version. short_lived: versions in a row before it that
        lasted short.
    """

    version: str = ""
    since_change: int | None = None
    drifting: bool = False
    shifts: int = 0
    returned: bool = False
    latest_bytes: list[float] = field(default_factory=list)
    before_bytes: list[float] = field(default_factory=list)
    lasted: int = 0
    short_lived: int = 0

    @property
    def restless(self) -> bool:
        """Whether versions come and go from run to run, so that a new one says nothing."""
        return self.short_lived >= RESTLESS

    def see_version(self, version: str) -> None:
        """Note the version of a run that ends."""
        if self.since_change is not None:
            self.since_change += 1
            if self.since_change >= BEFORE:
                self.since_change, self.drifting = None, False
        if version and self.version and version != self.version:
            self._new_version()
        self.lasted += 1
        if self.lasted >= BEFORE:
            self.short_lived = 0
        self.version = version or self.version

    def _new_version(self) -> None:
        short = self.lasted < LATEST_AFTER_A_CHANGE
        self.short_lived = min(RESTLESS, self.short_lived + 1) if short else 0
        self.lasted = 0
        if not self.restless:
            self.since_change, self.drifting = 0, True
            self.latest_bytes, self.before_bytes, self.returned = [], [], False
        elif not self.latest_bytes:
            self.since_change, self.drifting = None, False

    def _returns(self, now: Sequence[float]) -> bool:
        """Say whether needs overlap one of the levels of the last shift, nearly or wholly."""
        levels = (each for each in (self.before_bytes, self.latest_bytes) if each)
        return any(min(now) <= most * APART and max(now) * APART >= least for least, most in levels)

    def shifted(
        self,
        needs_bytes: Sequence[float],
        explained: Callable[[int, Sequence[float]], bool] = _by_nothing,
    ) -> int | None:
        """The number of latest runs that still count; None if nothing changed.

        needs_bytes: oldest first. explained: whether features tell that so many latest runs would
        not need what those before them needed. A task that alternates by a feature, such as the
        day of the week, has not changed. It is asked only where the task returns to a level that it
        had before: a feature that is new with a level, such as a release, explains any level.
        A task that returns once more alternates by something that nobody tells, such as the hour.
        """
        changed = self.since_change is not None and self.since_change >= LATEST_AFTER_A_CHANGE - 1
        latest = LATEST_AFTER_A_CHANGE if changed else LATEST
        before = needs_bytes[-(latest + BEFORE) : -latest]
        if len(before) < latest:
            return None
        now = needs_bytes[-latest:]
        if max(now) * APART >= min(before) and min(now) <= max(before) * APART:
            return None
        returns = self._returns(now)
        if returns and (self.returned or explained(latest, before)):
            return None
        self.shifts += 1
        self.returned = returns
        self.since_change, self.drifting = 0, True
        self.latest_bytes, self.before_bytes = [min(now), max(now)], [min(before), max(before)]
        return latest
