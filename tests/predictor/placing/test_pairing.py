from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.placing.chance import random_slowdowns
from plimsoll_predictor.placing.fairness import MOST, Fairness
from plimsoll_predictor.placing.pairing import best_pairing
from plimsoll_predictor.placing.prices import cost_of_pairs, shadow_prices
from plimsoll_predictor.placing.soft_pairing import fair_regret

WORLDS = st.integers(0, 10_000)


def a_world(seed: int, size: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    slowdowns = np.exp(draw.gamma(1.0, 0.3, (size, size)))
    return slowdowns, draw.dirichlet(np.ones(size)), draw.lognormal(0, 0.5, size)


@pytest.mark.slow
@given(WORLDS)
def test_no_pair_is_better_than_the_best_mix_and_each_kind_has_a_pair_that_is_as_good(
    seed: int,
) -> None:
    regret = best_pairing(*a_world(seed)).regret
    assert regret == pytest.approx(regret.T)
    assert regret.min() > -1e-7
    assert regret.min(axis=1) == pytest.approx(np.zeros(len(regret)), abs=1e-7)


@pytest.mark.slow
@given(WORLDS)
def test_the_best_mix_is_no_worse_than_neighbours_as_they_come(seed: int) -> None:
    slowdowns, shares, work = a_world(seed)
    shares = np.maximum(shares, 1e-2)
    shares = shares / shares.sum()
    at_random = float(shares @ random_slowdowns(slowdowns, shares, work))
    assert best_pairing(slowdowns, shares, work).mean_slowdown <= at_random * (1 + 1e-9)


def test_two_kinds_that_hate_their_own_are_paired_with_each_other() -> None:
    slowdowns = np.array([[3.0, 1.0], [1.0, 3.0]])
    found = best_pairing(slowdowns, np.array([0.5, 0.5]), np.ones(2))
    assert found.mean_slowdown == pytest.approx(1.0)
    assert found.regret[0, 1] == pytest.approx(0.0)
    assert found.regret[0, 0] > 0.5


def test_a_good_neighbour_is_kept_for_whom_it_helps_most() -> None:
    """All run well beside 0, and 1 needs it more than 2 does."""
    slowdowns = np.array([[1.0, 1.0, 1.0], [1.0, 3.0, 3.0], [1.0, 3.0, 1.2]])
    regret = best_pairing(slowdowns, np.full(3, 1 / 3), np.ones(3)).regret
    assert regret[0, 1] < regret[0, 2]
    prices = shadow_prices(slowdowns, np.full(3, 1 / 3))
    costs = cost_of_pairs(slowdowns) - prices[None, :]
    assert costs[2, 2] < costs[2, 0]
    assert costs[1, 0] < costs[1, 2]


@pytest.mark.slow
@given(WORLDS)
def test_a_fair_mix_slows_no_kind_more_than_is_allowed_and_costs_a_little(seed: int) -> None:
    slowdowns, shares, work = a_world(seed)
    shares = np.maximum(shares, 1e-2)
    shares = shares / shares.sum()
    at_random = random_slowdowns(slowdowns, shares, work)
    best, fair, strict = (
        best_pairing(slowdowns, shares, work, most).mean_slowdown
        for most in (None, 1.1 * at_random, at_random * (1 + 1e-9))
    )
    assert best <= fair * (1 + 1e-9)
    assert fair <= strict * (1 + 1e-9)
    assert strict <= float(shares @ at_random) * (1 + 1e-9)


def test_where_the_best_mix_is_at_one_kinds_cost_a_fair_one_is_not() -> None:
    """1 gains most beside 0, which suffers only from 1."""
    slowdowns = np.array([[1.0, 1.5, 1.0], [1.0, 3.0, 2.8], [1.0, 2.8, 2.8]])
    shares, work = np.full(3, 1 / 3), np.ones(3)
    best = best_pairing(slowdowns, shares, work).regret
    fair = best_pairing(slowdowns, shares, work, random_slowdowns(slowdowns, shares, work)).regret
    assert best[0, 1] == pytest.approx(0.0)
    assert fair[0, 1] - fair[0, 0] > best[0, 1] - best[0, 0]


def test_two_kinds_that_hate_their_own_are_paired_whichever_comes_more_often() -> None:
    """The prices of one mix may be such that one of them does as well beside its own kind."""
    slowdowns = np.array([[3.0, 1.0], [1.0, 3.0]])
    regret = fair_regret(slowdowns, np.array([0.5, 0.5]), np.ones(2))
    assert regret[0, 1] < 0.1
    assert min(regret[0, 0], regret[1, 1]) > regret[0, 1] + 0.5
    assert (fair_regret(slowdowns, np.array([0.5, 0.5]), np.ones(2)) == regret).all()


def a_fairness() -> Fairness:
    """Fairness of two kinds: beside its own kind, 0 takes 3 times as long, and 1 hardly longer."""
    fairness = Fairness()
    fairness.renew(np.array([[3.0, 1.0], [1.0, 1.1]]), np.full(2, 0.5), np.ones(2))
    return fairness


def test_a_kind_that_suffers_more_than_at_random_gets_weight_until_it_does_not() -> None:
    fairness = a_fairness()
    for _ in range(3):
        fairness.ended(0, 3.0)
        fairness.ended(1, 1.0)
    assert fairness.weights[0] > 0.0
    assert fairness.weights[1] == 0.0
    excess = fairness.excess()
    assert excess[0, 0] > 0 > excess[0, 1]
    assert not excess[1].any()
    for _ in range(100):
        fairness.ended(0, 1.0)
    assert fairness.weights[0] == 0.0
    fairness.ended(0, 1e9)
    assert fairness.weights[0] == pytest.approx(MOST / fairness.spread[0])


def test_little_is_much_for_a_kind_that_nobody_slows() -> None:
    fairness = a_fairness()
    for kind in (0, 1):
        fairness.ended(kind, 1.05 * fairness.at_random[kind])
    assert fairness.weights[1] > 10 * fairness.weights[0] > 0


def test_weights_stay_with_their_places_when_kinds_are_added() -> None:
    fairness = a_fairness()
    fairness.ended(0, 4.0)
    before = fairness.weights[0]
    fairness.renew(np.full((3, 3), 1.5), np.full(3, 1 / 3), np.ones(3))
    assert fairness.weights.tolist() == [before, 0.0, 0.0]
    fairness.ended(3, 9.0)
    assert fairness.weights.tolist() == [before, 0.0, 0.0]
