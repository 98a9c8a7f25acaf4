"""The median of any number of runtimes, from a bounded number of them."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Final

import numpy as np

# Up to so many distinct runtimes the median is exact; beyond, so many neighbours are merged.
MOST_VALUES: Final = 96
_MERGED_AT_ONCE: Final = 32


class Usual:
    """Runtimes seen, each with how often; the nearest become one when there are too many.

    values_s: ascending, as float32 can hold them. times: how many runs each stands for.
    """

    __slots__ = ("times", "values_s")

    def __init__(self, values_s: Iterable[float] = (), times: Iterable[int] = ()) -> None:
        self.values_s = array("d", values_s)
        self.times = array("q", times)

    def add(self, runtime_s: float) -> None:
        """Count a runtime above 0."""
        value_s = float(np.float32(runtime_s))
        at = bisect_left(self.values_s, value_s)
        if at < len(self.values_s) and self.values_s[at] == value_s:
            self.times[at] += 1
            return
        self.values_s.insert(at, value_s)
        self.times.insert(at, 1)
        if len(self.values_s) > MOST_VALUES:
            self._merge()

    def median_s(self) -> float | None:
        """The middle runtime; None if there are none."""
        if not self.times:
            return None
        upto = list(accumulate(self.times))
        low = bisect_right(upto, (upto[-1] - 1) // 2)
        high = bisect_right(upto, upto[-1] // 2)
        return (self.values_s[low] + self.values_s[high]) / 2

    def _merge(self) -> None:
        values = np.array(self.values_s)
        # Merge light and near ones first: that moves the middle least.
        times = np.array(self.times)
        cost = (values[1:] / values[:-1] - 1) * np.minimum(times[1:], times[:-1])
        pairs: set[int] = set()
        for at in map(int, np.argsort(cost, kind="stable")):
            if pairs.isdisjoint((at - 1, at + 1)):
                pairs.add(at)
            if len(pairs) == _MERGED_AT_ONCE:
                break
        for at in sorted(pairs, reverse=True):
            left, right = self.times[at], self.times.pop(at + 1)
            other_s = self.values_s.pop(at + 1)
            mean_s = (self.values_s[at] * left + other_s * right) / (left + right)
            self.values_s[at] = float(np.float32(mean_s))
            self.times[at] = left + right
