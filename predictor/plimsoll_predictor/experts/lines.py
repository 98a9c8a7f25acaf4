"""A task's need as a straight line over one feature, both in logarithms, learned run by run."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from plimsoll_predictor.experts.rule import Line
from plimsoll_predictor.record import FeatureValue

LATEST: Final = 300
"""Runs whose distance from the line is remembered."""
LEAST_RUNS: Final = 4
LEAST_EXPLAINED: Final = 0.2
"""Share of the variance a feature must explain to be worth following."""
MOST_FEATURES: Final = 32
"""Per task; a feature met after that is not followed."""


@dataclass(slots=True)
class FeatureLine:
    """One feature's sums and latest points; all in logarithms."""

    n: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0
    yy: float = 0.0
    points: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=LATEST))

    def add(self, x: float, y: float) -> None:
        """Take in one run."""
        self.n += 1
        self.x += x
        self.y += y
        self.xx += x * x
        self.xy += x * y
        self.yy += y * y
        self.points.append((x, y))

    def fit(self) -> tuple[float, float, float]:
        """Slope, intercept and share of the variance explained."""
        mean_x, mean_y = self.x / self.n, self.y / self.n
        spread_x = self.xx / self.n - mean_x**2
        spread_y = self.yy / self.n - mean_y**2
        together = self.xy / self.n - mean_x * mean_y
        if spread_x < 1e-9 or spread_y < 1e-12:
            return 0.0, mean_y, 0.0
        slope = together / spread_x
        return slope, mean_y - slope * mean_x, together * together / spread_x / spread_y

    def to_list(self) -> list[Any]:
        """Plain JSON types; ``from_list`` reads it back."""
        sums = [self.n, self.x, self.y, self.xx, self.xy, self.yy]
        return [sums, [list(point) for point in self.points]]

    @classmethod
    def from_list(cls, data: list[Any]) -> FeatureLine:
        """Inverse of ``to_list``."""
        sums, points = data
        n, x, y, xx, xy, yy = (float(value) for value in sums)
        latest = deque(((float(a), float(b)) for a, b in points), maxlen=LATEST)
        return cls(n, x, y, xx, xy, yy, latest)


@dataclass(frozen=True, slots=True)
class FittedLine:
    """A line with how far above it runs were: quantile -> offset of the logarithm."""

    line: Line
    offsets: Mapping[float, float]

    def raised(self, quantile: float) -> Line:
        """The line below which that share of the runs lay."""
        at = self.line
        return Line(at.feature, at.slope, at.intercept + self.offsets[quantile])


class FeatureLines:
    """Every feature's line of one task."""

    def __init__(self) -> None:
        self._lines: dict[str, FeatureLine] = {}

    def add(self, features: Mapping[str, FeatureValue], need_bytes: float) -> None:
        """Take in a run's numbers above zero."""
        y = math.log(need_bytes)
        for name, value in features.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if not 0 < value < math.inf:
                continue
            if name not in self._lines:
                if len(self._lines) >= MOST_FEATURES:
                    continue
                self._lines[name] = FeatureLine()
            self._lines[name].add(math.log(value), y)

    def fitted(self, quantiles: tuple[float, ...]) -> list[FittedLine]:
        """Lines worth following, the one that explains most first."""
        found = []
        for name, feature_line in self._lines.items():
            if feature_line.n < LEAST_RUNS:
                continue
            slope, intercept, explained = feature_line.fit()
            if explained < LEAST_EXPLAINED:
                continue
            points = np.array(feature_line.points)
            above = np.sort(points[:, 1] - slope * points[:, 0] - intercept)
            offsets = {share: float(above[_place(share, above.size)]) for share in quantiles}
            found.append((explained, FittedLine(Line(name, slope, intercept), offsets)))
        found.sort(key=lambda pair: (-pair[0], pair[1].line.feature))
        return [line for _, line in found]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; ``from_dict`` reads it back."""
        return {name: line.to_list() for name, line in self._lines.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FeatureLines:
        """Inverse of ``to_dict``."""
        lines = cls()
        lines._lines = {name: FeatureLine.from_list(values) for name, values in data.items()}
        return lines


def _place(quantile: float, n: int) -> int:
    return min(n - 1, max(0, math.ceil(quantile * n) - 1))
