"""The experts: each is one function from a task's past to a rule. A new one is added here.

``YOUNG`` are those a task may choose from while few of its runs are known; see standing.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from plimsoll_predictor.experts.expected import N_CELLS, Vector, cheapest_multiple, histogram
from plimsoll_predictor.experts.lines import FittedLine
from plimsoll_predictor.experts.names import (
    BOOSTING,
    BY_FEATURES,
    CLASSIFIER,
    FEATURES_97,
    LATEST_MAX,
    MAX_AND_SPREAD,
    MAX_SEEN,
    NEAR_MAX,
    REQUEST,
    SAFE,
    TOWARD_REQUEST,
    TOWARD_REQUEST_SLOWLY,
    YOUNG_SAFE,
)
from plimsoll_predictor.experts.past import Past
from plimsoll_predictor.experts.pool import Ratios, age_of
from plimsoll_predictor.experts.rule import Rule

YOUNG_RUNS: Final = 12
"""Short runs end first, and small ones are short: until this many have ended, more is to come."""
NEAR: Final = 1.01
LATEST_MARGIN: Final = 1.03
LATEST_RUNS: Final = 20
RATIO_FORGETTING: Final = 0.99
POOLED_RUNS: Final = 3.0
"""How many runs of its own the pooled ratios of other tasks count as."""
OVERHEAD_SHARE: Final = 0.25
"""Of the price of a failed attempt, in what is expected: the charges of what really failed weigh
the rest, and both in full would count it twice."""
LINE_QUANTILES: Final = (0.97,)
LARGEST: Final = "largest"
PREDICTED: Final = "predicted"
ANCHORS: Final = (LARGEST, PREDICTED)


@dataclass(frozen=True, slots=True)
class View:
    """What the experts of one task look at, worked out once for all of them.

    needs: (n,) ascending. ratios: of all tasks. overhead_s: the price of a failed attempt.
    """

    past: Past
    needs: Vector
    lines: tuple[FittedLine, ...]
    ratios: Mapping[str, Ratios]
    overhead_s: float

    @property
    def reached_bytes(self) -> float:
        """The most that is known to have been needed or exceeded."""
        return self.past.reached_bytes


Bidding = Callable[[View], Rule]


def view_of(past: Past, ratios: Mapping[str, Ratios], overhead_s: float) -> View:
    """The view of a task with at least one run."""
    lines = tuple(past.lines.fitted(LINE_QUANTILES))
    return View(past, np.sort(np.array(past.needs_bytes)), lines, ratios, overhead_s)


def _request(_view: View) -> Rule:
    return Rule(base_bytes=0.0, request_share=1.0)


def _largest(margin: float) -> Bidding:
    return lambda view: Rule(base_bytes=view.reached_bytes * margin)


def _young(room: float) -> Bidding:
    """The largest need with room that shrinks as runs become known, and goes when enough are."""

    def rule(view: View) -> Rule:
        runs = view.past.runs
        margin = room / math.sqrt(runs) if runs < YOUNG_RUNS else 0.0
        return Rule(base_bytes=view.reached_bytes * (NEAR + margin))

    return rule


def _toward_request(share: float, power: float) -> Bidding:
    """The largest need, and part of the way to the request, less as runs become known."""

    def rule(view: View) -> Rule:
        return Rule(
            base_bytes=view.reached_bytes * NEAR,
            request_share=share / view.past.runs**power,
            over_bytes=view.reached_bytes,
        )

    return rule


def _spread(view: View) -> Rule:
    """The largest need, and a quarter of its distance from the median, more while young."""
    median = float(view.needs[view.needs.size // 2])
    room = (view.reached_bytes - median) * 0.25 * (1 + 4.0 / view.past.runs)
    return Rule(base_bytes=view.reached_bytes * 1.005 + room)


def _latest(view: View) -> Rule:
    needs = view.past.needs_bytes
    latest = [needs[place] for place in range(max(0, len(needs) - LATEST_RUNS), len(needs))]
    return Rule(base_bytes=max(latest) * LATEST_MARGIN)


def _expected(view: View) -> Rule:
    """The multiple of the largest need that costs least on average."""
    past = view.past
    ratios = past.log_ratios_to_largest()
    multiple = _multiple(view, LARGEST, ratios, np.array(past.runtimes_s))
    return Rule(base_bytes=past.largest_bytes * multiple)


def _expected_by_features(view: View) -> Rule:
    """The multiple of what the best feature predicts that costs least on average."""
    past = view.past
    fallback = _expected(view)
    if not view.lines:
        return fallback
    ratios, runtimes = np.array(past.anchored), np.array(past.anchored_runtimes_s)
    multiple = _multiple(view, PREDICTED, ratios, runtimes)
    return Rule(
        base_bytes=fallback.base_bytes,
        lines=tuple(fitted.line for fitted in view.lines),
        factor=multiple,
        least_bytes=float(view.needs[0]) * multiple,
        most_bytes=past.largest_bytes * min(multiple, 2.0),
    )


def _multiple(view: View, anchor: str, log_ratios: Vector, runtimes_s: Vector) -> float:
    mean_s = view.past.mean_runtime_s
    by_runtime, by_count = np.zeros(N_CELLS), np.zeros(N_CELLS)
    if log_ratios.size:
        weights: Vector = RATIO_FORGETTING ** np.arange(
            log_ratios.size - 1, -1, -1, dtype=np.float64
        )
        by_count = histogram(log_ratios, weights)
        by_runtime = histogram(log_ratios, weights * runtimes_s / mean_s)
    pooled = view.ratios[anchor].around(age_of(view.past.runs))
    if pooled is not None:
        by_runtime = by_runtime + POOLED_RUNS * pooled[0]
        by_count = by_count + POOLED_RUNS * pooled[1]
    elif not log_ratios.size:
        return 1.2
    return cheapest_multiple(by_runtime, by_count, view.overhead_s * OVERHEAD_SHARE / mean_s)


def _line(share: float) -> Bidding:
    """What the best feature predicts, so high that a share of the runs lay below, and a tenth.

    Never far above the largest need seen: what ends first is small, and lines learned from it
    point anywhere.
    """

    def rule(view: View) -> Rule:
        return Rule(
            base_bytes=view.reached_bytes * 1.05,
            lines=tuple(fitted.raised(share) for fitted in view.lines),
            factor=1.1,
            least_bytes=float(view.needs[0]),
            most_bytes=view.reached_bytes * 1.1,
        )

    return rule


PANEL: Final[Mapping[str, Bidding]] = MappingProxyType(
    {
        REQUEST: _request,
        NEAR_MAX: _largest(NEAR),
        MAX_SEEN: _largest(1.1),
        TOWARD_REQUEST: _toward_request(0.25, 1.0),
        TOWARD_REQUEST_SLOWLY: _toward_request(0.25, 0.5),
        MAX_AND_SPREAD: _spread,
        LATEST_MAX: _latest,
        SAFE: _expected,
        BY_FEATURES: _expected_by_features,
        FEATURES_97: _line(0.97),
        YOUNG_SAFE: _young(0.6),
    }
)
YOUNG: Final = frozenset({NEAR_MAX, TOWARD_REQUEST, YOUNG_SAFE})
MODELLED: Final = (CLASSIFIER, BOOSTING)
EXPERTS: Final = (*PANEL, *MODELLED)
YARDSTICKS: Final = frozenset({MAX_SEEN})
"""Charged like the others, to compare with, but never serve: near-max is it with less room."""
