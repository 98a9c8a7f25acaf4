"""The simple rules that every policy must beat, as sizers for the replay.

Each trusts the request of an unknown task, and learns from completed runs only. Each has one knob
between waste and failures: its margin on the needs seen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import insort
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil
from types import MappingProxyType
from typing import Final

import numpy as np

from plimsoll_predictor.replay.sizes.rows import Submitted, TraceRow
from plimsoll_predictor.replay.sizes.sizer import Knobs, SizerMaker

LAST: Final = 20
VPA_PERCENTILE: Final = 0.95
REAL_STEP: Final = 1.0001
"""The largest need seen is worth a retry only if it exceeds the failed size by this factor."""


class _PastNeeds(ABC):
    """What a rule remembers of a task's completed runs."""

    @abstractmethod
    def add(self, peak_bytes: int, runtime_s: float, /) -> None:
        """Learn from a completed run."""

    @abstractmethod
    def size_bytes(self) -> float:
        """The size of the next run before the margin; at least one run has been added."""

    def largest_bytes(self) -> float:
        """The lift after a failed attempt if it is a step up; 0 to always multiply."""
        return 0


class _Largest(_PastNeeds):
    def __init__(self) -> None:
        self._largest_bytes = 0

    def add(self, peak_bytes: int, _runtime_s: float, /) -> None:
        self._largest_bytes = max(self._largest_bytes, peak_bytes)

    def size_bytes(self) -> float:
        return self._largest_bytes


class _LargestOfLast(_PastNeeds):
    """The largest need of the last 20 runs."""

    def __init__(self) -> None:
        self._peaks_bytes: deque[int] = deque(maxlen=LAST)

    def add(self, peak_bytes: int, _runtime_s: float, /) -> None:
        self._peaks_bytes.append(peak_bytes)

    def size_bytes(self) -> float:
        return max(self._peaks_bytes)


class _Percentile(_PastNeeds):
    """The 95th percentile of the needs, interpolated linearly."""

    def __init__(self) -> None:
        self._peaks_bytes: list[int] = []

    def add(self, peak_bytes: int, _runtime_s: float, /) -> None:
        insort(self._peaks_bytes, peak_bytes)

    def size_bytes(self) -> float:
        place = VPA_PERCENTILE * (len(self._peaks_bytes) - 1)
        below = int(place)
        above = min(below + 1, len(self._peaks_bytes) - 1)
        low, high = self._peaks_bytes[below], self._peaks_bytes[above]
        return low + (high - low) * (place - below)


class _CheapestStep(_PastNeeds):
    """Tovar's first step: the need seen that would have cost the completed runs least.

    Giving ``a`` first and the largest need after a failure costs
    ``a · sum(t) + largest · sum(t of runs that need more than a)``.
    """

    SHORTEST_S: Final = 0.001
    """Runs that are reported to have taken no time must still tell needs apart."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, float]] = []
        self._size_bytes: float | None = None

    def add(self, peak_bytes: int, runtime_s: float, /) -> None:
        insort(self._runs, (peak_bytes, max(runtime_s, self.SHORTEST_S)))
        self._size_bytes = None

    def size_bytes(self) -> float:
        if self._size_bytes is None:
            self._size_bytes = self._cheapest_bytes()
        return self._size_bytes

    def largest_bytes(self) -> float:
        return self._runs[-1][0]

    def _cheapest_bytes(self) -> float:
        runs = np.asarray(self._runs, dtype=np.float64)
        peaks, runtimes = runs[:, 0], runs[:, 1]
        held = np.cumsum(runtimes)
        # Among equal needs, the last one's sum includes all of them.
        fits = held[np.searchsorted(peaks, peaks, side="right") - 1]
        costs = peaks * held[-1] + peaks[-1] * (held[-1] - fits)
        return float(peaks[np.argmin(costs)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule. seen: makes its memory of a task. margin: on the needs seen; the rule's knob.

    step: the factor on a failed attempt's allocation.
    """

    seen: Callable[[], _PastNeeds]
    margin: float
    step: float = 2.0


class RuleSizer:
    """Sizes by a rule."""

    def __init__(self, rule: Rule, knobs: Knobs) -> None:
        self._rule = rule
        self._knobs = knobs
        self._margin = rule.margin if knobs.strictness is None else knobs.strictness
        self._tasks: dict[str, _PastNeeds] = {}

    def decide(self, asked: Submitted, _now_s: float, /) -> int:
        """The rule's size from the task's completed runs; the request if there are none."""
        seen = self._tasks.get(asked.task)
        if seen is None:
            return self._knobs.first_bytes(asked.preset_bytes)
        return ceil(seen.size_bytes() * self._margin)

    def lift(self, asked: Submitted, failed_bytes: int, _attempt: int, _now_s: float, /) -> int:
        """The largest need seen if the rule uses it and it is a step up; else a multiple."""
        seen = self._tasks.get(asked.task)
        largest_bytes = 0.0 if seen is None else seen.largest_bytes()
        if largest_bytes > failed_bytes * REAL_STEP:
            return ceil(largest_bytes)
        return max(failed_bytes + 1, ceil(failed_bytes * self._rule.step))

    def failed(
        self, asked: Submitted, allocation_bytes: int, attempt: int, now_s: float, /
    ) -> None:
        """Learn nothing until the run completes."""

    def completed(self, row: TraceRow, _allocation_bytes: int, _now_s: float, /) -> None:
        """Learn the run's need."""
        seen = self._tasks.get(row.task)
        if seen is None:
            seen = self._tasks[row.task] = self._rule.seen()
        seen.add(row.peak_bytes, row.runtime_s)


class Preset(RuleSizer):
    """The author's own request, whatever was seen."""

    def __init__(self, knobs: Knobs) -> None:
        super().__init__(Rule(seen=_Largest, margin=1.0), knobs)

    def completed(self, row: TraceRow, allocation_bytes: int, now_s: float, /) -> None:
        """Learn nothing."""


_RULES: Final = {
    "max-seen": Rule(seen=_Largest, margin=1.0),
    "max-seen-1.1": Rule(seen=_Largest, margin=1.1),
    "last-20": Rule(seen=_LargestOfLast, margin=1.1),
    "tovar": Rule(seen=_CheapestStep, margin=1.0),
    "p95-vpa": Rule(seen=_Percentile, margin=1.15, step=1.2),
}
BASELINES: Final[Mapping[str, SizerMaker]] = MappingProxyType(
    {"preset": Preset, **{name: partial(RuleSizer, rule) for name, rule in _RULES.items()}}
)
"""Name -> the sizer, fresh for each trace."""
