"""Recognises a task whose peak follows its allocation, and the least size that serves it well.

A heap or a cache that is sized by the limit fills it: the peak is then the same share of every
allocation. Each need that is learned from it is a little less than the allocation, so sizes would
sink until runs slow down or fail. Only runs with the same features are compared: where a task's
work differs from run to run, good predictions make the peak the same share of each allocation, too.
"""

from __future__ import annotations

import math
import zlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Final

from plimsoll_predictor.core.record import FeatureValue

STEP: Final = 1.15
"""Allocations less than this factor apart are one level."""
RUNS: Final = 3
"""A level with fewer runs says nothing. Sizes that sink stay at a level for four, because drift.py
takes the peaks that follow for a change of the task."""
LATEST: Final = 8
"""The most runs of a level that are remembered."""
LEVELS: Final = 3
SPAN: Final = 1.5
"""So many levels, the largest so many times the smallest, show that a peak follows."""
SAME: Final = 1.25
"""Shares of the allocation within this factor are the same. If a need does not follow, its share of
the smallest allocation is SPAN times that of the largest, which is clearly more."""
AS_GOOD: Final = 1.15
"""A runtime up to this factor longer, plus a second, is as good: times are in whole seconds."""
MOST_LEVELS: Final = 24
"""Enough from one size down to a thirtieth of it."""


@dataclass(slots=True)
class Level:
    """Runs with about the same allocation.

    step: which power of STEP. allocation_bytes: the smallest of them. shares: peaks over
    allocations. runtimes_s: of the same runs, where they are known. as_written: whether the latest
    of them had no less than its author wrote.
    """

    step: int
    allocation_bytes: float
    shares: deque[float] = field(default_factory=deque)
    runtimes_s: deque[float] = field(default_factory=deque)
    as_written: bool = False

    def add(self, allocation_bytes: float, peak_bytes: float, runtime_s: float | None) -> None:
        """Learn a run that succeeded."""
        self.allocation_bytes = min(self.allocation_bytes, allocation_bytes)
        _append(self.shares, peak_bytes / allocation_bytes)
        if runtime_s is not None:
            _append(self.runtimes_s, runtime_s)

    @property
    def is_steady(self) -> bool:
        """Whether all runs had the same share of their allocation."""
        return max(self.shares) <= SAME * min(self.shares)


@dataclass(slots=True)
class Elasticity:
    """The levels at which runs that are alike succeeded; the latest used is the last.

    alike: a hash of the features that these runs share.
    """

    alike: int | None = None
    levels: list[Level] = field(default_factory=list)

    def learn(
        self,
        features: Mapping[str, FeatureValue],
        allocation_bytes: float | None,
        peak_bytes: float,
        runtime_s: float | None,
        *,
        lowered: bool,
    ) -> None:
        """Learn a run that succeeded.

        allocation_bytes: None if it had no limit. lowered: whether that is less than was written.
        """
        if not allocation_bytes or allocation_bytes < 0 or peak_bytes <= 0:
            return
        alike = zlib.crc32(repr(sorted(features.items())).encode())
        if alike != self.alike:
            self.alike, self.levels = alike, []
        step = round(math.log(allocation_bytes, STEP))
        level = next((each for each in self.levels if each.step == step), None)
        if level is None:
            level = Level(step, allocation_bytes)
        else:
            self.levels.remove(level)
        level.add(allocation_bytes, peak_bytes, runtime_s)
        level.as_written = not lowered
        self.levels = [*self.levels, level][-MOST_LEVELS:]

    @property
    def _known(self) -> list[Level]:
        """Levels with enough runs, the largest first."""
        known = [each for each in self.levels if len(each.shares) >= RUNS]
        return sorted(known, key=lambda level: -level.step)

    @property
    def is_elastic(self) -> bool:
        """Whether the peak was the same share of clearly different allocations.

        If each was larger than those before it, the allocation may have followed the peak.
        """
        known = self._known
        if len(known) < LEVELS or not self._sank:
            return False
        if known[0].allocation_bytes < SPAN * known[-1].allocation_bytes:
            return False
        shares = [median(level.shares) for level in known]
        return max(shares) <= SAME * min(shares) and all(level.is_steady for level in known)

    @property
    def _sank(self) -> bool:
        """Whether a known level was used after a larger one."""
        steps = [each.step for each in self.levels if len(each.shares) >= RUNS]
        return any(later < earlier for earlier, later in pairwise(steps))

    @property
    def good_bytes(self) -> int | None:
        """The least allocation with a runtime as good as at the size that was written.

        None if too few runs had that size to say how long they take.
        """
        written = [level for level in self.levels if level.as_written]
        if not written or len(written[-1].runtimes_s) < RUNS:
            return None
        good = written[-1]
        longest_s = AS_GOOD * median(good.runtimes_s) + 1
        for level in self._known:
            if level.step >= good.step:
                continue
            if len(level.runtimes_s) < RUNS or median(level.runtimes_s) > longest_s:
                break
            good = level
        return round(good.allocation_bytes)


def _append(latest: deque[float], value: float) -> None:
    latest.append(value)
    while len(latest) > LATEST:
        latest.popleft()
