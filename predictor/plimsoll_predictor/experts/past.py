"""A task's ended runs, bounded, to bid from."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.experts.charging import SHORTEST_RUNTIME_S, EndedRun
from plimsoll_predictor.experts.features.curves import LEAST_RUNS, fitted, in_proportion
from plimsoll_predictor.experts.features.lines import FeatureLines
from plimsoll_predictor.experts.features.residuals import mean_of
from plimsoll_predictor.experts.features.run_table import RunTable
from plimsoll_predictor.experts.pool import LONGEST
from plimsoll_predictor.knowledge.curve import Curve

MOSTLY_EMPTY: Final = (
    *("anchored", "anchored_runtimes_s", "latest_kills", "level_words", "exceeds_requests"),
)
"""Left out of a stored state where they are: two of the tasks without kills fit into a page."""
LATEST: Final = 400
"""The most runs whose needs are remembered one by one."""
LATEST_KILLS: Final = 16
"""The most kills that are remembered one by one: no shift of level keeps more runs."""
MOST_WORDS: Final = 16
"""Of a feature: one with more, such as a release or a date, has hardly any that return."""
ENOUGH: Final = 1.05
"""A curve's sizes are as good as enough if none was exceeded by more than a twentieth."""
NEAR_REQUEST: Final = 3.0
"""A request of more times the largest need is a guess that nobody measured."""
MOST_USUAL: Final = 0.9
"""Runtimes are compared with what this share of the runs take: half of them may find nothing to
do."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Runtimes:
    """How long a task's runs take.

    mean_s: over all runs, at least 1. longest_s: no runtime counts more: LONGEST times what
    MOST_USUAL of the latest take. A run that hung, or a clock that jumped, would outweigh all
    others.
    """

    mean_s: float
    longest_s: float

    def counted_s(self, runtimes_s: Collection[float]) -> Vector:
        """Runtimes as they count, (n,): at least SHORTEST_RUNTIME_S."""
        took_s = np.fromiter(runtimes_s, np.float64, len(runtimes_s))
        return np.maximum(np.minimum(took_s, self.longest_s), SHORTEST_RUNTIME_S)


@dataclass(slots=True)
class Past:
    """One task's past.

    exceeded_bytes: the largest size that a kill showed to be too small.
    exceeds_requests: whether any run needed more than it asked for.
    total_runtime_s: of all runs; those before the latest count as much as ``Runtimes`` lets them.
    latest_kills: after how many runs, and at which size; without those that a later one exceeds.
    anchored: logarithms of each need over what the lines predicted; ``anchored_runtimes_s`` has
        the runtimes of the same runs.
    table, curve: the latest runs with their features, and the curve fitted to them; None if none is
        worth following. It is fitted again when ``next_fit`` runs are known. curve_is_clear:
        whether so few runs are enough to see it.
    level_words: words that the table had when the level shifted, each with its feature's name;
        without those of features that had more than MOST_WORDS.
    """

    runs: int = 0
    largest_bytes: float = 0.0
    exceeded_bytes: float = 0.0
    largest_request_bytes: float | None = None
    total_runtime_s: float = 0.0
    needs_bytes: deque[float] = field(default_factory=deque)
    runtimes_s: deque[float] = field(default_factory=deque)
    anchored: deque[float] = field(default_factory=deque)
    anchored_runtimes_s: deque[float] = field(default_factory=deque)
    lines: FeatureLines = field(default_factory=FeatureLines)
    table: RunTable = field(default_factory=RunTable)
    curve: Curve | None = None
    curve_is_clear: bool = False
    next_fit: int = LEAST_RUNS
    latest_kills: deque[tuple[int, float]] = field(default_factory=deque)
    level_words: list[str] = field(default_factory=list)
    exceeds_requests: bool = False

    def __post_init__(self) -> None:
        """Bound what was read."""
        for name in ("needs_bytes", "runtimes_s", "anchored", "anchored_runtimes_s"):
            setattr(self, name, deque(getattr(self, name), maxlen=LATEST))
        self.latest_kills = deque(self.latest_kills, maxlen=LATEST_KILLS)
        # An older version fitted ever more rarely.
        self.next_fit = min(self.next_fit, self._fit_after())

    @property
    def reached_bytes(self) -> float:
        """The most that is known to have been needed or exceeded."""
        return max(self.largest_bytes, self.exceeded_bytes)

    @property
    def requests_are_near(self) -> bool:
        """Whether requests were enough for every run, and none is far above what was needed."""
        most_bytes = NEAR_REQUEST * self.reached_bytes
        return not self.exceeds_requests and (self.largest_request_bytes or 0.0) <= most_bytes

    @property
    def mean_runtime_s(self) -> float:
        """The mean over all runs; at least one run is known."""
        return self.runtimes.mean_s

    @property
    def runtimes(self) -> Runtimes:
        """How long its runs take; at least one run is known."""
        took_s = np.fromiter(self.runtimes_s, np.float64, len(self.runtimes_s))
        known_s = took_s[took_s > 0]
        if not known_s.size:
            return Runtimes(max(self.total_runtime_s / self.runs, 1.0), math.inf)
        place = int(MOST_USUAL * (known_s.size - 1))
        usual_s = float(np.partition(known_s, place)[place])
        longest_s = LONGEST * usual_s
        latest_s = float(np.minimum(took_s, longest_s).sum())
        # An older version counted runs in full that hung, and forgot which they were.
        forgotten = self.runs - took_s.size
        most_s = forgotten * max(usual_s, latest_s / took_s.size)
        before_s = min(max(self.total_runtime_s - float(took_s.sum()), 0.0), most_s)
        return Runtimes(max((before_s + latest_s) / self.runs, 1.0), longest_s)

    def weight_of(self, run: EndedRun) -> float:
        """How much a new run counts among the task's own: by the root of its size.

        Its size is its byte-seconds over the mean of the latest runs' and its own. Its runtime
        counts as theirs do, so that a run that hung is not worth many others.
        """
        needs_bytes = np.array([*self.needs_bytes, run.need_bytes])
        sizes = needs_bytes * self.runtimes.counted_s([*self.runtimes_s, run.runtime_s])
        return math.sqrt(sizes[-1] / mean_of(sizes))

    def add(self, run: EndedRun, features: Mapping[str, FeatureValue]) -> None:
        """Learn a run whose need is known."""
        if len(self.runtimes_s) == LATEST:
            # The oldest is forgotten: it keeps the bound that it had among the latest.
            self.total_runtime_s -= max(self.runtimes_s[0] - self.runtimes.longest_s, 0.0)
        self.runs += 1
        self.largest_bytes = max(self.largest_bytes, run.need_bytes)
        self.total_runtime_s += run.runtime_s
        self.needs_bytes.append(run.need_bytes)
        self.runtimes_s.append(run.runtime_s)
        if run.request_bytes is not None:
            self.largest_request_bytes = max(self.largest_request_bytes or 0.0, run.request_bytes)
            self.exceeds_requests |= run.need_bytes > run.request_bytes
        self.lines.add(features, run.need_bytes)
        self.table.add(features, run.need_bytes)
        if self._exceeds_curve(run.need_bytes, features):
            # It waits half as long: at once, a task that always exceeds it had a fit at each run.
            self.next_fit = (self.next_fit + self.runs) // 2
        if self.runs >= self.next_fit or self.runs < LEAST_RUNS:
            self._fit_curve()

    def exceed(self, size_bytes: float) -> None:
        """Learn that a run was killed at that size."""
        self.exceeded_bytes = max(self.exceeded_bytes, size_bytes)
        kills = self.latest_kills
        while kills and kills[-1][1] <= size_bytes:
            kills.pop()
        # One for each run that ended in between, so that enough runs are covered.
        if not kills or kills[-1][0] < self.runs:
            kills.append((self.runs, size_bytes))

    def _fit_curve(self) -> None:
        if self.runs < LEAST_RUNS:
            self.curve = in_proportion(self.table)
            self.curve_is_clear = self.curve is not None
            return
        found = fitted(self.table)
        self.curve = None if found is None else found.curve
        self.curve_is_clear = found is not None and found.clear
        self.next_fit = self._fit_after()

    def _fit_after(self) -> int:
        """Later than at each run once the table has eight: a fit costs 1 to 40 ms."""
        return self.runs + 1 + len(self.table.rows) // 8

    def _exceeds_curve(self, need_bytes: float, features: Mapping[str, FeatureValue]) -> bool:
        size_bytes = None if self.curve is None else self.curve.at(features)
        return size_bytes is not None and size_bytes < need_bytes

    def explains(self, latest: int, before_bytes: Sequence[float]) -> bool:
        """Say whether the curve gives the latest runs enough, and sizes wholly apart from before.

        It does not if it follows a word of theirs that no earlier shift has seen: a new release
        explains any level. before_bytes: needs of the runs before them. Cost: a fit.
        """
        rows = list(self.table.rows)[-latest:]
        self._fit_curve()
        if self.curve is None:
            return False
        if not self.table.words_in(rows, self.curve.names) <= set(self.level_words):
            return False
        sizes = list[float]()
        for row in rows:
            size_bytes = self.curve.at(self.table.features_of(row))
            if size_bytes is None or size_bytes * ENOUGH < row.need_bytes:
                return False
            sizes.append(size_bytes)
        return max(sizes) < min(before_bytes) or min(sizes) > max(before_bytes)

    def correct(
        self, before_bytes: float, after_bytes: float, features: Mapping[str, FeatureValue]
    ) -> None:
        """Correct the need of the latest run that was taken to need ``before_bytes``.

        features: of its attempt that needed more; those of the run stay where they are empty.
        """
        self.largest_bytes = max(self.largest_bytes, after_bytes)
        for place in range(-1, -1 - len(self.needs_bytes), -1):
            if self.needs_bytes[place] == before_bytes:
                self.needs_bytes[place] = after_bytes
                self._correct_anchored(place, math.log(after_bytes / before_bytes))
                break
        self.lines.correct(before_bytes, after_bytes, features)
        if self.table.correct(before_bytes, after_bytes, features):
            self._fit_curve()

    def _correct_anchored(self, place: int, log_ratio: float) -> None:
        """Raise the ratio of the run at that place from the end, if it has one."""
        # Nearly all runs have one once there are lines; a runtime tells where some have none.
        within = len(self.anchored) >= -place
        if within and self.anchored_runtimes_s[place] == self.runtimes_s[place]:
            self.anchored[place] += log_ratio

    def add_anchored(self, log_ratio: float, runtime_s: float) -> None:
        """Learn how a run's need compared with what the lines had predicted."""
        self.anchored.append(log_ratio)
        self.anchored_runtimes_s.append(runtime_s)

    def log_ratios_to_largest(self) -> Vector:
        """Logarithm of each latest need over the largest of all, (n,)."""
        needs = np.fromiter(self.needs_bytes, np.float64, len(self.needs_bytes))
        ratios: Vector = np.log(needs) - math.log(self.largest_bytes)
        return ratios

    def forget_before_shift(self, keep: int) -> None:
        """Keep the latest runs only, after a change: older ones say nothing any more."""
        for latest in (self.needs_bytes, self.runtimes_s, self.anchored, self.anchored_runtimes_s):
            while len(latest) > keep:
                latest.popleft()
        forgotten = self.runs - len(self.needs_bytes)
        self.runs = len(self.needs_bytes)
        self.total_runtime_s = sum(self.runtimes_s)
        self.largest_bytes = max(self.needs_bytes, default=0.0)
        # A kill that came after the first run that is kept is of the new level.
        kills = [(after - forgotten, size) for after, size in self.latest_kills]
        self.latest_kills = deque((kill for kill in kills if kill[0] > 0), maxlen=LATEST_KILLS)
        self.exceeded_bytes = max((size for _, size in self.latest_kills), default=0.0)
        self.lines = FeatureLines()
        self._remember_words()
        self.table.forget_before(keep)
        self.next_fit = max(self.runs, LEAST_RUNS)
        self._fit_curve()

    def _remember_words(self) -> None:
        words = {*self.level_words, *self.table.words_in(self.table.rows, self.table.names)}
        of_feature = Counter(word.partition("=")[0] for word in words)
        self.level_words = sorted(
            word for word in words if of_feature[word.partition("=")[0]] <= MOST_WORDS
        )
