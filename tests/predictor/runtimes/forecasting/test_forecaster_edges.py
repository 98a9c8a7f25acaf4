"""Forecasts: runs submitted twice, states restored late, priors, and runs that still run."""

from __future__ import annotations

import numpy as np
import pytest

from plimsoll_predictor.runtimes.forecasting import memory as module
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.runtimes.forecasting.grid import EDGES_S, N_BINS, FloatArray
from plimsoll_predictor.runtimes.forecasting.mixture import Mixture, parent_experts
from plimsoll_predictor.runtimes.forecasting.pasts import OwnerPast, TaskPast
from plimsoll_predictor.runtimes.forecasting.settings import MAX_SURVIVORS, SETTINGS
from plimsoll_predictor.runtimes.forecasting.shared import N_AGES
from tests.builders.runtimes.forecasters import GAP_S, OWNER, START_S, TASK, a_forecaster

TASK_EXPERTS = len(SETTINGS.task_half_lives)
OWNER_EXPERTS = len(SETTINGS.owner_half_lives)


def state_of(forecaster: Forecaster) -> tuple[bytes | None, bytes]:
    return forecaster.state.task(TASK), forecaster.state.shared()


def test_a_run_that_is_submitted_twice_is_open_once() -> None:
    once, twice = a_forecaster([60.0] * 5), a_forecaster([60.0] * 5)
    at_s = START_S + 10 * GAP_S
    twice.submit("run", TASK, OWNER, at_s)
    for each in (once, twice):
        each.submit("run", TASK, OWNER, at_s)
        each.submit("beside", TASK, OWNER, at_s + 1)
        each.finish("run", 60.0, at_s + 60)
        each.finish("beside", 70.0, at_s + 71)
    assert state_of(twice) == state_of(once)


@pytest.mark.parametrize("learning", ["finish", "learn"])
def test_a_run_that_ended_is_what_the_next_ones_age_is_counted_from(learning: str) -> None:
    forecaster = a_forecaster([60.0] * 5)
    at_s = START_S + 1000 * GAP_S
    if learning == "finish":
        forecaster.submit("run", TASK, OWNER, at_s - 60)
        forecaster.finish("run", 60.0, at_s)
    else:
        forecaster.learn(TASK, OWNER, 60.0, at_s)
    soon = forecaster._submitted(TASK, OWNER, at_s + 1).context
    late = forecaster._submitted(TASK, OWNER, at_s + 100 * 86400).context
    assert soon != late


@pytest.mark.parametrize("ahead_s", [2 * 86400, 80 * 365 * 86400])
def test_a_clock_that_was_ahead_is_forgotten_with_the_next_run(ahead_s: float) -> None:
    """Daily runs; the clock of one was ahead."""
    forecaster, at_s = a_forecaster([60.0] * 5), START_S + 100 * 86400
    forecaster.learn(TASK, OWNER, 60.0, at_s + ahead_s)
    forecaster.learn(TASK, OWNER, 60.0, at_s)
    owner = forecaster._memory.owners[OWNER]
    assert forecaster._memory.tasks[TASK].last_finish_s == owner.last_finish_s == at_s
    assert forecaster._submitted(TASK, OWNER, at_s + 2 * 86400).context[1] == N_AGES - 1


def test_runs_that_are_told_a_little_out_of_order_change_no_time() -> None:
    forecaster, at_s = a_forecaster([60.0] * 5), START_S + 100 * 86400
    forecaster.learn(TASK, OWNER, 60.0, at_s)
    forecaster.learn(TASK, OWNER, 60.0, at_s - 3600)
    assert forecaster._memory.tasks[TASK].last_finish_s == at_s


def test_a_state_that_is_restored_late_leaves_the_tasks_runs_open() -> None:
    steady = a_forecaster([60.0] * 5)
    again = Forecaster()
    again.state.restore_shared(steady.state.shared())
    owner, task = steady.state.owner(OWNER), steady.state.task(TASK)
    assert owner is not None
    assert task is not None
    again.state.restore_owner(OWNER, owner)
    at_s = START_S + 10 * GAP_S
    steady.submit("run", TASK, OWNER, at_s)
    run_state = steady.state.run("run")
    assert run_state is not None
    again.state.restore_run("run", run_state)
    again.state.restore_task(TASK, task)
    for each in (steady, again):
        each.start("run", at_s)
        each.submit("beside", TASK, OWNER, at_s + 30)
        each.finish("run", 600.0, at_s + 600)
        each.finish("beside", 600.0, at_s + 630)
    assert state_of(again) == state_of(steady)


def test_of_too_many_tasks_the_one_that_ran_longest_ago_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_TASKS", 2)
    forecaster = Forecaster()
    for task in ("first", "second", "first", "third"):
        forecaster.learn(task, OWNER, 60.0, START_S)
    assert forecaster.state.task("second") is None
    assert forecaster.state.task("first") is not None
    assert forecaster.state.task("third") is not None


def peaked(at: int) -> FloatArray:
    density = np.zeros(N_BINS, dtype=np.float32)
    density[at] = 1.0
    return density


def test_an_owners_experts_weigh_what_they_earned_over_twenty_runs_of_their_contexts() -> None:
    owner = OwnerPast(OWNER_EXPERTS)
    owner.count(peaked(10), 1.0, np.ones(OWNER_EXPERTS))
    owner.credit = np.array([0.0] * OWNER_EXPERTS + [20.0])
    context = np.full(OWNER_EXPERTS + 1, 1.0 / (OWNER_EXPERTS + 1))
    experts, mixed = parent_experts(owner, peaked(20), context, SETTINGS)
    # Twenty runs' worth of the context, and twenty of credit, all of it for everybody's expert.
    everybody = (20 / (OWNER_EXPERTS + 1) + 20) / 40
    assert experts.weights[-1] == pytest.approx(everybody)
    own = (1 - everybody) / 1.3
    assert mixed[10] == pytest.approx(own, rel=1e-5)
    assert mixed[20] == pytest.approx(1 - own, rel=1e-5)


def a_task(running: int, since_s: float = 0.0) -> TaskPast:
    """Half its runs took as long as bin 20, half as bin 60; ``running`` run since ``since_s``."""
    past = TaskPast(TASK_EXPERTS)
    for place in range(20):
        bump = peaked(20 if place % 2 else 60)
        past.learn(float(EDGES_S[20 if place % 2 else 60]), bump, 1.0, np.ones(TASK_EXPERTS))
    for place in range(running):
        past.started(f"run-{place}", since_s)
    return past


def slow_of(running: int) -> float:
    """The count of bin 60 in the slowest expert, once runs have outlived bin 20."""
    parent = np.full(N_BINS, 1.0 / N_BINS, dtype=np.float32)
    context = np.full(TASK_EXPERTS, 1.0 / TASK_EXPERTS)
    at_s = float(EDGES_S[40]) * 1.01
    experts = Mixture(SETTINGS).task_experts(a_task(running), parent, context, at_s)
    assert experts.counted is not None
    return float(experts.counted[-1][60])


def test_runs_that_go_on_count_as_their_number_to_three_quarters() -> None:
    none, one, sixteen = slow_of(0), slow_of(1), slow_of(16)
    assert (sixteen - none) / (one - none) == pytest.approx(16**0.75, rel=1e-4)


def test_of_many_runs_that_go_on_the_longest_running_are_looked_at() -> None:
    past = TaskPast(TASK_EXPERTS)
    for place in reversed(range(MAX_SURVIVORS + 6)):
        past.started(f"run-{place}", START_S + place)
    assert past.starts().tolist() == [START_S + place for place in range(64)]
