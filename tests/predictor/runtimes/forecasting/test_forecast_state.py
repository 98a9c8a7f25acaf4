"""The forecaster's state: small, bounded, and the same after a restart at any moment."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.runtimes.forecasting.forecast import QUANTILES
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.runtimes.forecasting.grid import Bumps
from plimsoll_predictor.runtimes.forecasting.settings import MAX_OWNERS, SETTINGS, Settings
from plimsoll_predictor.runtimes.forecasting.states import States
from plimsoll_predictor.runtimes.forecasting.task_past import TaskPast
from tests.builders.forecasters import OWNER, START_S, TASK, a_forecaster, around

MOST_BYTES_PER_TASK = 4096
MOST_US = 50.0
NOISE = 2.0
MANY_RUNS = 20_000
"""The machine that tests runs other things beside them."""
NO_STATE = r"forecasts|array|count|rise"
TASKS = tuple(f"shop/t{number}" for number in range(5))
OWNERS = ("shop", "bank")
LATER_S = START_S + 1e8


@dataclass(frozen=True)
class Happening:
    """One thing that happens to a run."""

    kind: str
    run: str
    task: str
    runtime_s: float
    at_s: float


def happenings(seed: int, count: int) -> Iterator[Happening]:
    """Bursts of runs, some waiting, some killed, some never ending."""
    random = np.random.default_rng(seed)
    flying: list[tuple[str, str]] = []
    at_s = START_S
    for number in range(count):
        at_s += float(random.exponential(300.0)) if random.random() < 0.3 else 0.0
        task = TASKS[int(random.integers(len(TASKS)))]
        run = f"r{number}"
        yield Happening("submit", run, task, 0.0, at_s)
        if random.random() < 0.8:
            yield Happening("start", run, task, 0.0, at_s + 5)
        flying.append((run, task))
        while flying and random.random() < 0.5:
            ended, its_task = flying.pop(int(random.integers(len(flying))))
            kind = "finish" if random.random() < 0.9 else "drop"
            yield Happening(kind, ended, its_task, float(np.exp(random.uniform(0, 9))), at_s)


def let_happen(forecaster: Forecaster, each: Happening) -> list[float]:
    """What the forecaster says to it."""
    owner = OWNERS[TASKS.index(each.task) % 2]
    if each.kind == "submit":
        given_s = forecaster.submit(each.run, each.task, owner, each.at_s).quantiles_s(QUANTILES)
        return [float(quantile_s) for quantile_s in given_s]
    if each.kind == "start":
        forecaster.start(each.run, each.at_s)
    elif each.kind == "drop":
        forecaster.drop(each.run)
    else:
        share = forecaster.finish(each.run, each.runtime_s, each.at_s)
        return [-1.0 if share is None else share]
    return []


def parts(forecaster: Forecaster) -> dict[str, bytes | None]:
    """All of the state."""
    return {
        "shared": forecaster.shared_state(),
        **{f"task {task}": forecaster.task_state(task) for task in TASKS},
        **{f"owner {owner}": forecaster.owner_state(owner) for owner in OWNERS},
        **{f"kept {run}": forecaster.kept_state(run) for run in forecaster.in_flight()},
    }


def restarted(forecaster: Forecaster) -> Forecaster:
    """Another that has taken up all of the state."""
    again = Forecaster()
    for task in TASKS:
        if (state := forecaster.task_state(task)) is not None:
            again.take_up_task(task, state)
    for owner in OWNERS:
        if (state := forecaster.owner_state(owner)) is not None:
            again.take_up_owner(owner, state)
    again.take_up_shared(forecaster.shared_state())
    for run in forecaster.in_flight():
        state = forecaster.kept_state(run)
        assert state is not None
        again.take_up_kept(run, state)
    return again


@pytest.mark.parametrize("seed", [1, 2])
def test_after_a_restart_anywhere_all_forecasts_are_the_same_to_the_bit(seed: int) -> None:
    steady, restarting = Forecaster(), Forecaster()
    for number, each in enumerate(happenings(seed, 600)):
        if number % 97 == 50:
            restarting = restarted(restarting)
        assert let_happen(steady, each) == let_happen(restarting, each)
    assert parts(steady) == parts(restarting)
    assert len(steady.in_flight()) > 5


def test_the_same_events_give_the_same_bytes() -> None:
    first, second = Forecaster(), Forecaster()
    for each in happenings(3, 300):
        let_happen(first, each)
        let_happen(second, each)
    assert parts(first) == parts(second)


@given(st.lists(st.floats(0.0, 1e7), max_size=120))
def test_a_tasks_state_is_read_back_exactly_and_is_small(runtimes_s: list[float]) -> None:
    forecaster = Forecaster()
    for runtime_s in runtimes_s:
        forecaster.learn(TASK, OWNER, runtime_s, START_S)
    state = forecaster.task_state(TASK)
    if state is None:
        assert not runtimes_s
        return
    assert len(state) <= MOST_BYTES_PER_TASK
    again = Forecaster()
    again.take_up_task(TASK, state)
    assert again.task_state(TASK) == state


def test_only_what_changed_needs_to_be_saved() -> None:
    forecaster = Forecaster()
    for each in happenings(4, 300):
        let_happen(forecaster, each)
    forecaster.take_changes()
    saved = parts(forecaster)
    for each in happenings(5, 40):
        let_happen(forecaster, each)
    changes = forecaster.take_changes()
    for task in changes.tasks:
        saved[f"task {task}"] = forecaster.task_state(task)
    for owner in changes.owners:
        saved[f"owner {owner}"] = forecaster.owner_state(owner)
    for run in changes.kept:
        saved[f"kept {run}"] = forecaster.kept_state(run)
    for run in changes.gone:
        saved.pop(f"kept {run}", None)
    assert changes.shared
    saved["shared"] = forecaster.shared_state()
    assert saved == parts(forecaster)


def test_a_tasks_state_is_as_large_after_many_runs_as_after_a_thousand() -> None:
    random = np.random.default_rng(9)
    runtimes_s = np.exp(random.normal(6.0, 2.0, 10_000)).clip(1.0)
    rows = [Bumps(SETTINGS.task_spread).at(math.log(runtime_s)) for runtime_s in runtimes_s]
    keep = np.array([0.5, 0.84, 0.97, 1.0])
    past = TaskPast(len(keep))
    sizes = []
    for number in range(MANY_RUNS):
        at = number % 10_000
        past.learn(float(runtimes_s[at]), rows[at], 1.0, keep)
        if number + 1 in (1_000, MANY_RUNS):
            sizes.append(len(States(SETTINGS).task(past)))
    assert past.runs == MANY_RUNS
    assert sizes[1] <= 1.3 * sizes[0] <= MOST_BYTES_PER_TASK
    assert past.usual_s == pytest.approx(float(np.median(runtimes_s)), rel=0.25)
    assert float(past.counts[-1].sum()) == pytest.approx(MANY_RUNS, rel=0.05)


@pytest.mark.slow
def test_a_hundred_thousand_tasks_take_less_than_a_gigabyte() -> None:
    assert MAX_OWNERS * 5 <= 100_000
    tasks, forecaster = 100, Forecaster()
    runtimes_s = around(1000.0, 1.5, 70)
    forecaster.learn("shop/first", OWNER, 10.0, START_S)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for task in range(tasks):
            for runtime_s in runtimes_s:
                forecaster.learn(f"shop/task-{task}", f"owner-{task // 5}", runtime_s, START_S)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0 < (after - before) / tasks * 100_000 < 1e9


@pytest.mark.parametrize("in_flight", [0, 3, 100])
def test_a_forecast_takes_no_longer_than_fifty_microseconds(in_flight: int) -> None:
    forecaster = a_forecaster(around(1000.0, 1.0, 200))
    for number in range(in_flight):
        forecaster.submit(str(number), TASK, OWNER, LATER_S + number)
        forecaster.start(str(number), LATER_S + number)

    def one() -> None:
        forecaster.forecast(TASK, OWNER, LATER_S + 500).quantiles_s(QUANTILES)

    assert fastest_us(one) < MOST_US * NOISE


def fastest_us(call: Callable[[], None]) -> float:
    """Processor time of a call in the quickest of many batches."""
    found = []
    for _ in range(60):
        before_s = time.thread_time()
        for _ in range(50):
            call()
        found.append((time.thread_time() - before_s) / 50 * 1e6)
    return min(found)


def damaged_states() -> Iterator[bytes]:
    state = a_forecaster([100.0]).task_state(TASK)
    assert state is not None
    yield b""
    yield b"{}"
    yield state[:-9]
    yield zlib.compress(b"\0" * 5_000_000)
    plain = zlib.decompress(state)
    yield zlib.compress(plain + b"more")
    yield zlib.compress(plain[:-4])
    yield zlib.compress(plain.replace(b'"runs":1', b'"runs":-1'))
    yield zlib.compress(plain.replace(b'"kind":"task"', b'"kind":"toad"'))
    yield zlib.compress(plain.replace(b"<f4", b"|O8"))
    yield zlib.compress(json.dumps({"runs": 1}).encode())


@pytest.mark.parametrize("state", list(damaged_states()))
def test_what_is_no_state_is_refused_and_changes_nothing(state: bytes) -> None:
    forecaster = a_forecaster(around(100.0, 0.2, 20))
    forecaster.submit("run", TASK, OWNER, LATER_S)
    before = (forecaster.task_state(TASK), forecaster.shared_state(), forecaster.in_flight())
    taking_up: tuple[Callable[[], None], ...] = (
        lambda: forecaster.take_up_task(TASK, state),
        lambda: forecaster.take_up_owner(OWNER, state),
        lambda: forecaster.take_up_shared(state),
        lambda: forecaster.take_up_kept("other", state),
    )
    for take_up in taking_up:
        with pytest.raises(ValueError, match=NO_STATE):
            take_up()
    after = (forecaster.task_state(TASK), forecaster.shared_state(), forecaster.in_flight())
    assert after == before


def test_a_state_of_other_experts_is_refused() -> None:
    other = Settings(task_half_lives=(2.0, 8.0, 64.0, None))
    state = a_forecaster([100.0]).task_state(TASK)
    assert state is not None
    with pytest.raises(ValueError, match="learn again"):
        Forecaster(other).take_up_task(TASK, state)


def test_a_task_that_was_only_submitted_has_no_state() -> None:
    forecaster = Forecaster()
    forecaster.submit("run", TASK, OWNER, START_S)
    assert forecaster.task_state(TASK) is None
    assert forecaster.kept_state("another") is None
    assert forecaster.owner_state(OWNER) is None
