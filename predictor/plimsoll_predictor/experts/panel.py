"""The experts. Most are one function from a task's past to a rule; some bid by a task's model."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Final

import numpy as np

from plimsoll_predictor.experts.expected import (
    N_CELLS,
    Vector,
    cell_of,
    cells,
    cheapest_multiple,
    histogram,
)
from plimsoll_predictor.experts.features.curves import LEAST_RUNS
from plimsoll_predictor.experts.features.lines import FittedLine
from plimsoll_predictor.experts.past import LATEST, Past, Runtimes
from plimsoll_predictor.experts.pool import Pool, Ratios, age_of
from plimsoll_predictor.experts.usual import hardly_exceeded_bytes
from plimsoll_predictor.knowledge.curve import Curve, Straight
from plimsoll_predictor.knowledge.expert_names import (
    BOOSTING,
    BY_FEATURES,
    CLASSIFIER,
    CURVES,
    MAX_SEEN,
    NEAR_MAX,
    REQUEST,
    SAFE,
    YOUNG_SAFE,
)
from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants
from plimsoll_predictor.knowledge.rule import Rule

YOUNG_RUNS: Final = 12
"""Short runs end first, and small ones are short: until so many ended, larger ones are to come."""
NEAR: Final = 1.01
LATEST_MARGIN: Final = 1.03
LATEST_RUNS: Final = 20
RATIO_FORGETTING: Final = 0.99
POOLED_RUNS: Final = 3.0
"""How many runs of its own the pooled ratios of other tasks count as."""
OVERHEAD_SHARE: Final = 0.25
"""The share of a failed attempt's price that counts in an expected cost. The charges of attempts
that really failed count the rest: both in full would count it twice."""
CURVED_RUNS: Final = 150
"""More runs show the tail of their residuals: then the least expected cost beats a curve's room, if
the curve is a line over one number. It knows no other curves: kinds, steps and curves over two
features are followed for good."""
NO_INTERCEPT: Final = 0.1
"""A line whose intercept is less than this share of the median need is one of logarithms, too."""
BEYOND_SEEN: Final = 3.0
"""A curve is followed to so many times the largest need seen."""
FEW_RUNS_LEAST: Final = 1.2
"""The size of a run whose input is no larger than those known, over the largest need."""
BRAVE_RUNS: Final = 3
"""Fewer runs may be alike by chance: until then, no bid near the largest need serves."""
BRAVE_TASKS: Final = 20
"""If few of so many runs of other tasks, which were as young, needed more, such a bid serves."""
BRAVE_SHARE: Final = 1 / 8
"""At most this share of them is few. Of runs that vary by 2%, a fifth to a third need more than all
before them."""
LARGEST: Final = "largest"
PREDICTED: Final = "predicted"
ANCHORS: Final = (LARGEST, PREDICTED)


@dataclass(frozen=True)
class View:
    """The figures that the experts of one task use, computed once for all of them.

    needs: (n,) ascending. ratios: of all tasks. overhead_s: the price of a failed attempt, in
    seconds of its memory. failing_share: the largest chance of a failure that bids over the largest
    need may take; predicted_failing_share: that around a prediction, where room is cheap.
    young_margin: the room over the largest need when one run is known, as a share of that need.
    """

    past: Past
    runtimes: Runtimes
    needs: Vector
    lines: tuple[FittedLine, ...]
    ratios: Mapping[str, Ratios]
    overhead_s: float
    failing_share: float = 1.0
    predicted_failing_share: float = 1.0
    young_margin: float = SERVED.young_margin

    @cached_property
    def expected(self) -> Rule:
        """The multiple of the largest need that costs least on average."""
        past = self.past
        multiple = _multiple(self, LARGEST, past.log_ratios_to_largest(), past.runtimes_s)
        return Rule(base_bytes=past.largest_bytes * multiple)

    @cached_property
    def expected_by_features(self) -> Rule:
        """The multiple of what the best feature predicts that costs least on average."""
        past, fallback = self.past, self.expected
        if not self.lines:
            return fallback
        ratios = np.fromiter(past.anchored, np.float64, len(past.anchored))
        multiple = _multiple(self, PREDICTED, ratios, past.anchored_runtimes_s)
        return Rule(
            base_bytes=fallback.base_bytes,
            lines=tuple(fitted.line for fitted in self.lines),
            factor=multiple,
            least_bytes=float(self.needs[0]) * multiple,
            most_bytes=past.largest_bytes * min(multiple, 2.0),
        )


Bidding = Callable[[View], Rule]


def view_of(
    past: Past,
    ratios: Mapping[str, Ratios],
    overhead_s: float | None,
    constants: Constants = SERVED,
) -> View:
    """The view of a task with at least one run. overhead_s: an admin's price of a failure."""
    lines, runtimes = tuple(past.lines.fitted()), past.runtimes
    return View(
        past,
        runtimes,
        np.sort(np.fromiter(past.needs_bytes, np.float64, len(past.needs_bytes))),
        lines,
        ratios,
        constants.price_s(runtimes.mean_s, overhead_s),
        constants.failing_share(runtimes.mean_s, overhead_s),
        constants.failing_share(0.0, overhead_s),
        constants.young_margin,
    )


def is_brave(runs: int, pool: Pool) -> bool:
    """Say whether a bid near the largest need may serve a task with so many runs."""
    if runs >= BRAVE_RUNS:
        return True
    counted = pool.ratios[LARGEST].by_count[age_of(runs)]
    seen, beyond = counted.sum(), counted[cell_of(math.log(NEAR)) + 1 :].sum()
    return bool(seen >= BRAVE_TASKS and beyond <= BRAVE_SHARE * seen)


def _request(_view: View) -> Rule:
    return Rule(base_bytes=0.0, request_share=1.0)


def _largest(margin: float) -> Bidding:
    return lambda view: Rule(base_bytes=view.past.reached_bytes * margin)


_REQUEST_SHARE: Final = 0.25
"""The part of the way to the request when one run is known."""


def _young(view: View) -> Rule:
    """The largest need with room that shrinks as runs become known, to none at enough runs."""
    runs = view.past.runs
    margin = view.young_margin / math.sqrt(runs) if runs < YOUNG_RUNS else 0.0
    return Rule(base_bytes=view.past.reached_bytes * (NEAR + margin))


def _steady(view: View) -> Rule:
    """The largest need, or a size that runs hardly exceed if they vary or grow as before."""
    if view.needs.size < 2:
        return _young(view)
    usual_bytes = hardly_exceeded_bytes(view.past.needs_bytes)
    return Rule(base_bytes=max(view.past.reached_bytes * NEAR, usual_bytes))


def _toward_request(power: float) -> Bidding:
    """The largest need, and part of the way to the request, less as runs become known."""
    return lambda view: Rule(
        base_bytes=view.past.reached_bytes * NEAR,
        request_share=_REQUEST_SHARE / view.past.runs**power,
        over_bytes=view.past.reached_bytes,
    )


def _spread(view: View) -> Rule:
    """The largest need, and a quarter of its distance from the median, more while young."""
    median = float(view.needs[view.needs.size // 2])
    room = (view.past.reached_bytes - median) * 0.25 * (1 + 4.0 / view.past.runs)
    return Rule(base_bytes=view.past.reached_bytes * 1.005 + room)


def _latest(view: View) -> Rule:
    needs = view.past.needs_bytes
    latest = islice(needs, max(0, len(needs) - LATEST_RUNS), None)
    return Rule(base_bytes=max(latest) * LATEST_MARGIN)


def _expected(view: View) -> Rule:
    return view.expected


def _expected_by_features(view: View) -> Rule:
    return view.expected_by_features


@lru_cache(maxsize=LATEST + 1)
def _forgetting(runs: int) -> Vector:
    """The weights of so many runs, oldest first."""
    weights: Vector = RATIO_FORGETTING ** np.arange(runs - 1, -1, -1, dtype=np.float64)
    weights.flags.writeable = False
    return weights


def _multiple(view: View, anchor: str, log_ratios: Vector, runtimes_s: Collection[float]) -> float:
    mean_s = view.runtimes.mean_s
    by_runtime, by_count = np.zeros(N_CELLS), np.zeros(N_CELLS)
    if log_ratios.size:
        weights, places = _forgetting(log_ratios.size), cells(log_ratios)
        by_count = histogram(places, weights)
        took_s = view.runtimes.counted_s(runtimes_s)
        by_runtime = histogram(places, weights * took_s / mean_s)
    pooled = view.ratios[anchor].around(age_of(view.past.runs))
    if pooled is not None:
        by_runtime = by_runtime + POOLED_RUNS * pooled[0]
        by_count = by_count + POOLED_RUNS * pooled[1]
    elif not log_ratios.size:
        return 1.2
    overhead_runtimes = view.overhead_s * OVERHEAD_SHARE / mean_s
    by_largest = anchor == LARGEST
    most_failing = view.failing_share if by_largest else view.predicted_failing_share
    return cheapest_multiple(by_runtime, by_count, overhead_runtimes, most_failing)


def _line(view: View) -> Rule:
    """The prediction of the best feature, raised until most runs lay below, plus a tenth.

    It is never far above the largest need seen: the runs that end first are small, and lines
    learned from them point anywhere.
    """
    return Rule(
        base_bytes=view.past.reached_bytes * 1.05,
        lines=tuple(fitted.raised for fitted in view.lines),
        factor=1.1,
        least_bytes=float(view.needs[0]),
        most_bytes=view.past.reached_bytes * 1.1,
    )


def _curve(view: View) -> Rule:
    """The curve over one or two features, from the fourth run on; without one, the safe bids.

    It may lead some way beyond what was seen, because a task that grows linearly with its input
    meets larger inputs; it never leads beyond the request.
    """
    past = view.past
    if past.runs > CURVED_RUNS and (past.curve is None or _by_one_line(past.curve, view)):
        return _expected_by_features(view)
    fallback = _young(view) if past.runs < YOUNG_RUNS else _expected(view)
    if past.curve is None:
        return fallback
    return Rule(
        # Nothing is known about a run that the curve does not know, such as one of a new kind.
        base_bytes=max(fallback.base_bytes, past.reached_bytes * NEAR),
        over_bytes=past.reached_bytes * 1.1,
        curves=(past.curve,),
        least_bytes=_least_by_curve(view),
        most_bytes=past.reached_bytes * BEYOND_SEEN,
    )


def _by_one_line(curve: Curve, view: View) -> bool:
    """Say whether expected-by-features knows the curve: its lines are of logarithms.

    A program's own memory, and so much for each row, is none.
    """
    if not isinstance(curve, Straight) or len(curve.features) > 1:
        return False
    median = float(view.needs[view.needs.size // 2])
    return curve.logs or abs(curve.intercept) < NO_INTERCEPT * median


def _least_by_curve(view: View) -> float:
    """The least size by a curve: while too few runs are known for one, it only raises."""
    if view.past.runs < LEAST_RUNS:
        return view.past.reached_bytes * FEW_RUNS_LEAST
    return float(view.needs[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Expert:
    """One expert.

    words: how it decides, for people; they follow its name.
    rule: its bidding by rule; None if it bids by a task's model (see ``deciding.modelled``).
    serves_young: whether a task with few known runs may choose it.
    only_compared: it is charged like the others but never serves.
    """

    name: str
    words: str
    rule: Bidding | None = None
    serves_young: bool = False
    only_compared: bool = False


ALL_EXPERTS: Final = (
    Expert(name=REQUEST, words="what the user asks for", rule=_request, serves_young=True),
    Expert(
        name=NEAR_MAX,
        words="the largest need seen, plus a hundredth",
        rule=_largest(NEAR),
        serves_young=True,
    ),
    Expert(
        name=MAX_SEEN,
        words="the largest need seen, plus a tenth",
        rule=_largest(1.1),
        only_compared=True,  # near-max is the same with less room
    ),
    Expert(
        name="steady",
        words="a size that hardly any run exceeds if runs go on to vary and grow as before",
        rule=_steady,
        serves_young=True,
    ),
    Expert(
        name="toward-request",
        words="the largest need seen, plus part of the way to the request while few runs are known",
        rule=_toward_request(1.0),
        serves_young=True,
    ),
    Expert(
        name="toward-request-slowly",
        words="the largest need seen, plus part of the way to the request",
        rule=_toward_request(0.5),
    ),
    Expert(
        name="max-and-spread",
        words="the largest need seen, plus a quarter of its distance from the median",
        rule=_spread,
    ),
    Expert(
        name="latest-max",
        words="the largest need of the last 20 runs, plus a little",
        rule=_latest,
    ),
    Expert(
        name=SAFE,
        words="the size with the least expected cost over its runs",
        rule=_expected,
    ),
    Expert(
        name=BY_FEATURES,
        words="the size with the least expected cost around what its best feature predicts",
        rule=_expected_by_features,
    ),
    Expert(
        name="features-97",
        words="a line over its best feature, below which 97% of its runs stayed",
        rule=_line,
    ),
    Expert(
        name=CURVES,
        words="a curve over its best features, with the room that its runs needed",
        rule=_curve,
        serves_young=True,
    ),
    Expert(
        name=YOUNG_SAFE,
        words="the largest need seen, with room while few runs are known",
        rule=_young,
        serves_young=True,
    ),
    Expert(name=CLASSIFIER, words="the bin classifier"),
    Expert(name=BOOSTING, words="boosted quantiles of the need"),
)
"""The one list of experts; a new one is added here, those by rule before those by model."""

EXPERTS: Final = tuple(expert.name for expert in ALL_EXPERTS)
PANEL: Final[Mapping[str, Bidding]] = MappingProxyType(
    {expert.name: expert.rule for expert in ALL_EXPERTS if expert.rule is not None}
)
MODELLED: Final = tuple(expert.name for expert in ALL_EXPERTS if expert.rule is None)
YOUNG: Final = frozenset(expert.name for expert in ALL_EXPERTS if expert.serves_young)
YARDSTICKS: Final = frozenset(expert.name for expert in ALL_EXPERTS if expert.only_compared)
_WORDS: Final = {expert.name: expert.words for expert in ALL_EXPERTS}


def words_for_expert(name: str) -> str:
    """How an expert decides, in words; its name if it is another version's."""
    return _WORDS.get(name, name)
