"""All experts compared on one past: rules, the classifier and boosting."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.boosting import BoostedBids
from plimsoll_predictor.champion import Bid
from plimsoll_predictor.experts.names import BOOSTING, CLASSIFIER, MAX_SEEN, REQUEST
from plimsoll_predictor.forward import Replayed
from plimsoll_predictor.past_costs import LEAST_SHARE_COMPARED, PastCosts, past_costs
from plimsoll_predictor.policy import Policy
from plimsoll_predictor.reliability import Reliability
from plimsoll_predictor.rows import RunRows
from plimsoll_predictor.runs import runs_of
from plimsoll_predictor.units import GIB, MIB, gb_hours
from tests.predictor.training_builders import an_attempt, killed

POLICY = Policy(penalty=10, headroom=1.1)
RUNTIME_S = 30.0
ALL_BUT_THE_FIRST = range(1, 20)


def some_rows(*, last_mib: int = 300) -> RunRows:
    """Twenty runs of 300 MiB and half a minute, each asking for 4 GiB."""
    attempts = [an_attempt(index) for index in range(19)]
    return RunRows.of(runs_of([*attempts, an_attempt(19, peak_bytes=last_mib * MIB)], latest=20))


def bids_of(places: range, allocation_mib: int, ladder_mib: tuple[int, ...] = ()) -> dict[int, Bid]:
    ladder = tuple(float(step * MIB) for step in ladder_mib)
    return {place: Bid(float(allocation_mib * MIB), ladder) for place in places}


def compared(
    rows: RunRows, classified: dict[int, Bid], boosted: dict[int, Bid], *, cut: bool = False
) -> PastCosts:
    return past_costs(
        rows,
        Replayed(classified, cut_by_budget=False, reliability=Reliability((), None)),
        BoostedBids(boosted, cut_by_budget=cut),
        POLICY,
    )


def test_all_experts_are_charged_over_the_runs_both_models_bid_for() -> None:
    found = compared(
        some_rows(), bids_of(ALL_BUT_THE_FIRST, 400), bids_of(range(10, 20), 310), cut=True
    )
    assert found.runs == 10
    wasted = {name: cost.cost_gb_h for name, cost in found.costs.items()}
    assert wasted == pytest.approx(
        {
            REQUEST: 10 * gb_hours(4 * GIB - 300 * MIB, RUNTIME_S),
            MAX_SEEN: 10 * gb_hours(30 * MIB, RUNTIME_S),
            CLASSIFIER: 10 * gb_hours(100 * MIB, RUNTIME_S),
            BOOSTING: 10 * gb_hours(10 * MIB, RUNTIME_S),
        }
    )
    assert found.cut_by_budget


def test_a_boosted_bid_that_fails_is_lifted_over_the_bins_as_in_service() -> None:
    classified = bids_of(ALL_BUT_THE_FIRST, 1000, ladder_mib=(450, 1000))
    found = compared(some_rows(last_mib=440), classified, bids_of(ALL_BUT_THE_FIRST, 310))
    boosting = found.costs[BOOSTING]
    assert boosting.failed_attempts == 1
    # Without the bins' ceilings the lift would double 310 MiB instead of going to 450.
    after_failing = gb_hours(310 * MIB, RUNTIME_S) * POLICY.penalty + gb_hours(10 * MIB, RUNTIME_S)
    assert boosting.cost_gb_h == pytest.approx(18 * gb_hours(10 * MIB, RUNTIME_S) + after_failing)


def test_boosting_that_bid_for_too_few_runs_narrows_nobodys_comparison() -> None:
    few = range(20 - int(LEAST_SHARE_COMPARED * 20) + 1, 20)
    found = compared(some_rows(), bids_of(ALL_BUT_THE_FIRST, 400), bids_of(few, 310))
    assert found.runs == len(ALL_BUT_THE_FIRST)
    assert set(found.costs) == {REQUEST, MAX_SEEN, CLASSIFIER}


def test_without_any_learned_bid_the_rules_are_compared() -> None:
    found = compared(some_rows(), {}, {})
    assert set(found.costs) == {REQUEST, MAX_SEEN}
    assert found.runs == len(ALL_BUT_THE_FIRST)


def test_where_no_compared_need_is_known_nobody_is_charged() -> None:
    runs = runs_of([killed(index, 100 * MIB) for index in range(20)], latest=20)
    places = bids_of(ALL_BUT_THE_FIRST, 400)
    found = compared(RunRows.of(runs), places, places)
    assert (found.runs, found.costs, found.champion) == (0, {}, MAX_SEEN)


def test_the_champion_is_the_cheapest_that_deciding_serves() -> None:
    dear = bids_of(ALL_BUT_THE_FIRST, 1000)
    assert compared(some_rows(), bids_of(ALL_BUT_THE_FIRST, 310), dear).champion == CLASSIFIER
    assert compared(some_rows(), dear, dear).champion == MAX_SEEN
    rows = some_rows()
    asked = RunRows.of([replace(run, request_bytes=305 * MIB) for run in rows.runs])
    assert compared(asked, dear, dear).champion == REQUEST
