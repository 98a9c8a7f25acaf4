"""The costs of experts on a task's own past, by what was known before each run.

An expert bids for a run first, and only then learns from it. These costs choose no expert: they
seed the charges of the experts by models, which then compete online (``experts.standing``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.units import MIB, gb_hours
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER, MAX_SEEN, REQUEST
from plimsoll_predictor.knowledge.ladder import lowest_step_bytes
from plimsoll_predictor.training.folds import Fold, time_folds
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.runs import RunRows

REPLAYED_PARTS: Final = 8
"""Trainings in the replay of the past: in service a task is trained much more often."""
LEAST_SHARE_REPLAYED: Final = 0.25
"""The share of the runs that an expert always bids for: one unlucky kill among fewer would count
too much."""
LEAST_SHARE_COMPARED: Final = 0.25
"""The share of the runs that boosting must bid for: fewer must not narrow the comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One run as experts are charged for it.

    need_bytes: above zero; None if it was only ever exceeded: no expert is charged for such a run.
    teaches_bytes: its need, or the allocation that it exceeded as far as that is believed.
    request_bytes: None if the user asked for nothing.
    decided_s, ended_s: as in ``RunRows``.
    """

    need_bytes: float | None
    teaches_bytes: float
    runtime_s: float
    request_bytes: float | None
    decided_s: float = math.inf
    ended_s: float = -math.inf


@dataclass(frozen=True, slots=True)
class Bid:
    """The size that an expert gives one run.

    ladder_bytes: the ceilings it would lift to, ascending.
    open_ended: it stands for the last bin, which has no upper end, so it follows the largest need.
    """

    allocation_bytes: float
    ladder_bytes: Sequence[float] = ()
    open_ended: bool = False


def times_of_max_seen(
    costs: Mapping[str, OutOfTimeCost], bidders: Iterable[str]
) -> dict[str, float | None]:
    """Expert -> its cost over that of max-seen; None if that is not known.

    bidders: the experts that a model has.
    """
    compared_with = costs.get(MAX_SEEN)
    safe_gb_h = compared_with.cost_gb_h if compared_with else 0.0
    return {
        name: costs[name].cost_gb_h / safe_gb_h if name in costs and safe_gb_h else None
        for name in bidders
    }


Bids = Mapping[int, Bid]
"""Index into the runs -> the bid of an expert that had learned only from earlier ones."""


@dataclass(frozen=True, slots=True)
class ReplayedBids:
    """The bids, and whether time ran out before all folds were replayed."""

    bids: Bids
    cut_by_budget: bool


def replayed_bids(
    rows: RunRows, plan: TrainingPlan, deadline_s: float, bids_of_fold: Callable[[Fold], Bids]
) -> ReplayedBids:
    """The bids of an expert that learns on each past alone, and bids for what came next.

    Time order is strict, and runs that had not ended teach nothing. The folds with the longest
    pasts, LEAST_SHARE_REPLAYED of the runs, are always replayed, the others only before the
    deadline.
    """
    bids: dict[int, Bid] = {}
    for fold in reversed(time_folds(len(rows.runs), REPLAYED_PARTS)):
        enough = len(bids) >= LEAST_SHARE_REPLAYED * len(rows.runs)
        if enough and plan.clock() >= deadline_s:
            return ReplayedBids(bids, cut_by_budget=True)
        ended = rows.ended_s[fold.training] <= rows.decided_s[fold.validation].min()
        if ended.any():
            bids.update(bids_of_fold(replace(fold, training=fold.training[ended])))
    return ReplayedBids(bids, cut_by_budget=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfTimeCost:
    """The cost of an expert on the task's past.

    cost_gb_h: waste (allocation - need) x runtime, plus allocation x runtime x penalty for each
        failed attempt. A penalty above one makes it a price, not memory that was really held.
    """

    cost_gb_h: float
    failed_attempts: int


@dataclass(frozen=True, slots=True)
class OutOfTimeCosts:
    """Costs by expert over the same runs, without experts that could not bid for each of them."""

    by_expert: Mapping[str, OutOfTimeCost]
    runs: int


def out_of_time_costs(
    rows: RunRows, classifier: Bids, boosting: Bids, policy: Policy
) -> OutOfTimeCosts:
    """Charge all experts over the runs that both models bid for, where these are enough."""
    # Lifts go over the classifier's bins whichever expert bids, as in service.
    both = {
        place: replace(bid, ladder_bytes=classifier[place].ladder_bytes)
        for place, bid in boosting.items()
        if place in classifier
    }
    models = {CLASSIFIER: classifier}
    if both and len(both) >= LEAST_SHARE_COMPARED * len(rows.runs):
        models = {CLASSIFIER: {place: classifier[place] for place in both}, BOOSTING: both}
    return charged_over(_past_runs(rows), models, policy)


def charged_over(
    runs: Sequence[PastRun], models: Mapping[str, Bids], policy: Policy
) -> OutOfTimeCosts:
    """Charge the experts by models, the user's request and the largest need over the same runs.

    runs: in time order.
    models: expert -> its bids, all for the same runs: those that are compared. Without any bid the
        other experts are compared over all runs but the first.
    """
    seen_bytes = _seen_bytes(runs)
    places = sorted(set().union(*models.values())) or range(1, len(runs))
    compared = [
        place for place in places if runs[place].need_bytes is not None and seen_bytes[place] > 0
    ]
    bids: dict[str, Bids] = {
        REQUEST: {
            place: Bid(request)
            for place in compared
            if (request := runs[place].request_bytes) is not None
        },
        MAX_SEEN: {place: Bid(0.0, open_ended=True) for place in compared},
        **models,
    }
    costs: dict[str, OutOfTimeCost] = {}
    for expert, offered in bids.items():
        if compared and all(place in offered for place in compared):
            charges = [
                _charged(offered[place], runs[place], seen_bytes[place], policy)
                for place in compared
            ]
            costs[expert] = OutOfTimeCost(
                cost_gb_h=sum(charge.cost_gb_h for charge in charges),
                failed_attempts=sum(charge.failed_attempts for charge in charges),
            )
    return OutOfTimeCosts(costs, len(compared))


def _seen_bytes(runs: Sequence[PastRun]) -> list[float]:
    """The largest need that was known before each run; 0 where no run had ended."""
    teaches_bytes = np.array([run.teaches_bytes for run in runs])
    ended_s = np.array([run.ended_s for run in runs])
    return [
        float(teaches_bytes[:place][ended_s[:place] <= run.decided_s].max(initial=0.0))
        for place, run in enumerate(runs)
    ]


def _past_runs(rows: RunRows) -> Sequence[PastRun]:
    requests, decided_s, ended_s = rows.requests_bytes, rows.decided_s, rows.ended_s
    return [
        PastRun(
            need_bytes=None if run.censored else run.need_bytes,
            teaches_bytes=min(run.need_bytes, run.exceeds_bytes or math.inf),
            runtime_s=float(rows.runtimes_s[place]),
            request_bytes=None if requests is None else float(requests[place]),
            decided_s=float(decided_s[place]),
            ended_s=float(ended_s[place]),
        )
        for place, run in enumerate(rows.runs)
    ]


def _charged(bid: Bid, run: PastRun, seen_bytes: float, policy: Policy) -> OutOfTimeCost:
    """One run under one expert: failed attempts, lifts, and the waste of the one that fits."""
    need_bytes = run.need_bytes or 0.0
    wanted_bytes = bid.allocation_bytes
    if bid.open_ended:
        wanted_bytes = max(wanted_bytes, seen_bytes * policy.headroom)
    allocation_bytes = _bounded(wanted_bytes, policy)
    # Here the request is one ceiling more, and a lift goes on until it fits.
    ceilings_bytes = [*bid.ladder_bytes, run.request_bytes or 0.0]
    cost, failed = 0.0, 0
    while allocation_bytes < need_bytes:
        cost += gb_hours(allocation_bytes, run.runtime_s) * policy.penalty
        failed += 1
        allocation_bytes = lowest_step_bytes(
            allocation_bytes, seen_bytes, ceilings_bytes=ceilings_bytes
        )
    waste = gb_hours(allocation_bytes - need_bytes, run.runtime_s)
    return OutOfTimeCost(cost_gb_h=cost + waste, failed_attempts=failed)


def _bounded(allocation_bytes: float, policy: Policy) -> float:
    # Not below a MiB: doubling must get somewhere.
    floored = max(allocation_bytes, policy.min_bytes, MIB)
    return min(floored, policy.max_bytes) if policy.max_bytes else floored
