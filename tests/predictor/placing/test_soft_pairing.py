from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.placing import soft_pairing
from plimsoll_predictor.placing.chance import random_slowdowns
from plimsoll_predictor.placing.pairing import best_pairing
from plimsoll_predictor.placing.soft_pairing import MOST_EXCESS, SOFTNESS, fair_regret


def a_world(seed: int, size: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    slowdowns = np.exp(draw.gamma(1.0, 0.3, (size, size)))
    shares = draw.dirichlet(np.ones(size)) + 0.02
    return slowdowns, shares / shares.sum(), draw.lognormal(0, 0.5, size)


def the_mix(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Times of pairs, and of kinds by chance."""
    program = soft_pairing._Program.of(*a_world(seed), MOST_EXCESS)
    at = np.concatenate([program.by_chance / program.work, 0.1 / program.work])
    for softness in (0.8, 0.4, 0.2, 0.1, SOFTNESS):
        at = program.solved(at, softness, soft_pairing.EXACT)
    times = program.times(at, SOFTNESS)
    assert (times * program.paces).sum(axis=1) == pytest.approx(program.needed, rel=0.02)
    return times, program.chance.sum(axis=1)


@pytest.mark.parametrize("seed", range(12))
def test_all_work_is_done_and_no_kind_is_slowed_beyond_its_bound(seed: int) -> None:
    times, by_chance = the_mix(seed)
    assert (times.sum(axis=1) / by_chance).max() <= 1 + MOST_EXCESS + 0.005


@pytest.mark.parametrize("seed", range(12))
def test_it_lies_between_chance_and_the_best_fair_mix(seed: int) -> None:
    slowdowns, shares, work = a_world(seed)
    chance = random_slowdowns(slowdowns, shares, work)
    times, _ = the_mix(seed)
    mean = float((times.sum(axis=1) / (work / float(shares @ work))).sum())
    best = best_pairing(slowdowns, shares, work, (1 + MOST_EXCESS) * chance).mean_slowdown
    assert best * 0.995 <= mean <= float(shares @ chance)


@pytest.mark.slow
@given(st.integers(0, 10_000))
def test_regrets_are_mutual_and_nothing_is_below_zero(seed: int) -> None:
    regret = fair_regret(*a_world(seed))
    assert np.isfinite(regret).all()
    assert (regret == regret.T).all()
    assert regret.min() == 0.0


def test_the_same_input_gives_the_same_answer_in_any_unit() -> None:
    slowdowns, shares, work = a_world(3)
    assert (fair_regret(slowdowns, shares, work) == fair_regret(slowdowns, shares, work)).all()
    assert fair_regret(slowdowns, shares, 3600 * work) == pytest.approx(
        fair_regret(slowdowns, shares, work)
    )


def test_who_suffers_from_one_alone_is_kept_from_it() -> None:
    """1 gains most beside 0, which suffers only from 1."""
    slowdowns = np.array([[1.0, 1.5, 1.0], [1.0, 3.0, 2.8], [1.0, 2.8, 2.8]])
    shares, work = np.full(3, 1 / 3), np.ones(3)
    free = best_pairing(slowdowns, shares, work).regret
    fair = fair_regret(slowdowns, shares, work)
    assert fair[0, 1] - fair[0, 2] > free[0, 1] - free[0, 2]


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
def test_fifty_kinds_whose_work_is_far_apart_take_milliseconds(spread: float) -> None:
    """Some 20 ms on one processor; once in 25 runs, so a run costs less than one."""
    draw = np.random.default_rng(5)
    slowdowns = np.exp(np.clip(draw.gamma(0.5, 0.6, (51, 51)) - 0.05, -0.3, 3.0))
    shares, work = draw.dirichlet(np.full(51, 0.3)), draw.lognormal(0, spread, 51)
    began_s = time.process_time()
    regret = fair_regret(slowdowns, shares, work)
    assert np.isfinite(regret).all()
    assert time.process_time() - began_s < 2.0


@pytest.mark.parametrize("size", [1, 2])
def test_one_or_two_kinds_have_an_order_too(size: int) -> None:
    assert fair_regret(np.full((size, size), 1.5), np.full(size, 1 / size), np.ones(size)).shape


def test_who_may_be_slowed_more_is_paired_with_those_whom_it_slows_least() -> None:
    """Two kinds that compute, and two that hardly compute and are slowed a little by them."""
    slowdowns = np.array(
        [
            [2.2, 2.4, 1.26, 1.08],
            [1.8, 2.0, 1.17, 1.0],
            [1.23, 1.25, 1.08, 1.02],
            [1.15, 1.14, 1.07, 1.0],
        ]
    )
    shares, work = np.full(4, 0.25), np.ones(4)
    fair = fair_regret(slowdowns, shares, work)
    free = fair_regret(slowdowns, shares, work, most_excess=0.2)
    assert fair[2, 2] < fair[0, 2], "beside each other, as few as may be are slowed by who computes"
    assert free[2, 2] > free[0, 2]
    assert free[:2, :2].min() > 10 * free[:2, 2:].max()
    assert fair[:2, :2].min() < 0.1
