"""A task's own lines: ln(runtime) against each of its features, learned run by run.

A line is a ridge of ln(runtime) on the logarithm of the feature; older runs count less. To find the
feature that rules a task, each line's error before it learned a run is compared with the mean's
error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from plimsoll_predictor.runtimes.features.asked import MOST_FEATURES

NUMBERS: Final = 8
"""How many numbers a line keeps."""
LONG_ABSENT: Final = 20
"""A new feature takes the line of one that so many runs in a row lacked."""
_KEEP: Final = 0.97
_KEEP_ERRORS: Final = 0.95
_RIDGE: Final = 0.3
_UNKNOWN: Final = math.nan
_LAST_RUN: Final = 7


class Reading(NamedTuple):
    """What the best line says about a run; NaN if no line knows.

    at: signed logarithm of the feature. from_usual: the same minus its mean over the task's runs.
    line_ln, mean_ln: ln(runtime) by the line, and the mean. off, off_mean: sums of recent errors.
    """

    at: float
    from_usual: float
    line_ln: float
    mean_ln: float
    off: float
    off_mean: float


NO_READING: Final = Reading(*[_UNKNOWN] * 6)


class Lines:
    """The lines of one task, by feature.

    sums: name -> [weight, Σx, Σy, Σxx, Σxy, errors of the line, of the mean, the last run that had
    the feature]. Runs are counted over the task's past.
    """

    __slots__ = ("sums",)

    def __init__(self, sums: Mapping[str, Sequence[float]] | None = None) -> None:
        self.sums: dict[str, list[float]] = {name: list(of) for name, of in (sums or {}).items()}

    def read(self, features: Mapping[str, float]) -> Reading:
        """Read the line with the least error; a feature without a line gives only its position."""
        best, least = NO_READING, math.inf
        for name, value in features.items():
            x, sums = signed_ln(value), self.sums.get(name)
            if sums is None:
                if least == math.inf and best is NO_READING:
                    best = Reading(x, _UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN)
                continue
            share = (sums[5] + 0.1) / (sums[6] + 0.1)
            if share < least:
                mean_x, line_ln, mean_ln = _on_line(sums, x)
                least = share
                best = Reading(x, x - mean_x, line_ln, mean_ln, sums[5], sums[6])
        return best

    def learn(self, features: Mapping[str, float], runtime_ln: float, run: int) -> None:
        """Count a finished run, the task's so many-th. It keeps lines of MOST_FEATURES features."""
        for name, value in features.items():
            x, sums = signed_ln(value), self.sums.get(name)
            if sums is None:
                if len(self.sums) >= MOST_FEATURES and not self._let_go(run):
                    continue
                sums = self.sums[name] = [0.0] * NUMBERS
            else:
                _, line_ln, mean_ln = _on_line(sums, x)
                sums[5] = _KEEP_ERRORS * sums[5] + abs(runtime_ln - line_ln)
                sums[6] = _KEEP_ERRORS * sums[6] + abs(runtime_ln - mean_ln)
            for place, add in enumerate((1.0, x, runtime_ln, x * x, x * runtime_ln)):
                sums[place] = _KEEP * sums[place] + add
            sums[_LAST_RUN] = float(run)

    def _let_go(self, run: int) -> bool:
        """Drop the line whose feature was absent the longest, if it was absent long."""
        name = min(self.sums, key=lambda name: self.sums[name][_LAST_RUN])
        # Runs that take turns with their features would otherwise drop each other's lines.
        absent = run - self.sums[name][_LAST_RUN] >= LONG_ABSENT
        if absent:
            del self.sums[name]
        return absent


NO_LINES: Final = Lines()
"""The lines of a task without a past."""


def signed_ln(value: float) -> float:
    """ln(1 + |value|) with the value's sign, so it is defined everywhere."""
    return math.copysign(math.log1p(abs(value)), value)


def _on_line(sums: Sequence[float], x: float) -> tuple[float, float, float]:
    """The mean of x, and ln(runtime) by the line and by the mean."""
    weight, of_x, of_y, of_xx, of_xy = sums[:5]
    mean_x, mean_y = of_x / weight, of_y / weight
    slope = (of_xy - weight * mean_x * mean_y) / (of_xx - weight * mean_x * mean_x + _RIDGE)
    return mean_x, mean_y + slope * (x - mean_x), mean_y
