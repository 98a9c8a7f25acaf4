"""Runs' times in the store: their sightings, the forecaster's state, and the past."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.runtimes.forecasting.settings import MAX_OPEN_S
from plimsoll_predictor.store import (
    ForecastScore,
    NewSighting,
    OpenForecast,
    Sighting,
    SightingKind,
    Store,
    UnsavedRuntimes,
)
from plimsoll_predictor.store.attempts import sightings
from plimsoll_predictor.store.pruning import Bounds
from plimsoll_predictor.tables.cells import BadRow
from plimsoll_predictor.tables.history import read_history, write_history
from tests.builders.older_stores import insert, make_store_of
from tests.builders.stores import JOIN, NOON_S, TRAIN, an_attempt, open_store_at


def a_run(
    uid: str, runtime_s: float = 60.0, *, task: TaskId = TRAIN, at_s: float = NOON_S
) -> Observation:
    return an_attempt(uid).of(task).running(at_s, at_s + runtime_s).built


def told(store: Store) -> list[tuple[str, SightingKind, float | None]]:
    """What has to be folded: uid, kind, runtime."""
    return [(each.attempt_uid, each.kind, each.runtime_s) for each in store.runtimes.sightings(0)]


def test_a_run_that_succeeds_is_told_once_with_its_runtime(store_url: str) -> None:
    store = open_store_at(store_url)
    store.observations.record([a_run("a", 60.0)])
    store.observations.record([a_run("a", 60.0), replace(a_run("a", 60.0), peak_bytes=9)])
    assert told(store) == [("a", SightingKind.FINISHED, 60.0)]
    store.close()


@pytest.mark.parametrize(
    "observation",
    [
        pytest.param(an_attempt("a").ending(Outcome.OOM_KILLED).built, id="killed"),
        pytest.param(an_attempt("a").ending(Outcome.FAILED).built, id="failed"),
        pytest.param(an_attempt("a").ending(Outcome.DELETED).built, id="deleted"),
        pytest.param(an_attempt("a").running(None, NOON_S).built, id="no start"),
        pytest.param(an_attempt("a").running(NOON_S, NOON_S - 1).built, id="a clock set back"),
    ],
)
def test_an_end_without_a_runtime_is_told_as_such(tmp_path: Path, observation: Observation) -> None:
    store = open_store_at(str(tmp_path / "store.db"))
    store.observations.record([observation])
    assert told(store) == [("a", SightingKind.GONE, None)]
    store.close()


def test_a_deleted_pod_that_turns_out_to_have_succeeded_is_told_then(store_url: str) -> None:
    store = open_store_at(store_url)
    store.observations.record([replace(a_run("a"), outcome=Outcome.DELETED, finished_s=None)])
    store.observations.record([replace(a_run("a", 60.0), started_s=None)])
    assert told(store) == [("a", SightingKind.GONE, None), ("a", SightingKind.FINISHED, 60.0)]
    store.close()


def test_runs_that_are_recorded_together_are_told_in_the_order_of_their_ends(
    store_url: str,
) -> None:
    store = open_store_at(store_url)
    store.observations.record(
        [a_run("late", at_s=NOON_S + 9), a_run("first"), a_run("mid", at_s=NOON_S + 5)]
    )
    assert [uid for uid, _, _ in told(store)] == ["first", "mid", "late"]
    store.close()


def test_what_is_imported_is_told_too(store_url: str) -> None:
    store = open_store_at(store_url)
    store.observations.record_history([a_run("a"), a_run("b", task=JOIN)])
    assert {(each.task, each.kind) for each in store.runtimes.sightings(0)} == {
        (TRAIN, SightingKind.FINISHED),
        (JOIN, SightingKind.FINISHED),
    }
    store.close()


@pytest.mark.parametrize(
    ("newer", "runtime_s", "teaches"),
    [
        pytest.param(16, 60.0, False, id="enough newer runs are known"),
        pytest.param(15, 60.0, True, id="fewer are known"),
        pytest.param(4, 10.0, False, id="four newer ones ran clearly longer"),
        pytest.param(4, 360.0, False, id="four newer ones ran clearly shorter"),
        pytest.param(3, 10.0, True, id="three did"),
    ],
)
def test_a_runtime_imported_late_is_told_only_if_not_much_newer_is_known(
    store_url: str, newer: int, runtime_s: float, teaches: bool
) -> None:
    store = open_store_at(store_url)
    store.observations.record([a_run(f"new-{n}", at_s=NOON_S + n) for n in range(newer)])
    store.observations.record_history([a_run("old", runtime_s, at_s=NOON_S - 9999)])
    old = ("old", SightingKind.FINISHED, runtime_s) if teaches else ("old", SightingKind.GONE, None)
    assert told(store)[-1] == old
    store.close()


def test_to_begin_anew_may_take_longer_than_other_writes(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store_at(store_url)
    bounds_s: list[str] = []

    def note_the_bound(connection: sa.Connection, _per_task: int) -> None:
        if connection.dialect.name == "postgresql":
            bounds_s.append(connection.exec_driver_sql("SHOW statement_timeout").scalar_one())

    monkeypatch.setattr(sightings, "repeat_newest", note_the_bound)
    store.runtimes.begin_anew()
    store.close()
    assert set(bounds_s) <= {"0"}, "no bound: it passes over all observations"


def test_sightings_are_read_on_from_a_serial_and_go_once_they_are_saved(store_url: str) -> None:
    store = open_store_at(store_url)
    store.keep(seen=[seen("a", SightingKind.SUBMITTED), seen("a", SightingKind.STARTED)])
    store.observations.record([a_run("a")])
    first, second, third = store.runtimes.sightings(0)
    assert store.runtimes.sightings(second.serial) == [third]
    assert store.runtimes.save(UnsavedRuntimes(through=second.serial), {0})
    assert store.runtimes.sightings(0) == [third]
    store.keep(seen=[seen("b", SightingKind.SUBMITTED)])
    assert store.runtimes.save(UnsavedRuntimes(through=third.serial + 1), {second.serial})
    store.keep(seen=[seen("c", SightingKind.SUBMITTED)])
    [left] = store.runtimes.sightings(third.serial + 1)
    assert (left.attempt_uid, left.serial > third.serial + 1) == ("c", True), "never given twice"
    assert first.serial < second.serial
    store.close()


def seen(uid: str, kind: SightingKind, at_s: float = NOON_S) -> NewSighting:
    return NewSighting(task=TRAIN, kind=kind, attempt_uid=uid, at_s=at_s)


def test_a_state_that_follows_another_ones_is_refused_whole(store_url: str) -> None:
    store = open_store_at(store_url)
    theirs = UnsavedRuntimes(through=7, tasks={str(TRAIN): b"theirs"})
    assert store.runtimes.save(theirs, {0})
    ours = UnsavedRuntimes(through=9, tasks={str(TRAIN): b"ours"}, shared=b"ours")
    assert not store.runtimes.save(ours, {0, 5})
    assert store.runtimes.through() == 7
    assert store.runtimes.task_states([str(TRAIN)]) == {str(TRAIN): b"theirs"}
    assert store.runtimes.shared_state() is None
    assert store.runtimes.save(ours, {7})
    assert store.runtimes.through() == 9
    store.close()


@pytest.mark.slow
def test_parts_are_saved_read_and_forgotten_by_name(store_url: str) -> None:
    store = open_store_at(store_url)
    records = store.runtimes
    names = {f"ns-{number}/t": bytes([number % 256]) for number in range(700)}
    saved = UnsavedRuntimes(through=1, tasks=names, owners={"shop": b"o"}, shared=b"s")
    assert records.save(saved, {0})
    assert records.task_states([*names, "never/seen"]) == names
    assert records.owner_states(["shop", "lab"]) == {"shop": b"o"}
    gone = dict.fromkeys(list(names)[:600])
    assert records.save(UnsavedRuntimes(through=2, tasks=gone, owners={"shop": None}), {1})
    assert len(records.task_states(list(names))) == 100
    assert records.owner_states(["shop"]) == {}
    assert records.shared_state() == b"s"
    store.close()


def a_kept(uid: str, submitted_s: float = NOON_S, started_s: float | None = None) -> OpenForecast:
    forecast = Forecaster().forecast(str(TRAIN), TRAIN.namespace, submitted_s)
    return OpenForecast(
        attempt_uid=uid,
        task=TRAIN,
        submitted_s=submitted_s,
        started_s=started_s,
        announced_s=None,
        forecast=forecast.to_dict(),
        state=b"kept",
    )


def test_what_was_forecast_of_runs_in_flight_goes_with_their_end(store_url: str) -> None:
    store, kept = open_store_at(store_url), [a_kept("b", NOON_S + 1), a_kept("a")]
    assert store.runtimes.save(UnsavedRuntimes(through=1, forecasts=kept), {0})
    assert store.runtimes.open_forecasts() == [kept[1], kept[0]], "the first submitted first"
    began = replace(kept[0], started_s=NOON_S + 9, announced_s=NOON_S + 99)
    changes = UnsavedRuntimes(through=2, forecasts=[began], ended=["a", "never"])
    assert store.runtimes.save(changes, {1})
    assert store.runtimes.open_forecasts() == [began]
    store.close()


def test_a_task_s_history_says_where_each_run_was_in_its_forecast(store_url: str) -> None:
    store = open_store_at(store_url)
    killed = an_attempt("k").ending(Outcome.OOM_KILLED).running(NOON_S + 5, NOON_S + 8).built
    newest = replace(a_run("b", 90.0, at_s=NOON_S + 50), node_type="n2", node="n-1")
    store.observations.record(
        [a_run("a", 60.0, at_s=NOON_S - 100), killed, newest, a_run("j", task=JOIN)]
    )
    store.runtimes.save(
        UnsavedRuntimes(
            through=4, scores={"b": ForecastScore(0.995, 88.0), "unknown": ForecastScore(0.5)}
        ),
        {0},
    )
    first, second, last = store.runtimes.history(TRAIN)
    assert [first.outcome, second.outcome] == [Outcome.SUCCEEDED, Outcome.OOM_KILLED]
    assert (first.ran_s, first.forecast_share) == (60.0, None)
    assert (last.ran_s, last.forecast_share, last.node_type) == (90.0, 0.995, "n2")
    assert [each.attempt_uid for each in store.runtimes.history(TRAIN, limit=1)] == ["b"]
    assert store.runtimes.newest(TRAIN, limit=9) == [60.0, 90.0], "a killed one has no runtime"
    store.close()


def test_the_other_tasks_of_an_owner_are_those_with_the_most_runs(store_url: str) -> None:
    store = open_store_at(store_url)
    strange = TaskId("shop", "100%_a")
    for task, runs in ((TRAIN, 1), (JOIN, 3), (strange, 2), (TaskId("shopping", "x"), 5)):
        store.observations.record([a_run(f"{task}-{number}", task=task) for number in range(runs)])
    found = store.runtimes.others(TRAIN, tasks=2)
    assert {task: len(runs) for task, runs in found.items()} == {JOIN: 3, strange: 2}
    assert list(store.runtimes.others(TRAIN, tasks=1)) == [JOIN]
    store.close()


@pytest.mark.slow
def test_an_older_store_tells_of_the_newest_runs_of_each_task(empty_url: str) -> None:
    make_store_of("0006", empty_url)
    rows = [
        {
            "attempt_uid": f"u{number}",
            "task": str(TRAIN),
            "run": f"r{number}",
            "attempt": 1,
            "ordered_s": NOON_S + number,
            "outcome": "failed" if number % 10 == 0 else "succeeded",
            "features": "{}",
            "neighbours": "[]",
            "started_s": NOON_S + number - 7.0,
            "finished_s": NOON_S + number,
        }
        for number in range(2_300)
    ]
    insert(empty_url, "observations", rows)
    store = open_store_at(empty_url)
    found: list[Sighting] = []
    while some := store.runtimes.sightings(found[-1].serial if found else 0):
        found += some
    assert len(found) == 2_000
    assert {(each.kind, each.runtime_s) for each in found} == {(SightingKind.FINISHED, 7.0)}
    assert [each.at_s for each in found] == sorted(each.at_s for each in found)
    assert found[-1].attempt_uid == "u2299"
    store.close()


def test_what_is_kept_of_runs_and_forgotten_tasks_is_pruned(store_url: str) -> None:
    store = open_store_at(store_url)
    store.observations.record([a_run("old", task=JOIN, at_s=NOON_S - 9e8), a_run("new")])
    parts = UnsavedRuntimes(
        through=0,
        tasks={str(TRAIN): b"t", str(JOIN): b"j", "lab/x": b"x"},
        owners={"shop": b"s", "lab": b"l"},
        forecasts=[a_kept("gone", NOON_S - MAX_OPEN_S - 1), a_kept("flies")],
    )
    store.runtimes.save(parts, {0})
    list(store.prune_steps(NOON_S, Bounds()))
    assert set(store.runtimes.task_states([str(TRAIN), str(JOIN)])) == {str(TRAIN)}
    assert store.runtimes.owner_states(["shop", "lab"]) == {"shop": b"s"}
    assert [each.attempt_uid for each in store.runtimes.open_forecasts()] == ["flies"]
    assert [each.task for each in store.runtimes.sightings(0)] == [TRAIN]
    store.close()


AMONG: dict[str, Any] = {
    "request_memory_ran_bytes": 10**9,
    "limit_cores": 2.0,
    "requested_s": 3600.0,
    "node_type": "n2-standard-8",
    "node_memory_share": 0.5,
    "node_cpu_share": 0.25,
    "cluster_memory_share": 0.4,
    "cluster_cpu_share": 0.3,
    "waiting_pods": 7,
    "submitted_memory_share": 0.2,
    "submitted_cpu_share": 0.1,
    "submitted_waiting_pods": 0,
}


@pytest.mark.parametrize("name", ["h.csv", "h.parquet"])
def test_what_an_attempt_ran_among_is_exported_and_imported(tmp_path: Path, name: str) -> None:
    ran = replace(a_run("a"), submitted_s=NOON_S - 30, peak_source=PeakSource.IMPORTED, **AMONG)
    write_history(tmp_path / name, lambda: [[ran]])
    assert list(read_history(tmp_path / name)) == [ran]


@pytest.mark.parametrize("column", ["node_memory_share", "waiting_pods", "requested_s"])
@pytest.mark.parametrize("cell", ["-1", "nan", "full"])
def test_a_load_that_is_none_is_told_with_its_column(
    tmp_path: Path, column: str, cell: str
) -> None:
    path = tmp_path / "h.csv"
    path.write_text(
        f"namespace,task,finished_s,peak_bytes,{column}\nshop,train,1700000000,70000,{cell}\n"
    )
    [bad] = list(read_history(path))
    assert isinstance(bad, BadRow)
    assert column in bad.reason


def test_what_an_attempt_ran_among_is_kept_and_amended(store_url: str) -> None:
    store = open_store_at(store_url)
    full = replace(a_run("a"), submitted_s=NOON_S - 30, **AMONG)
    store.observations.record([full, a_run("b")])
    known = {each.attempt_uid: each for each in store.observations.of_task(TRAIN)}
    assert known["a"] == full
    assert known["b"].waiting_pods is None
    store.observations.record([replace(a_run("a"), waiting_pods=9)])
    amended = {each.attempt_uid: each for each in store.observations.of_task(TRAIN)}["a"]
    assert amended == replace(full, waiting_pods=9), "None replaces nothing"
    store.close()
