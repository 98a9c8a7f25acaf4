"""Runtimes that are known, and the forecast that they are drawn from again."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from plimsoll_predictor.replay.runtimes.method import SHARES, FloatArray

_UNSEEN: Final = 0.5
"""Of a run: what no run has shown yet is this likely, so nothing is impossible."""


@dataclass(slots=True)
class PastRuns:
    """Logarithms of known runtimes in s, sorted.

    newest: how many are kept; None for all.
    """

    newest: int | None = None
    sorted_ln: list[float] = field(default_factory=list)
    _order: deque[float] = field(default_factory=deque)

    def add(self, runtime_ln: float) -> None:
        """One more run is known."""
        insort(self.sorted_ln, runtime_ln)
        if self.newest is None:
            return
        self._order.append(runtime_ln)
        if len(self._order) > self.newest:
            del self.sorted_ln[bisect_left(self.sorted_ln, self._order.popleft())]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A forecast: one of these runs again, each as likely.

    sorted_ln: logarithms of runtimes, sorted; at least one.
    add_ln: is added to each: the logarithm of what they are ratios to.
    """

    sorted_ln: Sequence[float]
    add_ln: float = 0.0

    def quantiles_ln(self) -> FloatArray:
        """Between two runs, in proportion."""
        last = len(self.sorted_ln) - 1
        places = SHARES * last
        below = places.astype(np.intp)
        low = np.array([self.sorted_ln[place] for place in below])
        high = np.array([self.sorted_ln[min(place + 1, last)] for place in below])
        found: FloatArray = low + (high - low) * (places - below) + self.add_ln
        return found

    def longer_than(self, seconds: float) -> float:
        """The share of the runs that did."""
        place = bisect_right(self.sorted_ln, float(np.log(seconds)) - self.add_ln)
        longer = len(self.sorted_ln) - place
        return (longer + _UNSEEN) / (len(self.sorted_ln) + 2 * _UNSEEN)
