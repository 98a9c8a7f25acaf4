"""A task's need as a straight line over one feature, both in logarithms, learned run by run."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct

from plimsoll_predictor.core.documents import add_form, from_document
from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.knowledge.rule import Line

LATEST: Final = 300
"""The most runs whose distance from the line is remembered."""
LEAST_RUNS: Final = 4
LEAST_EXPLAINED: Final = 0.2
"""Share of the variance a feature must explain to be worth following."""
HIGH_SHARE: Final = 0.97
"""Share of the runs that lay below a raised line."""
MOST_FEATURES: Final = 32
"""The most features per task; a new one takes the place of that which was told longest ago."""


class Sums(Struct, array_like=True):
    """Sums over a feature's runs, of logarithms: of the feature x and of the need y."""

    n: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0
    yy: float = 0.0


class FeatureLine(Struct, array_like=True):
    """One feature's sums and latest points; all in logarithms."""

    sums: Sums = msgspec.field(default_factory=Sums)
    points: deque[tuple[float, float]] = msgspec.field(default_factory=deque)

    def __post_init__(self) -> None:
        """Bound the points."""
        self.points = deque(self.points, maxlen=LATEST)

    def add(self, x: float, y: float) -> None:
        """Learn one run."""
        self._sum_up(x, y, 1)
        self.points.append((x, y))

    def correct(self, x: float | None, before: float, after: float) -> None:
        """Move the latest point at the height ``before`` to ``after``, and to ``x`` if given."""
        for place in range(-1, -1 - len(self.points), -1):
            old_x, y = self.points[place]
            if y == before:
                new_x = old_x if x is None else x
                self._sum_up(old_x, before, -1)
                self._sum_up(new_x, after, 1)
                self.points[place] = new_x, after
                return

    def _sum_up(self, x: float, y: float, count: int) -> None:
        sums = self.sums
        sums.n += count
        sums.x += count * x
        sums.y += count * y
        sums.xx += count * x * x
        sums.xy += count * x * y
        sums.yy += count * y * y

    def fit(self) -> tuple[float, float, float]:
        """Slope, intercept and share of the variance explained."""
        sums = self.sums
        mean_x, mean_y = sums.x / sums.n, sums.y / sums.n
        spread_x = sums.xx / sums.n - mean_x**2
        spread_y = sums.yy / sums.n - mean_y**2
        together = sums.xy / sums.n - mean_x * mean_y
        if spread_x < 1e-9 or spread_y < 1e-12:
            return 0.0, mean_y, 0.0
        slope = together / spread_x
        return slope, mean_y - slope * mean_x, together * together / spread_x / spread_y


@dataclass(frozen=True, slots=True)
class FittedLine:
    """A line through the runs, and the same line raised until HIGH_SHARE of them lay below."""

    line: Line
    raised: Line


class FeatureLines:
    """Every feature's line of one task. by_feature: that which was told last is last."""

    def __init__(self, by_feature: dict[str, FeatureLine] | None = None) -> None:
        self.by_feature = by_feature or {}

    def add(self, features: Mapping[str, FeatureValue], need_bytes: float) -> None:
        """Learn a run's numbers above zero."""
        y = math.log(need_bytes)
        for name, value in features.items():
            x = _log_of(value)
            if x is not None and self._has_room(name, features):
                line = self.by_feature.pop(name, None) or FeatureLine()
                line.add(x, y)
                self.by_feature[name] = line

    def _has_room(self, name: str, features: Mapping[str, FeatureValue]) -> bool:
        """Whether a feature has a line or room for one, after one that is not told went for it."""
        if name in self.by_feature or len(self.by_feature) < MOST_FEATURES:
            return True
        oldest = next(iter(self.by_feature))
        if oldest in features:
            return False
        del self.by_feature[oldest]
        return True

    def correct(
        self, before_bytes: float, after_bytes: float, features: Mapping[str, FeatureValue]
    ) -> None:
        """Correct the latest run that was taken to need ``before_bytes``.

        features: those that it has take the place of the run's.
        """
        before, after = math.log(before_bytes), math.log(after_bytes)
        for name, line in self.by_feature.items():
            line.correct(_log_of(features.get(name)), before, after)

    def fitted(self) -> list[FittedLine]:
        """Lines worth following; the one that explains most is first."""
        explaining = []
        for name, feature_line in self.by_feature.items():
            if feature_line.sums.n < LEAST_RUNS:
                continue
            slope, intercept, explained = feature_line.fit()
            if explained < LEAST_EXPLAINED:
                continue
            flat = chain.from_iterable(feature_line.points)
            points = np.fromiter(flat, np.float64, 2 * len(feature_line.points)).reshape(-1, 2)
            above = np.sort(points[:, 1] - slope * points[:, 0] - intercept)
            offset = float(above[min(above.size - 1, math.ceil(HIGH_SHARE * above.size) - 1)])
            raised = Line(name, slope, intercept + offset)
            explaining.append((explained, FittedLine(Line(name, slope, intercept), raised)))
        explaining.sort(key=lambda pair: (-pair[0], pair[1].line.feature))
        return [line for _, line in explaining]


def _log_of(value: FeatureValue | None) -> float | None:
    """The logarithm of a number above zero; None for anything else."""
    if value is None or isinstance(value, bool | str) or not 0 < value < math.inf:
        return None
    return math.log(value)


# A task's lines are written by feature, without a level for the class.
add_form(
    FeatureLines,
    lambda lines: lines.by_feature,
    lambda _, document: FeatureLines(
        from_document(dict[str, FeatureLine], document, "a task's lines")
    ),
)
