"""What experts would have cost on a task's own past, where nobody had seen what was to come.

Every run is bid for with what was known before it, and only then learned from. These costs choose
nobody: they seed the charges of the experts by models, which then compete online like all others
(``experts.standing``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.units import MIB, gb_hours
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER, MAX_SEEN, REQUEST
from plimsoll_predictor.knowledge.ladder import lowest_step_bytes
from plimsoll_predictor.training.report import OutOfTimeCost
from plimsoll_predictor.training.rows import RunRows

LEAST_SHARE_REPLAYED: Final = 0.25
"""Of the runs: an expert bids for so many whatever the clock says. One unlucky kill among fewer
would weigh too much."""
LEAST_SHARE_COMPARED: Final = 0.25
"""Of the runs: boosting that bid for fewer must not narrow the others' comparison to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One run as experts are charged for it.

    need_bytes: above zero; None if it was only ever exceeded: nobody is charged for such a run.
    teaches_bytes: what is known of the largest need once it ended: its need, or what it exceeded.
    request_bytes: None if the user asked for nothing.
    """

    need_bytes: float | None
    teaches_bytes: float
    runtime_s: float
    request_bytes: float | None


@dataclass(frozen=True, slots=True)
class Bid:
    """What an expert gives one run.

    ladder_bytes: the ceilings it would lift to, ascending.
    open_ended: it stands for the last bin, which has no upper end, so it follows the largest need.
    """

    allocation_bytes: float
    ladder_bytes: Sequence[float] = ()
    open_ended: bool = False


Bids = Mapping[int, Bid]
"""Index into the runs -> the bid of an expert that had learned only from earlier ones."""


@dataclass(frozen=True, slots=True)
class OutOfTimeCosts:
    """By expert, all over the same runs; without experts that could not bid for each of them."""

    by_expert: Mapping[str, OutOfTimeCost]
    runs: int


def out_of_time_costs(
    rows: RunRows, classifier: Bids, boosting: Bids, policy: Policy
) -> OutOfTimeCosts:
    """Charge all experts over the runs that both models bid for, where these are enough."""
    # Lifts go over the classifier's bins whoever bids, as in service.
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
    models: expert -> its bids, all for the same runs. Only these runs are compared; where there is
        no bid at all, the others are compared over all runs but the first.
    """
    seen_bytes = _largest_before(runs)
    places = sorted(set().union(*models.values())) or range(1, len(runs))
    compared = [place for place in places if runs[place].need_bytes is not None]
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


def _past_runs(rows: RunRows) -> Sequence[PastRun]:
    requests = rows.requests_bytes
    return [
        PastRun(
            need_bytes=None if run.censored else run.need_bytes,
            teaches_bytes=run.need_bytes if run.exceeds_bytes is None else run.exceeds_bytes,
            runtime_s=float(rows.runtimes_s[place]),
            request_bytes=None if requests is None else float(requests[place]),
        )
        for place, run in enumerate(rows.runs)
    ]


def _largest_before(runs: Sequence[PastRun]) -> list[float]:
    largest, before = 0.0, []
    for run in runs:
        before.append(largest)
        largest = max(largest, run.teaches_bytes)
    return before


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
