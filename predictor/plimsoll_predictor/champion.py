"""Who serves a task: each expert is charged on the task's own history what it would have cost.

Prequential: every run is bid for with what was known before it, and only then learned from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plimsoll_predictor.experts.ladder import next_step_bytes
from plimsoll_predictor.knowledge import Expert
from plimsoll_predictor.lifting import LEAST_CEILING_STEP
from plimsoll_predictor.policy import Policy
from plimsoll_predictor.units import MIB, gb_hours


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


@dataclass(frozen=True, slots=True)
class ExpertCost:
    """What an expert would have cost over the runs compared.

    cost_gb_h: waste (allocation - need) x runtime, plus allocation x runtime x penalty for each
    failed attempt. A penalty above one makes it a price, not memory that was really held.
    """

    cost_gb_h: float
    failed_attempts: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The cheapest expert, what each would have cost, and over how many runs.

    costs: without an expert that could not bid for every run compared.
    """

    champion: Expert
    costs: Mapping[Expert, ExpertCost]
    runs: int


def compare(
    runs: Sequence[PastRun], classifier_bids: Mapping[int, Bid], policy: Policy
) -> Comparison:
    """Charge every expert over the same runs; the cheapest serves, the simpler of equals.

    runs: in time order.
    classifier_bids: index into runs -> bid of a classifier that had learned only from earlier
        ones. Where it bid, only those runs are compared; where it bid for none, the others are
        compared over all runs but the first.
    """
    seen_bytes = _largest_before(runs)
    places = sorted(classifier_bids) or range(1, len(runs))
    compared = [place for place in places if runs[place].need_bytes is not None]
    bids: dict[Expert, Mapping[int, Bid]] = {
        Expert.REQUEST: {
            place: Bid(request)
            for place in compared
            if (request := runs[place].request_bytes) is not None
        },
        Expert.MAX_SEEN: {place: Bid(0.0, open_ended=True) for place in compared},
        Expert.CLASSIFIER: classifier_bids,
    }
    costs: dict[Expert, ExpertCost] = {}
    for expert, offered in bids.items():
        if compared and all(place in offered for place in compared):
            charges = [
                _charged(offered[place], runs[place], seen_bytes[place], policy)
                for place in compared
            ]
            costs[expert] = ExpertCost(
                cost_gb_h=sum(charge.cost_gb_h for charge in charges),
                failed_attempts=sum(charge.failed_attempts for charge in charges),
            )
    # Where nothing can be compared, the task sizes itself by what it needed, as it learns.
    champion = min(costs, key=lambda expert: costs[expert].cost_gb_h, default=Expert.MAX_SEEN)
    return Comparison(champion, costs, len(compared))


def _largest_before(runs: Sequence[PastRun]) -> list[float]:
    largest, before = 0.0, []
    for run in runs:
        before.append(largest)
        largest = max(largest, run.teaches_bytes)
    return before


def _charged(bid: Bid, run: PastRun, seen_bytes: float, policy: Policy) -> ExpertCost:
    """One run under one expert: failed attempts, lifts, and the waste of the one that fits."""
    need_bytes = run.need_bytes or 0.0
    wanted_bytes = bid.allocation_bytes
    if bid.open_ended:
        wanted_bytes = max(wanted_bytes, seen_bytes * policy.headroom)
    allocation_bytes = _bounded(wanted_bytes, policy)
    cost, failed = 0.0, 0
    while allocation_bytes < need_bytes:
        cost += gb_hours(allocation_bytes, run.runtime_s) * policy.penalty
        failed += 1
        allocation_bytes = _lifted(
            allocation_bytes, bid.ladder_bytes, run.request_bytes, seen_bytes
        )
    return ExpertCost(cost + gb_hours(allocation_bytes - need_bytes, run.runtime_s), failed)


def _bounded(allocation_bytes: float, policy: Policy) -> float:
    # Not below a MiB: doubling must get somewhere.
    floored = max(allocation_bytes, policy.min_bytes, MIB)
    return min(floored, policy.max_bytes) if policy.max_bytes else floored


def _lifted(
    failed_bytes: float, ceilings_bytes: Sequence[float], request_bytes: float | None, seen: float
) -> float:
    """The gentle ladder of ``lifting``, without its bounds: here a lift goes on until it fits."""
    least_bytes = failed_bytes * LEAST_CEILING_STEP
    useful = [step for step in ceilings_bytes if step >= least_bytes]
    useful.append(next_step_bytes(failed_bytes, seen))
    if request_bytes is not None and request_bytes >= least_bytes:
        useful.append(request_bytes)
    return min(useful)
