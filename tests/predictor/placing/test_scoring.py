"""Scores of nodes: from 0 to 10, in the order of costs, and equal where nothing is known."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.placing.costs import Costs
from plimsoll_predictor.placing.hinting import AWAITED_S, LEAST_GAIN, Neighbourhoods, NoHint
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import Array
from plimsoll_predictor.placing.scoring import MOST_SCORE, MOST_SPAN, scores_of

NAN = float("nan")
LOUD = 1
KIND = "shop/loud"
a_cost = st.floats(-100.0, 100.0)


def scored(*costs: float) -> list[int] | NoHint:
    return scores_of(np.array(costs))


@pytest.mark.parametrize(
    ("costs", "scores"),
    [
        pytest.param((0.0, 0.5, 1.0), [10, 5, 0], id="from the best to the worst"),
        pytest.param((0.0, 0.1), [10, 0], id="a small span"),
        pytest.param((0.0, 0.3, 50.0), [10, 7, 0], id="a very bad one leaves others apart"),
        pytest.param((-1.0, -0.5, 0.0), [10, 5, 0], id="costs below zero"),
        pytest.param((0.0, NAN, 1.0, 0.2), [10, 6, 0, 8], id="an unknown one is as the mean"),
    ],
)
def test_a_node_is_scored_by_what_it_costs_above_the_best(
    costs: tuple[float, ...], scores: list[int]
) -> None:
    assert scored(*costs) == scores


@pytest.mark.parametrize(
    "costs",
    [
        pytest.param((), id="no node"),
        pytest.param((1.0,), id="one node"),
        pytest.param((0.3, 0.3, 0.3), id="the same"),
        pytest.param((0.0, LEAST_GAIN * 0.99), id="nearly the same"),
        pytest.param((NAN, 0.7), id="one known"),
    ],
)
def test_nodes_of_which_none_is_better_are_alike(costs: tuple[float, ...]) -> None:
    assert scored(*costs) is NoHint.ALIKE


def test_of_nodes_about_which_nothing_is_known_none_is_said_to_be_alike() -> None:
    """Such as those of a pool with a taint, which are not weighed."""
    assert scored(NAN, NAN, NAN) is NoHint.UNKNOWN


@pytest.mark.slow
@given(st.lists(st.one_of(a_cost, st.just(NAN)), max_size=40))
def test_scores_are_whole_in_bounds_and_in_the_order_of_costs(costs: list[float]) -> None:
    given_costs = np.array(costs, dtype=float)
    before = given_costs.copy()
    scores = scores_of(given_costs)
    assert np.array_equal(given_costs, before, equal_nan=True)
    known = [cost for cost in costs if not math.isnan(cost)]
    if isinstance(scores, NoHint):
        assert len(known) < 2 or max(known) - min(known) < LEAST_GAIN
        return
    assert len(scores) == len(costs)
    assert all(type(score) is int and 0 <= score <= MOST_SCORE for score in scores)
    scored_costs = zip(costs, scores, strict=True)
    pairs = sorted((cost, score) for cost, score in scored_costs if not math.isnan(cost))
    assert pairs[0][1] == MOST_SCORE
    assert pairs[-1][1] == 0
    for (less, better), (more, worse) in pairwise(pairs):
        assert better >= worse
        if less == more:
            assert better == worse
    for cost, score in pairs:
        assert cost - pairs[0][0] < MOST_SPAN or score == 0


@pytest.mark.slow
@given(st.lists(a_cost, min_size=2, max_size=20), st.randoms(use_true_random=False))
def test_scores_do_not_go_by_the_order_of_nodes(costs: list[float], random: object) -> None:
    scores = scores_of(np.array(costs))
    backward = scores_of(np.array(costs[::-1]))
    if isinstance(scores, NoHint):
        assert backward is NoHint.ALIKE
    else:
        assert backward == scores[::-1]


def among(**residents: int) -> Neighbourhoods:
    """Nodes with that many of a kind that slows itself."""
    nodes = Neighbourhoods()
    nodes.costs = Costs((OTHERS, KIND), np.array([[0.2, 0.2], [0.2, 1.5]]), np.ones((2, 2)))
    for name, count in residents.items():
        nodes.put(name, [(LOUD, count)] if count else [])
    return nodes


def told(costs: Array | NoHint) -> list[float]:
    assert not isinstance(costs, NoHint), costs
    found: list[float] = costs.tolist()
    return found


def test_costs_are_told_of_the_nodes_that_are_asked_about_in_their_order() -> None:
    nodes = among(a=2, b=0, c=1)
    assert told(nodes.costs_on(KIND, ["c", "a", "c"], 0.0)) == pytest.approx([1.5, 3.0, 1.5])
    costs = told(nodes.costs_on(KIND, ["b", "never-heard-of"], 0.0))
    assert costs[0] == 0.0
    assert math.isnan(costs[1])


@pytest.mark.parametrize("kind", ["shop/never-seen", OTHERS])
def test_of_a_kind_that_is_not_told_apart_nothing_is_known(kind: str) -> None:
    assert among(a=1, b=0).costs_on(kind, ["a", "b"], 0.0) is NoHint.UNKNOWN


def test_most_of_what_runs_on_the_nodes_has_to_be_known() -> None:
    nodes = among(a=1, b=0)
    assert nodes.costs is not None
    nodes.costs = Costs(nodes.costs.kinds, nodes.costs.rows, np.array([[1.0, 1.0], [0.0, 1.0]]))
    nodes.put("c", [(0, 9)])
    assert told(nodes.costs_on(KIND, ["a", "b"], 0.0)) == pytest.approx([1.5, 0.0])
    assert nodes.costs_on(KIND, ["a", "b", "c"], 0.0) is NoHint.UNKNOWN


def test_without_costs_or_nodes_nothing_is_known() -> None:
    nodes = among()
    assert scores_of(np.array(told(nodes.costs_on(KIND, ["a", "b"], 0.0)))) is NoHint.UNKNOWN
    assert told(nodes.costs_on(KIND, [], 0.0)) == []
    nodes.costs = None
    assert nodes.costs_on(KIND, ["a"], 0.0) is NoHint.UNKNOWN


def test_who_is_awaited_counts_until_it_is_too_late() -> None:
    nodes = among(a=0, b=1)
    nodes.expect(KIND, "a", 0.0)
    assert told(nodes.costs_on(KIND, ["a"], 0.0)) == pytest.approx([1.5])
    assert told(nodes.costs_on(KIND, ["a"], AWAITED_S)) == [0.0]
