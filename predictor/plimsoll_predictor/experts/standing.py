"""One task's experts: their charges so far, their bids now, and the one that serves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.documents import Finite, from_document, to_document, to_sparse_document
from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.experts.charging import EndedRun, Would, relative_costs
from plimsoll_predictor.experts.drift import Drift
from plimsoll_predictor.experts.features.curves import LEAST_RUNS
from plimsoll_predictor.experts.floors import Floors
from plimsoll_predictor.experts.guard import Guard, ServedRun
from plimsoll_predictor.experts.panel import (
    EXPERTS,
    LARGEST,
    MODELLED,
    PANEL,
    PREDICTED,
    YARDSTICKS,
    YOUNG,
    YOUNG_RUNS,
    is_brave,
    view_of,
)
from plimsoll_predictor.experts.past import MOSTLY_EMPTY, Past
from plimsoll_predictor.experts.pool import Pool, age_of
from plimsoll_predictor.experts.spending import Spending
from plimsoll_predictor.knowledge.expert_names import (
    BY_FEATURES,
    CURVES,
    MAX_SEEN,
    NEAR_MAX,
    REQUEST,
    SAFE,
    YOUNG_SAFE,
)
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.knowledge.rule import Rule, for_larger_request

FORGETTING: Final = 0.997
"""Each new run leaves this share of a task's charges, so that the last few hundred decide."""
YOUNG_FORGETTING: Final = 0.75
"""While a task is young: what its first runs cost says little about the later ones."""
OUTLIERS: Final = 0.7
"""Charges are counted to this power: one extreme run should not decide for long what serves."""
POOLED_RUNS: Final = 3.0
YOUNG_POOLED_RUNS: Final = 1.0
"""How many runs of its own the pooled charges of other tasks count as."""
HYSTERESIS: Final = 1.1
"""How many times cheaper than the safe expert another one must have been to serve."""
MORE_RUNS: Final = 1.25
"""How many times the runs of the last time must be known, until a training may say anew what an
expert is charged."""
MOST_PENDING: Final = 256
"""The most killed runs whose bids are kept until they succeed."""

Bids = Mapping[str, float]
"""Expert -> bytes, as at the run's decision."""
Vector = NDArray[np.float64]

_PLACE: Final = {name: place for place, name in enumerate(EXPERTS)}
_MAY_SERVE: Final = np.array([np.inf if name in YARDSTICKS else 0.0 for name in EXPERTS])
_MAY_SERVE_YOUNG: Final = np.array([0.0 if name in YOUNG else np.inf for name in EXPERTS])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run whose need is known, with what was known before it.

    bids: as they were when the run was decided; None if no expert was asked then: the bids of now
        stand for them.
    version: its image and command in any form; empty if nobody said.
    overhead_s: an admin's price of a failed attempt, in seconds of its memory; None if none is set.
    decided_bytes: what recommend mode decided for its first attempt; None if it decided nothing.
    key: the run's key, as in its killed attempts.
    given_bytes: what its last attempt held, as Plimsoll gave it; None if it gave nothing.
    max_seen_bytes: what max-seen bid when the run was decided; None if no run was known then.
    least_bytes: no size of the task is below it.
    """

    run: EndedRun
    features: Mapping[str, FeatureValue]
    bids: Bids | None
    version: str = ""
    overhead_s: float | None
    decided_bytes: float | None = None
    key: str = ""
    given_bytes: float | None = None
    max_seen_bytes: float | None = None
    least_bytes: float = MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Exceeded:
    """An attempt that was killed at its allocation.

    bids: what was bid for it; None if no expert was asked. cause: of its end, in a word.
    given_bytes: what it held, as Plimsoll gave it; None if it gave nothing.
    runtime_s: how long it held that; None if unknown.
    """

    run: str
    allocation_bytes: float
    request_bytes: float | None = None
    cause: str = ""
    bids: Bids | None = None
    given_bytes: float | None = None
    runtime_s: float | None = None


@dataclass(slots=True)
class Standing:
    """A task's experts. Bounded: Past's latest runs, a charge each, a few pending runs' bids.

    charges: (n_experts,), what each would have cost over the runs so far, in sizes of a run; larger
        and newer runs count more. Infinite until a modelled expert first bids.
    seeded: how many runs were known when a training last said what a modelled expert is charged.
    """

    past: Past = field(default_factory=Past)
    charges: Vector = field(
        default_factory=lambda: np.array([np.inf if n in MODELLED else 0.0 for n in EXPERTS])
    )
    pending: dict[str, dict[str, float]] = field(default_factory=dict)
    drift: Drift = field(default_factory=Drift)
    rules: dict[str, Rule] = field(default_factory=dict)
    champion: str = YOUNG_SAFE
    would: Would = field(default_factory=Would)
    floors: Floors = field(default_factory=Floors)
    spending: Spending = field(default_factory=Spending)
    guard: Guard = field(default_factory=Guard)
    seeded: dict[str, int] = field(default_factory=dict)

    @property
    def young(self) -> bool:
        """Whether too few runs are known to trust the charges."""
        return self.past.runs < YOUNG_RUNS

    def bids(self, request_bytes: float | None, features: Mapping[str, FeatureValue]) -> Bids:
        """The bids of the experts by rule for a run; empty if no run is known."""
        largest = self.past.largest_request_bytes
        return {
            name: for_larger_request(
                rule.bid_bytes(request_bytes, features), request_bytes, largest
            )
            for name, rule in self.rules.items()
        }

    def learn(self, ended: Ended, pool: Pool) -> None:
        """Charge every expert for a run whose need is known, then learn from it."""
        past, run = self.past, ended.run
        self.spending.end_run()
        if ended.given_bytes is not None:
            self._count_served(ended, ended.given_bytes)
        if ended.decided_bytes is not None:
            self.would.add(ended.decided_bytes, run, past.largest_bytes)
        if past.runs:
            self._charge(ended, pool)
            self._compare_with_anchors(ended, pool)
        self.drift.see_version(ended.version)
        past.add(run, ended.features)
        keep = self.drift.shifted(list(past.needs_bytes), past.explains)
        if keep is not None:
            past.forget_before_shift(keep)
        self.refresh(pool, ended.overhead_s)

    def exceeded(self, killed: Exceeded) -> None:
        """Learn at once that a run needed more than it was given; its bids wait for its end."""
        run, bids, allocation_bytes = killed.run, killed.bids, killed.allocation_bytes
        self.spending.kill(run, allocation_bytes, killed.request_bytes, killed.cause)
        self.past.exceed(allocation_bytes)
        if killed.given_bytes is not None:
            self.guard.killed(run, killed.given_bytes, killed.runtime_s)
        if bids and run not in self.pending:
            self.pending[run] = dict(bids)
            while len(self.pending) > MOST_PENDING:
                del self.pending[next(iter(self.pending))]

    def correct(
        self, before_bytes: float, after_bytes: float, features: Mapping[str, FeatureValue]
    ) -> None:
        """Replace a need that was learned by a better one; what was charged for it stays."""
        if self.past.runs:
            self.past.correct(before_bytes, after_bytes, features)

    def bids_of_killed(self, run: str) -> Bids | None:
        """The bids for a run's first attempt that was killed; asked once, at the run's end."""
        return self.pending.pop(run, None)

    def refresh(self, pool: Pool, overhead_s: float | None) -> None:
        """Compute anew what each expert bids and which one serves."""
        if not self.past.runs:
            return
        view = view_of(self.past, pool.ratios, overhead_s, pool.constants)
        self.rules = {name: bidding(view) for name, bidding in PANEL.items()}
        guarded = self.guard.guarded
        self.champion = self._cheapest(pool) if guarded is None else guarded.expert

    def inform(self, knowledge: Knowledge) -> Knowledge:
        """A task's knowledge with what its experts say now."""
        past = self.past
        asked_bytes = past.largest_request_bytes
        return replace(
            knowledge,
            runs=past.runs,
            max_need_bytes=round(past.reached_bytes) or None,
            largest_bytes=round(past.largest_bytes) or None,
            largest_request_bytes=None if asked_bytes is None else round(asked_bytes),
            champion=self.champion if past.runs else knowledge.champion,
            rule=self.rules.get(self.champion),
            floor=self.floors.floor,
            fails_often=self.floors.failures.fails_often,
            spent=self.spending.spent,
            guarded=self.guard.guarded,
        )

    def seed(self, name: str, times: float) -> None:
        """Learn how a model's out-of-time bids compared with the largest need seen.

        times: its cost over that of max-seen, on the same past runs. It says what the expert is
        charged if that is the first model, or a quarter more runs are known than the last time:
        each kill causes a training, which would erase what the kill was charged.
        """
        runs, last = self.past.runs, self.seeded.get(name, 0)
        is_new = math.isinf(self.charges[_PLACE[name]])
        # A shift of level forgets runs.
        if is_new or not last <= runs < MORE_RUNS * last:
            self.charges[_PLACE[name]] = self.charges[_PLACE[MAX_SEEN]] * times**OUTLIERS
            self.seeded[name] = runs

    def retire(self, name: str) -> None:
        """Note that an expert has no model any more: it cannot serve until it bids again."""
        self.charges[_PLACE[name]] = math.inf

    def costs(self, pool: Pool) -> dict[str, float]:
        """Expert -> its estimated cost, in sizes of a run; only those that can bid."""
        estimated = self._estimated(pool)
        return {
            name: float(cost)
            for name, cost in zip(EXPERTS, estimated, strict=True)
            if math.isfinite(cost)
        }

    def _charge(self, ended: Ended, pool: Pool) -> None:
        run, past = ended.run, self.past
        bids = ended.bids or self.bids(run.request_bytes, ended.features)
        offered = [bids.get(name, 0.0) for name in EXPERTS]
        price_s = pool.constants.price_s(run.counted_s, ended.overhead_s)
        charged = relative_costs(offered, run, past.largest_bytes, price_s) ** OUTLIERS
        safe = float(self.charges[_PLACE[SAFE]])
        for name, place in _PLACE.items():
            if name in bids:
                if math.isinf(self.charges[place]):
                    # Its first bid: until now it counts as good as the safe one.
                    self.charges[place] = safe
            else:
                # An expert that was not asked is charged by its ratio to the safe one so far.
                charged[place] = charged[_PLACE[SAFE]] * self._fared(place)
        pool.charge(past.runs, charged)
        kept = YOUNG_FORGETTING if self.young else FORGETTING
        self.charges = self.charges * kept + charged * past.weight_of(run) ** OUTLIERS

    def _count_served(self, ended: Ended, given_bytes: float) -> None:
        self.guard.ended(
            ServedRun(
                key=ended.key,
                run=ended.run,
                given_bytes=given_bytes,
                max_seen_bytes=ended.max_seen_bytes,
                least_bytes=ended.least_bytes,
            )
        )

    def _fared(self, place: int) -> float:
        """An expert's charges over those of the safe one; 1 where there is nothing yet."""
        own, safe = float(self.charges[place]), float(self.charges[_PLACE[SAFE]])
        return own / safe if safe > 0 and math.isfinite(own) else 1.0

    def _compare_with_anchors(self, ended: Ended, pool: Pool) -> None:
        past, run = self.past, ended.run
        runtimes = run.counted_s / past.mean_runtime_s
        to_largest = math.log(run.need_bytes / past.largest_bytes)
        pool.ratios[LARGEST].add(age_of(past.runs), to_largest, runtimes)
        rule = self.rules.get(BY_FEATURES)
        for line in rule.lines if rule else ():
            predicted = line.at(ended.features)
            if predicted is not None:
                within = min(max(predicted, min(past.needs_bytes)), past.largest_bytes)
                ratio = math.log(run.need_bytes / within)
                past.add_anchored(ratio, run.runtime_s)
                pool.ratios[PREDICTED].add(age_of(past.runs), ratio, runtimes)
                return

    def _estimated(self, pool: Pool) -> Vector:
        """Own charges, and those of other tasks with as many runs, which count as a few runs."""
        pooled = pool.mean_charges(self.past.runs)
        for name in MODELLED:
            pooled[_PLACE[name]] = pooled[_PLACE[SAFE]] * self._fared(_PLACE[name])
        runs = YOUNG_POOLED_RUNS if self.young else POOLED_RUNS
        estimated: Vector = self.charges + runs * pooled
        return estimated

    def _cheapest(self, pool: Pool) -> str:
        past, estimated = self.past, self._estimated(pool) + _MAY_SERVE
        if past.curve is None:
            # How curves served other tasks says nothing about a task that has none.
            estimated[_PLACE[CURVES]] = np.inf
        if (past.largest_request_bytes or 0.0) < past.reached_bytes:
            # Nobody asks for anything, or a run needed more than any request: it would fail again.
            estimated[_PLACE[REQUEST]] = np.inf
        safe, hysteresis = SAFE, HYSTERESIS
        # Once a curve is fitted, the runs left out judge it: its charges so far are its fallback's.
        is_fitted = past.runs >= LEAST_RUNS
        fares_well = bool(estimated[_PLACE[CURVES]] <= estimated[_PLACE[YOUNG_SAFE]])
        if self.young and past.curve_is_clear and (is_fitted or fares_well):
            return CURVES
        if self.young:
            # Their charges are mostly other tasks': there is no expert to hold on to.
            estimated = estimated + _MAY_SERVE_YOUNG
            if not is_brave(past.runs, pool):
                estimated[_PLACE[NEAR_MAX]] = np.inf
            if not past.requests_are_near:
                # However well those of other tasks served, its own are known to be bad.
                estimated[_PLACE[REQUEST]] = np.inf
            safe, hysteresis = YOUNG_SAFE, 1.0
        place = int(np.argmin(estimated))
        if estimated[place] * hysteresis < estimated[_PLACE[safe]]:
            return EXPERTS[place]
        return safe

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; ``from_dict`` reads it back."""
        return {
            "past": to_sparse_document(self.past, *MOSTLY_EMPTY),
            "charges": {
                name: float(charge)
                for name, charge in zip(EXPERTS, self.charges, strict=True)
                if math.isfinite(charge)
            },
            "pending": self.pending,
            "drift": to_sparse_document(self.drift, "returned"),
            "rules": to_document(self.rules),
            "champion": self.champion,
            "would": to_document(self.would),
            "floors": to_document(self.floors),
            "spending": to_document(self.spending),
            "guard": to_document(self.guard),
            **({"seeded": self.seeded} if self.seeded else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Standing:
        """Inverse of ``to_dict``. An unknown expert is dropped."""
        written = from_document(_Written, data, "a task's standing")
        standing = cls(past=written.past, drift=written.drift)
        standing.pending = {
            run: {name: bid for name, bid in bids.items() if bid is not None}
            for run, bids in written.pending.items()
        }
        for name, place in _PLACE.items():
            # An expert that an older version did not have counts as good as the safe one.
            otherwise = math.inf if name in MODELLED else written.charges.get(SAFE, 0.0)
            standing.charges[place] = written.charges.get(name, otherwise)
        standing.rules = {name: written.rules[name] for name in PANEL if name in written.rules}
        if written.champion in _PLACE:
            standing.champion = written.champion
        standing.would = written.would or standing.would
        standing.floors = written.floors or standing.floors
        standing.spending = written.spending or standing.spending
        standing.guard = written.guard or standing.guard
        standing.seeded = dict(written.seeded or {})
        return standing


@dataclass(frozen=True, slots=True)
class _Written:
    """A standing as it is written; an older version did not have the last five.

    pending: an older version wrote null for a bid that was no number.
    """

    past: Past
    charges: dict[str, Finite]
    pending: dict[str, dict[str, float | None]]
    drift: Drift
    rules: dict[str, Rule]
    champion: str
    would: Would | None = None
    floors: Floors | None = None
    spending: Spending | None = None
    guard: Guard | None = None
    seeded: dict[str, int] | None = None
