from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plimsoll_predictor.placing.chance import random_slowdowns, times_by_chance
from plimsoll_predictor.placing.policies.simple import LeastLoaded
from plimsoll_predictor.replay.placing.knowing import Truth
from plimsoll_predictor.replay.placing.playing import Chooser, Stage, play
from plimsoll_predictor.replay.placing.world import Job, World


@pytest.mark.slow
@given(st.integers(0, 10_000))
@example(356)
def test_each_kind_does_its_share_of_the_work(seed: int) -> None:
    draw = np.random.default_rng(seed)
    slowdowns = np.exp(draw.gamma(1.0, 0.5, (7, 7)))
    shares, work = draw.dirichlet(np.ones(7)) + 1e-3, draw.lognormal(0, 1, 7)
    shares = shares / shares.sum()
    times = times_by_chance(slowdowns, shares, work)
    assert times == pytest.approx(times.T)
    assert (times / slowdowns).sum(axis=1) == pytest.approx(shares * work, rel=1e-9)


@pytest.mark.slow
def test_it_is_what_a_queue_without_an_order_comes_to() -> None:
    """Two kinds that slow each other to a fifth meet for longer than any others."""
    slowdowns = np.array([[1.1, 5.0, 1.0], [4.0, 1.2, 1.0], [1.1, 1.3, 1.05]])
    shares, work = np.full(3, 1 / 3), np.ones(3)
    draw = random.Random(0)
    jobs = [Job(draw.randrange(3)) for _ in range(10_000)]
    world = World("three", ("a", "b", "c"), work, slowdowns)
    played = play(world, jobs, Chooser(LeastLoaded(), Truth(world, shares)), Stage(20))
    kinds = np.array([job.kind for job in jobs])
    found = [played.slowdowns[kinds == kind].mean() for kind in range(3)]
    assert found == pytest.approx(random_slowdowns(slowdowns, shares, work), rel=0.03)


def test_a_kind_that_never_ran_is_told_what_it_would_meet() -> None:
    slowdowns = np.array([[1.0, 2.0], [3.0, 1.5]])
    found = random_slowdowns(slowdowns, np.array([0.0, 1.0]), np.ones(2))
    assert found == pytest.approx([2.0, 1.5], rel=1e-3)
