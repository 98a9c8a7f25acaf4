from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.placing.fairness import Fairness, random_slowdowns
from plimsoll_predictor.placing.pairing import best_pairing
from plimsoll_predictor.placing.prices import cost_of_pairs, shadow_prices

WORLDS = st.integers(0, 10_000)


def a_world(seed: int, size: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    slowdowns = np.exp(draw.gamma(1.0, 0.3, (size, size)))
    return slowdowns, draw.dirichlet(np.ones(size)), draw.lognormal(0, 0.5, size)


@given(WORLDS)
def test_no_pair_is_better_than_the_best_mix_and_each_kind_has_a_pair_that_is_as_good(
    seed: int,
) -> None:
    regret = best_pairing(*a_world(seed)).regret
    assert regret == pytest.approx(regret.T)
    assert regret.min() > -1e-7
    assert regret.min(axis=1) == pytest.approx(np.zeros(len(regret)), abs=1e-7)


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
    """All like to run beside 0, and 1 needs it more than 2 does."""
    slowdowns = np.array([[1.0, 1.0, 1.0], [1.0, 3.0, 3.0], [1.0, 3.0, 1.2]])
    regret = best_pairing(slowdowns, np.full(3, 1 / 3), np.ones(3)).regret
    assert regret[0, 1] < regret[0, 2]
    prices = shadow_prices(slowdowns, np.full(3, 1 / 3))
    costs = cost_of_pairs(slowdowns) - prices[None, :]
    assert costs[2, 2] < costs[2, 0]
    assert costs[1, 0] < costs[1, 2]


def test_a_kind_that_suffers_more_than_at_random_gets_weight_until_it_does_not() -> None:
    fairness = Fairness(np.array([2.0, 2.0]))
    for _ in range(3):
        fairness.ended(0, 3.0)
        fairness.ended(1, 1.5)
    assert fairness.weights[0] == pytest.approx(0.45)
    assert fairness.weights[1] == 0.0
    excess = fairness.excess(np.array([[3.0, 1.0], [3.0, 1.0]]))
    assert excess[0, 0] > 0 > excess[0, 1]
    assert not excess[1].any()
    for _ in range(100):
        fairness.ended(0, 1.0)
    assert fairness.weights[0] == 0.0
    fairness.ended(0, 1e9)
    assert fairness.weights[0] == 3.0


def test_weights_stay_with_their_places_when_kinds_are_added() -> None:
    fairness = Fairness(np.array([2.0]))
    fairness.ended(0, 4.0)
    fairness.renew(np.array([2.0, 3.0]))
    assert fairness.weights.tolist() == pytest.approx([0.3, 0.0])
