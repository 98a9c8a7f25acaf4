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
ODD_LN: Final = 10.0
"""A value that is so far, and so many deviations, from a feature's mean stands for no amount ..."""
ODD_BY: Final = 6.0
"""... but for an unknown one, say, if the run took as long as others. It is left out; if the next
run has such a value, too, amounts may have changed, and it counts as no farther than this."""
ODD_ERRORS: Final = 3.0
"""A runtime that is so many times as far from the mean as others says that the value holds ..."""
ODD_ERROR_LN: Final = 0.5
"""... if it is farther by so much, too: full loads among many that find nothing to do."""
KNOWN_WEIGHT: Final = 8.0
"""A line of so much weight tells what is odd: that of ten runs."""
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
            sums = self._sums_of(name, run)
            if sums is None:
                continue
            x = _counted_x(sums, signed_ln(value), runtime_ln, run)
            if x is None:
                continue
            if sums[0]:
                _, line_ln, mean_ln = _on_line(sums, x)
                sums[5] = _KEEP_ERRORS * sums[5] + abs(runtime_ln - line_ln)
                sums[6] = _KEEP_ERRORS * sums[6] + abs(runtime_ln - mean_ln)
            for place, add in enumerate((1.0, x, runtime_ln, x * x, x * runtime_ln)):
                sums[place] = _KEEP * sums[place] + add
            sums[_LAST_RUN] = float(run)

    def _sums_of(self, name: str, run: int) -> list[float] | None:
        """The sums of a feature's line, all 0 for a new one; None if there is no room for it."""
        if name not in self.sums:
            if len(self.sums) >= MOST_FEATURES and not self._let_go(run):
                return None
            self.sums[name] = [0.0] * NUMBERS
        return self.sums[name]

    def _let_go(self, run: int) -> bool:
        """Drop the line whose feature was absent the longest, if it was absent long."""
        # The first by name of those that went away together: a restored state has another order.
        name = min(self.sums, key=lambda name: (self.sums[name][_LAST_RUN], name))
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


def _counted_x(sums: Sequence[float], x: float, runtime_ln: float, run: int) -> float | None:
    """Where on the line a run counts; None if its value is odd and its runtime is not.

    A runtime that is odd, too, goes along with the value: left out, it could not be learned.
    """
    near_x = _near(sums, x)
    if near_x == x:
        return x
    usual_ln = ODD_ERRORS * (1.0 - _KEEP_ERRORS) * sums[6] + ODD_ERROR_LN
    if abs(runtime_ln - sums[2] / sums[0]) >= usual_ln:
        return x
    return None if sums[_LAST_RUN] == run - 1 else near_x


def _near(sums: Sequence[float], x: float) -> float:
    """The nearest to x that is not odd: x itself, unless it is far from all that the line knows."""
    weight, of_x, _, of_xx = sums[:4]
    if weight < KNOWN_WEIGHT:
        return x
    mean_x = of_x / weight
    deviation = math.sqrt(max(0.0, of_xx / weight - mean_x * mean_x))
    far = max(ODD_LN, ODD_BY * deviation)
    return min(max(x, mean_x - far), mean_x + far)


def _on_line(sums: Sequence[float], x: float) -> tuple[float, float, float]:
    """The mean of x, and ln(runtime) by the line and by the mean."""
    weight, of_x, of_y, of_xx, of_xy = sums[:5]
    mean_x, mean_y = of_x / weight, of_y / weight
    slope = (of_xy - weight * mean_x * mean_y) / (of_xx - weight * mean_x * mean_x + _RIDGE)
    return mean_x, mean_y + slope * (x - mean_x), mean_y
