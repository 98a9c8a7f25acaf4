"""From values to places on a plot, and which values get a tick. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from plimsoll_predictor.units import MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Linear from ``low..high`` to ``start..end``; in powers of two if ``log``, then low > 0.

    start may lie beyond end: SVG counts downwards.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value; values outside are put on the nearest edge."""
        inside = min(max(value, self.low), self.high)
        low, high, at = (
            (math.log2(self.low), math.log2(self.high), math.log2(inside))
            if self.log
            else (self.low, self.high, inside)
        )
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def linear_ticks_bytes(high_bytes: float, most: int = 6) -> list[int]:
    """Round sizes from 0 up to ``high_bytes``, in steps of 1, 2 or 4 times a power of two.

    >>> [tick // MIB for tick in linear_ticks_bytes(900 * MIB)]
    [0, 256, 512, 768]
    """
    step = MIB
    while high_bytes / step >= most:
        step *= 2
    return list(range(0, int(high_bytes) + 1, step))


def log_ticks_bytes(low_bytes: float, high_bytes: float, most: int = 7) -> list[int]:
    """Powers of two within the range, at most about ``most``."""
    first, last = math.ceil(math.log2(low_bytes)), math.floor(math.log2(high_bytes))
    stride = max(1, math.ceil((last - first + 1) / most))
    return [2**power for power in range(first, last + 1, stride)]


def count_ticks(high: int, most: int = 5) -> list[int]:
    """Whole round numbers from 0 up to ``high``.

    >>> count_ticks(23), count_ticks(3)
    ([0, 5, 10, 15, 20], [0, 1, 2, 3])
    """
    steps = (factor * 10**power for power in range(12) for factor in (1, 2, 5))
    step = next(step for step in steps if high / step <= most)
    return list(range(0, high + 1, step))
