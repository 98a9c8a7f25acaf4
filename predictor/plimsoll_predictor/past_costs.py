"""What every expert would have cost on a task's own past, models by what they knew then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_predictor.boosting import BoostedBids
from plimsoll_predictor.champion import Bid, ExpertCost, compare
from plimsoll_predictor.experts.names import BOOSTING
from plimsoll_predictor.forward import Replayed, past_runs
from plimsoll_predictor.knowledge import Expert
from plimsoll_predictor.policy import Policy
from plimsoll_predictor.reliability import Reliability
from plimsoll_predictor.rows import RunRows

LEAST_SHARE_COMPARED: Final = 0.25
"""Of the runs: boosting that bid for fewer must not narrow the others' comparison to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCosts:
    """Who would have been cheapest, what each expert would have cost, and over how many runs.

    costs: by expert, all over the same runs; without those that could not bid for each of them.
    reliability: of the classifier's chances. cut_by_budget: whether a replay ran out of time.
    """

    champion: Expert
    costs: Mapping[str, ExpertCost]
    runs: int
    reliability: Reliability
    cut_by_budget: bool


def past_costs(
    rows: RunRows, classified: Replayed, boosted: BoostedBids, policy: Policy
) -> PastCosts:
    """Charge all experts over the runs that both learned ones bid for."""
    past = past_runs(rows)
    both = _bid_for_both(classified.bids, boosted.bids)
    with_boosting = len(both) > 0 and len(both) >= LEAST_SHARE_COMPARED * len(rows.runs)
    bids = {place: classified.bids[place] for place in both} if with_boosting else classified.bids
    comparison = compare(past, bids, policy)
    costs = {expert.value: cost for expert, cost in comparison.costs.items()}
    if with_boosting:
        # ``compare`` charges whatever learned bids it is given as the classifier's.
        charged = compare(past, both, policy).costs.get(Expert.CLASSIFIER)
        costs |= {BOOSTING: charged} if charged else {}
    return PastCosts(
        champion=_cheapest(costs),
        costs=costs,
        runs=comparison.runs,
        reliability=classified.reliability,
        cut_by_budget=classified.cut_by_budget or boosted.cut_by_budget,
    )


def _bid_for_both(classified: Mapping[int, Bid], boosted: Mapping[int, Bid]) -> dict[int, Bid]:
    """Boosting's bids where the classifier bid too, lifted as in service: over the bins."""
    return {
        place: replace(bid, ladder_bytes=classified[place].ladder_bytes)
        for place, bid in boosted.items()
        if place in classified
    }


def _cheapest(costs: Mapping[str, ExpertCost]) -> Expert:
    """Of those that deciding knows; the simpler of equals."""
    serving = [expert for expert in Expert if expert.value in costs]
    return min(serving, key=lambda expert: costs[expert.value].cost_gb_h, default=Expert.MAX_SEEN)
