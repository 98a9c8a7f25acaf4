"""Which steps of a plan decide when it ends."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plimsoll_predictor.runtimes.forecasting.deciding_branch import DecidingBranch, deciding_branch
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.grid import N_BINS, bin_of
from plimsoll_predictor.runtimes.forecasting.plan import Plan, Step


def around(*runtimes_s: float) -> Forecast:
    """A forecast of these runtimes, equally likely."""
    masses = np.zeros(N_BINS)
    for each in runtimes_s:
        masses[bin_of(math.log(each))] += 1 / len(runtimes_s)
    return Forecast(masses, 50, float(np.median(runtimes_s)))


FORECASTS = {"short": around(60.0), "long": around(600.0), "either": around(60.0, 6000.0)}


def decided(*steps: Step) -> DecidingBranch:
    return deciding_branch(Plan(steps), FORECASTS, seed=1)


def shares(branch: DecidingBranch) -> dict[str, float]:
    return {each.name: each.share for each in (*branch.steps, *branch.others)}


def a_fork(left: str, right: str) -> tuple[Step, ...]:
    return (
        Step(name="begin", task="short"),
        Step(name="left", task=left, after=("begin",)),
        Step(name="right", task=right, after=("begin",)),
        Step(name="end", task="short", after=("left", "right")),
    )


def test_the_longer_of_two_branches_always_decides() -> None:
    branch = decided(*a_fork("short", "long"))
    assert [each.name for each in branch.steps] == ["begin", "right", "end"]
    assert shares(branch) == {"begin": 1.0, "right": 1.0, "end": 1.0}


def test_branches_that_are_alike_decide_about_equally_often() -> None:
    branch = decided(*a_fork("long", "long"))
    assert shares(branch)["left"] + shares(branch)["right"] == pytest.approx(1.0)
    assert shares(branch)["left"] == pytest.approx(0.5, abs=0.06)
    assert len(branch.steps) == 3
    assert len(branch.others) == 1


def test_a_step_that_is_seldom_long_decides_as_often_as_it_is_long() -> None:
    branch = decided(*a_fork("either", "long"))
    assert shares(branch)["left"] == pytest.approx(0.5, abs=0.06)


def test_ends_that_nothing_waits_for_compete_for_being_last() -> None:
    branch = decided(Step(name="a", task="short"), Step(name="b", task="long"))
    assert [each.name for each in branch.steps] == ["b"]
    assert branch.others == ()


def test_a_step_that_ended_holds_nothing_back() -> None:
    steps = (
        Step(name="begin", task="gone", ended=True),
        Step(name="end", task="short", after=("begin",)),
    )
    assert [each.name for each in decided(*steps).steps] == ["end"]


def test_a_plan_that_has_ended_has_no_branch() -> None:
    branch = decided(Step(name="begin", task="gone", ended=True))
    assert (branch.steps, branch.others) == ((), ())


def test_what_a_step_has_run_already_is_taken_off() -> None:
    running = decided(Step(name="a", task="long", elapsed_s=500.0))
    assert 0 < running.steps[0].left_p50_s < 200


def test_a_wait_counts_for_the_step_that_waits() -> None:
    fork = a_fork("short", "short")
    waits = Step(name="left", task="short", after=("begin",), wait_s=3600.0)
    branch = decided(fork[0], waits, *fork[2:])
    assert shares(branch)["left"] == 1.0


def test_the_same_seed_gives_the_same_answer() -> None:
    assert decided(*a_fork("either", "long")) == decided(*a_fork("either", "long"))
