"""Lifts, retries, peaks, decisions, and what is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.store import BadRecordError, DecisionRecord, RetryIntent, Store, pruning
from plimsoll_predictor.store.attempts import decisions, lifts
from tests.builders.stores import JOIN, NOON_S, TRAIN, an_attempt, open_store_at

DAY_S = 24 * 3600.0


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def an_intent(uid: str = "killed") -> RetryIntent:
    return RetryIntent(
        attempt_uid=uid,
        namespace="shop",
        pod="train-1",
        new_pod="train-1-r2",
        manifest='{"kind": "Pod"}',
        planned_s=NOON_S,
    )


def a_report(**changes: Any) -> dict[str, Any]:
    report: dict[str, Any] = {
        "pod_uid": "pod-1",
        "container_id": None,
        "need_peak_bytes": 100,
        "kernel_peak_bytes": 120,
        "working_set_peak_bytes": 90,
        "anon_peak_bytes": 80,
        "cpu_s": 1.5,
        "limit_bytes": 200,
        "final": False,
        "measured_s": NOON_S,
    }
    return report | changes


def a_decision(uid: str, at_s: float = NOON_S) -> DecisionRecord:
    return DecisionRecord(
        task=TRAIN,
        attempt_uid=uid,
        at_s=at_s,
        words="bin 1 of 3",
        allocation_bytes=10,
        request_bytes=None,
        reason="predicted",
    )


def test_a_lift_is_kept_until_its_run_is_closed(store: Store) -> None:
    store.lifts.put(TRAIN, "run-1", Lift(10, 2, 5))
    store.lifts.put(TRAIN, "run-1", Lift(20, 3, 10))
    store.lifts.put(JOIN, "run-1", Lift(7, 2, 3))
    store.lifts.close(JOIN, "run-1")
    assert store.lifts.waiting() == {TRAIN: {"run-1": Lift(20, 3, 10)}}


def test_a_lift_nobody_came_for_expires_after_seven_days(store_url: str) -> None:
    then, later = open_store_at(store_url), open_store_at(store_url, now_s=NOON_S + 7 * DAY_S + 1)
    then.lifts.put(TRAIN, "run-1", Lift(10, 2, 5))
    assert then.lifts.waiting()
    assert later.lifts.waiting() == {}
    then.close()
    later.close()


def test_a_task_keeps_its_newest_lifts_up_to_a_bound(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifts, "KEPT_PER_TASK", 4)
    oldest, newer = open_store_at(store_url), open_store_at(store_url, now_s=NOON_S + 1)
    oldest.lifts.put(TRAIN, "oldest", Lift(10, 2, 5))
    for number in range(4):
        newer.lifts.put(TRAIN, f"run-{number}", Lift(10, 2, 5))
    assert len(newer.lifts.waiting()[TRAIN]) == 4
    assert "oldest" not in newer.lifts.waiting()[TRAIN]
    sum(newer.prune_steps(NOON_S + 2))
    newer.lifts.put(TRAIN, "run-0", Lift(20, 3, 10))
    assert len(newer.lifts.waiting()[TRAIN]) == 4
    oldest.close()
    newer.close()


def test_a_retry_is_planned_once_however_often_it_is_asked(store: Store) -> None:
    assert store.retries.plan(an_intent())
    assert not store.retries.plan(replace(an_intent(), new_pod="another", planned_s=NOON_S + 1))
    assert store.retries.waiting() == [an_intent()]


def test_a_closed_retry_is_not_open_and_not_planned_again(store: Store) -> None:
    store.retries.plan(an_intent())
    store.retries.close("killed", "created")
    assert store.retries.waiting() == []
    assert not store.retries.plan(an_intent())


def test_two_controllers_cannot_both_plan_one_retry(store_url: str) -> None:
    one, two = open_store_at(store_url), open_store_at(store_url)
    assert [one.retries.plan(an_intent()), two.retries.plan(an_intent())] == [True, False]
    one.close()
    two.close()


def test_a_later_report_of_a_cgroup_replaces_the_earlier(store: Store) -> None:
    store.peaks.put([a_report(), a_report(container_id="c1")])
    later = a_report(need_peak_bytes=150, measured_s=NOON_S + 1, limit_bytes=None, final=True)
    store.peaks.put([later])
    assert store.peaks.of_pod("pod-1") == [later, a_report(container_id="c1")]
    assert store.peaks.of_pod("pod-2") == []


def test_a_report_that_arrives_late_takes_no_peak_away(store: Store) -> None:
    last = a_report(need_peak_bytes=150, measured_s=NOON_S + 9, limit_bytes=400, final=True)
    store.peaks.put([last])
    store.peaks.put([a_report()])
    assert store.peaks.of_pod("pod-1") == [last]


def test_a_report_of_no_pod_is_refused(store: Store) -> None:
    with pytest.raises(BadRecordError, match="names no pod"):
        store.peaks.put([a_report(pod_uid=None)])


def test_decisions_come_newest_first_and_one_per_attempt(store: Store) -> None:
    for number in range(12):
        store.keep(decided=[a_decision(f"u{number:02}", NOON_S + number)])
    store.keep(decided=[a_decision("u11", NOON_S + 20)])
    found = store.decisions.newest(TRAIN)
    assert [each.attempt_uid for each in found] == [f"u{number:02}" for number in range(11, 1, -1)]
    assert found[0] == a_decision("u11", NOON_S + 20)
    assert store.decisions.newest(JOIN) == []


@pytest.mark.slow
def test_pruning_keeps_each_tasks_newest_rows(store: Store) -> None:
    for task in (TRAIN, JOIN):
        store.observations.record(
            [
                an_attempt(f"{task}{hour}").of(task).running(NOON_S, NOON_S + hour).built
                for hour in range(10)
            ]
        )
    sum(store.prune_steps(NOON_S, pruning.Bounds(per_task=3)))
    for task in (TRAIN, JOIN):
        kept = [each.attempt_uid for each in store.observations.of_task(task)]
        assert kept == [f"{task}7", f"{task}8", f"{task}9"]


@pytest.mark.slow
def test_pruning_bounds_the_decisions_of_a_task(store: Store) -> None:
    for number in range(110):
        store.keep(decided=[a_decision(f"u{number:03}", NOON_S + number)])
    sum(store.prune_steps(NOON_S, pruning.Bounds(per_task=10)))
    kept = store.decisions.newest(TRAIN, limit=1000)
    assert (len(kept), kept[-1].attempt_uid) == (100, "u010")


def test_pruning_forgets_old_decisions_of_tasks_that_were_never_observed(store: Store) -> None:
    """Such a task's pods went before they started, so no attempt of it was ever observed."""
    never = [TaskId("shop", f"never-{number}") for number in range(5)]
    decided = [replace(a_decision(f"of-{task.name}"), task=task) for task in never]
    young, observed = a_decision("young", NOON_S + 2 * DAY_S), replace(a_decision("j"), task=JOIN)
    store.keep([an_attempt("j").of(JOIN).built], [*decided, young, observed])
    few = pruning.Bounds(rows=2)
    assert sum(store.prune_steps(NOON_S + decisions.UNKNOWN_TASKS_KEPT_S - 1, few)) == 0
    assert sum(store.prune_steps(NOON_S + decisions.UNKNOWN_TASKS_KEPT_S + 1, few)) == 5
    assert [store.decisions.newest(task) for task in (*never, TRAIN, JOIN)] == [
        *([] for _ in never),
        [young],
        [observed],
    ]


@pytest.mark.slow
def test_pruning_forgets_the_tasks_that_ended_longest_ago(store: Store) -> None:
    store.observations.record([an_attempt("old").built])
    store.observations.record([an_attempt("new").of(JOIN).running(NOON_S, NOON_S + 9999).built])
    store.keep(decided=[a_decision("old")])
    # Its observation, its sum, its decision, and the sighting of its run.
    assert sum(store.prune_steps(NOON_S, pruning.Bounds(tasks=1))) == 4
    assert store.totals.tasks() == [JOIN]
    assert store.decisions.newest(TRAIN) == []


def test_pruning_keeps_reports_of_pods_for_a_day(store: Store) -> None:
    """They are of all pods of the cluster, so there may be many more than observations."""
    store.peaks.put([a_report()])
    sum(store.prune_steps(NOON_S + DAY_S - 1))
    assert store.peaks.of_pod("pod-1") == [a_report()]
    sum(store.prune_steps(NOON_S + DAY_S + 1))
    assert store.peaks.of_pod("pod-1") == []


def test_reports_of_more_pods_than_one_query_asks_for_are_merged(store: Store) -> None:
    pods = [f"pod-{number}" for number in range(1_100)]
    store.peaks.put([a_report(pod_uid=pod, need_peak_bytes=110) for pod in pods])
    store.peaks.put([a_report(pod_uid=pod) for pod in pods])
    assert [store.peaks.of_pod(pod)[0]["need_peak_bytes"] for pod in pods[::100]] == [110] * 11


def test_pruning_forgets_old_peaks_and_closed_retries_but_no_open_one(store: Store) -> None:
    store.peaks.put([a_report()])
    store.retries.plan(an_intent("open"))
    store.retries.plan(an_intent("closed"))
    store.retries.close("closed", "created")
    sum(store.prune_steps(NOON_S + 91 * DAY_S))
    assert store.peaks.of_pod("pod-1") == []
    assert store.retries.waiting() == [an_intent("open")]
    assert store.retries.plan(an_intent("closed")), "by then the pod it followed is long gone"
