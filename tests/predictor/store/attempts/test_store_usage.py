"""What tasks asked for and used, read back from the store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.core.cpu import MIN_RUNTIME_S, WINDOW_RUNS, RunCpu
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.store import Store
from tests.builders.older_stores import insert, make_store_of
from tests.builders.stores import JOIN, TRAIN, a_run, an_attempt, open_store_at


@pytest.mark.slow
def test_an_attempt_keeps_what_it_asked_for_and_used_of_the_cpu(store_url: str) -> None:
    store = open_store_at(store_url)
    store.observations.record([a_run(1)])
    assert store.observations.of_task(TRAIN) == [a_run(1)]
    store.close()


def test_the_cpu_of_runs_is_the_mean_over_their_time(store_url: str) -> None:
    store = open_store_at(store_url)
    store.observations.record([a_run(1), replace(a_run(2), cpu_s=7200.0, peak_cores=None)])
    assert store.observations.run_cpus([TRAIN])[TRAIN] == [RunCpu(2.0, None), RunCpu(0.5, 0.9)]
    assert store.observations.run_cpus([JOIN])[JOIN] == []
    store.close()


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(a_run(1, cpu_s=None), id="not measured"),
        pytest.param(a_run(1, runtime_s=MIN_RUNTIME_S - 1), id="too short to tell"),
        pytest.param(a_run(1, runtime_s=-5.0), id="a clock that jumped back"),
        pytest.param(replace(a_run(1), outcome=Outcome.OOM_KILLED), id="killed"),
        pytest.param(replace(a_run(1), outcome=Outcome.FAILED), id="failed"),
        pytest.param(replace(a_run(1), started_s=None), id="no start"),
    ],
)
def test_a_run_that_tells_nothing_is_passed_over(store_url: str, run: Observation) -> None:
    store = open_store_at(store_url)
    store.observations.record([run, a_run(2)])
    assert store.observations.run_cpus([TRAIN])[TRAIN] == [RunCpu(0.5, 0.9)]
    store.close()


def test_only_the_newest_runs_are_looked_at_in_whatever_order_they_came(store_url: str) -> None:
    store = open_store_at(store_url)
    places = range(WINDOW_RUNS + 10)
    store.observations.record([a_run(place, cpu_s=3600.0 * place) for place in reversed(places)])
    newest = [run.mean_cores for run in store.observations.run_cpus([TRAIN])[TRAIN]]
    assert newest == [float(place) for place in reversed(places)][:WINDOW_RUNS]
    store.close()
    again = open_store_at(store_url)
    assert [run.mean_cores for run in again.observations.run_cpus([TRAIN])[TRAIN]] == newest
    again.close()


def test_each_tasks_use_is_summed_over_its_runs(store_url: str) -> None:
    store = open_store_at(store_url)
    bigger = replace(a_run(2), cpu_s=3600.0, peak_bytes=700_000_000, peak_cores=1.5)
    killed = replace(a_run(3), outcome=Outcome.OOM_KILLED)
    other = replace(an_attempt("uid-9").of(JOIN).built, request_cores=2.0)
    store.observations.record([a_run(1), bigger, killed, other])
    joined, trained = store.totals.task_uses()
    assert (joined.task, joined.runs, joined.used_cores, joined.most_cores) == (
        str(JOIN),
        1,
        None,
        None,
    )
    assert (trained.task, trained.runs, trained.runtime_s) == (str(TRAIN), 2, 3600.0)
    assert (trained.request_bytes, trained.used_bytes, trained.most_bytes) == (
        4 * GIB,
        600_000_000,
        700_000_000,
    )
    assert (trained.request_cores, trained.used_cores, trained.most_cores) == (4.0, 0.75, 1.5)
    store.close()


@pytest.mark.slow
def test_a_store_from_before_keeps_its_attempts_and_learns_of_cpu(empty_url: str) -> None:
    make_store_of("0001", empty_url)
    old_row = {"attempt_uid": "old", "task": "shop/train-demand", "run": "r", "attempt": 1}
    old_row |= {"ordered_s": 100, "outcome": "succeeded", "features": "{}", "neighbours": "[]"}
    old_row |= {"peak_bytes": 5, "cpu_s": 50, "started_s": 100, "finished_s": 200}
    insert(empty_url, "observations", [old_row])
    store = Store.open(empty_url)
    (old,) = store.observations.of_task(TRAIN)
    assert (old.attempt_uid, old.cpu_s, old.request_cores, old.peak_cores) == (
        "old",
        50.0,
        None,
        None,
    )
    assert store.observations.run_cpus([TRAIN])[TRAIN] == [RunCpu(0.5, None)]
    store.observations.record([a_run(1)])
    assert len(store.observations.of_task(TRAIN)) == 2
    store.close()
