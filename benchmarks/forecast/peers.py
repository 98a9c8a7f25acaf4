"""Forecasts by models that learn once: the literature's way with a log of runtimes.

A random forest's forecast with the quantiles of its residuals, and gradient-boosted quantiles. Both
are fitted to the first half of the submissions, on what is known when a run is submitted. Their
features stay up to date through the test; the models are not fitted again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from plimsoll_predictor.replay.runtimes.baselines import runtime_ln
from plimsoll_predictor.replay.runtimes.judging import Judged
from plimsoll_predictor.replay.runtimes.method import SHARES, FloatArray
from plimsoll_predictor.replay.runtimes.protocol import first_tested, replay_log
from plimsoll_predictor.replay.runtimes.scoring import score
from plimsoll_predictor.runtimes.runs.log_run import LogRun, RuntimeLog

SEED: Final = 7
NEWEST: Final = 20
MOST_ROWS: Final = 150_000
"""A model is fitted to at most so many rows; if there are more, evenly chosen ones."""
_DAY_S: Final = 86400.0
_UNKNOWN: Final = float("nan")


@dataclass(slots=True)
class _Newest:
    """Logarithms of the newest runtimes of a task or an owner, and when the last one finished."""

    count: int = 0
    finished_s: float = _UNKNOWN
    runtimes_ln: deque[float] = field(default_factory=lambda: deque(maxlen=NEWEST))

    def features(self, now_s: float) -> list[float]:
        if not self.runtimes_ln:
            return [0.0] + [_UNKNOWN] * 8
        values = np.array(self.runtimes_ln)
        low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
        newest = [float(values[-1]), float(values[-2:].mean()), float(values.mean())]
        spread = [float(values.std()), float(low), float(middle), float(high)]
        return [float(self.count), now_s - self.finished_s, *newest, *spread]


class Features:
    """Collects what is known of each run when it is submitted: a method that forecasts nothing."""

    def __init__(self, runs: int) -> None:
        self.rows: list[list[float]] = [[]] * runs
        self._tasks: dict[str, _Newest] = {}
        self._owners: dict[str, _Newest] = {}
        self._in_flight: dict[str, int] = {}

    def submit(self, number: int, run: LogRun) -> Precomputed:
        """Keep its features."""
        now_s = run.submitted_s
        asked = (
            run.processors, run.requested_s, run.requested_bytes, run.input_bytes, run.busy,
            run.queued,
        )  # fmt: skip
        in_flight = self._in_flight.get(run.task, 0)
        self._in_flight[run.task] = in_flight + 1
        self.rows[number] = [
            *(_UNKNOWN if value is None else value for value in asked),
            float(in_flight),
            now_s % _DAY_S,
            float(now_s // _DAY_S % 7),
            *self._tasks.get(run.task, _Newest()).features(now_s),
            *self._owners.get(run.owner, _Newest()).features(now_s),
        ]
        return NOTHING

    def start(self, _number: int, _run: LogRun) -> None:
        """Learn nothing."""

    def finish(self, _number: int, run: LogRun) -> None:
        """Add a known run to its task and owner."""
        self._in_flight[run.task] -= 1
        for past in (
            self._tasks.setdefault(run.task, _Newest()),
            self._owners.setdefault(run.owner, _Newest()),
        ):
            past.count += 1
            past.finished_s = run.finished_s
            past.runtimes_ln.append(runtime_ln(run))

    def bytes_per_task(self) -> float | None:
        """None: it keeps a model instead."""
        return None


@dataclass(frozen=True, slots=True)
class Precomputed:
    """A forecast by its quantiles, interpolated linearly between them."""

    at_ln: FloatArray

    def quantiles_ln(self) -> FloatArray:
        """Its quantiles unchanged."""
        return self.at_ln

    def longer_than(self, seconds: float) -> float:
        """Beyond the outermost quantiles: half of the remaining share."""
        below = float(np.interp(np.log(seconds), self.at_ln, SHARES, left=0.005, right=0.995))
        return 1.0 - below


NOTHING: Final = Precomputed(np.zeros(len(SHARES)))


class _Told:
    """A method whose forecasts of the tested runs were made before."""

    def __init__(self, first: int, quantiles_ln: FloatArray) -> None:
        self._first, self._quantiles_ln = first, quantiles_ln

    def submit(self, number: int, _run: LogRun) -> Precomputed:
        """The forecast made before."""
        if number < self._first:
            return NOTHING
        return Precomputed(self._quantiles_ln[number - self._first])

    def start(self, _number: int, _run: LogRun) -> None:
        """Learn nothing."""

    def finish(self, _number: int, _run: LogRun) -> None:
        """Learn nothing."""

    def bytes_per_task(self) -> float | None:
        """None: it keeps a model instead."""
        return None


def judge_peer(log: RuntimeLog, name: str) -> Judged:
    """Fit a peer on the first half of a log, and score it on the last.

    us_per_forecast: of the whole test at once, the least time that such a model can take.
    """
    first = first_tested(len(log.runs))
    features = Features(len(log.runs))
    replay_log(log, features)
    rows = np.array(features.rows, dtype=np.float32)
    runtimes_ln = np.array([runtime_ln(run) for run in log.runs])
    chosen = np.linspace(0, first - 1, min(first, MOST_ROWS)).astype(np.intp)
    predict = PEERS[name](rows[chosen], runtimes_ln[chosen])
    before_s = time.perf_counter()
    quantiles_ln = predict(rows[first:])
    us = (time.perf_counter() - before_s) * 1e6 / len(quantiles_ln)
    replayed = replay_log(log, _Told(first, quantiles_ln))
    return Judged(
        log=log.name,
        method=name,
        score=score(replayed.scored),
        us_per_forecast=us,
        us_per_run=us,
        bytes_per_task=None,
    )


Rows = npt.NDArray[np.float32]
Predict = Callable[[Rows], FloatArray]
"""(runs, features) to (runs, 21), not falling."""


def _boosted(rows: Rows, runtimes_ln: FloatArray) -> Predict:
    import xgboost

    model = xgboost.XGBRegressor(
        objective="reg:quantileerror",
        quantile_alpha=SHARES,
        n_estimators=200,
        max_depth=6,
        learning_rate=0.1,
        min_child_weight=20,
        tree_method="hist",
        n_jobs=1,
        random_state=SEED,
    )
    model.fit(rows, runtimes_ln)

    def predict(asked: Rows) -> FloatArray:
        return np.sort(np.asarray(model.predict(asked), dtype=np.float64), axis=1)

    return predict


def _forest(rows: Rows, runtimes_ln: FloatArray) -> Predict:
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(
        n_estimators=100, min_samples_leaf=5, max_features=0.5, oob_score=True, n_jobs=1,
        random_state=SEED,
    )  # fmt: skip
    known = _without_nan(rows)
    model.fit(known, runtimes_ln)
    # Out of the bag: residuals of runs that a tree had learned by heart say nothing.
    residuals = np.quantile(runtimes_ln - model.oob_prediction_, SHARES)

    def predict(asked: Rows) -> FloatArray:
        point = np.asarray(model.predict(_without_nan(asked)), dtype=np.float64)
        found: FloatArray = point[:, None] + residuals
        return found

    return predict


def _without_nan(rows: Rows) -> Rows:
    return np.nan_to_num(rows, nan=-1.0)


PEERS: Final[Mapping[str, Callable[[Rows, FloatArray], Predict]]] = {
    "boosted-quantiles": _boosted,
    "forest-residuals": _forest,
}
