"""What the controller counts of attempts: once each, and within a bounded number of series."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from plimsoll_operator.metrics.attempts import FIRST, LIFT, REQUEST, AttemptMetrics, Sizes, sizes_of
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.metrics.tasks import TaskMetrics
from plimsoll_operator.sizing.decision_note import read_note
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.record import Cause, Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.controller.ledgers import (
    Inside,
    a_final,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
)

TRAIN = TaskId("shop", "train")
MINUTE_S = 60.0


def an_attempt(
    uid: str = "uid-1",
    *,
    task: TaskId = TRAIN,
    outcome: Outcome = Outcome.SUCCEEDED,
    peak_bytes: int | None = None,
    attempt: int = 1,
) -> Observation:
    """An attempt of a minute that asked for a GiB."""
    return Observation(
        attempt_uid=uid,
        task=task,
        run=f"run-of-{uid}",
        attempt=attempt,
        outcome=outcome,
        request_bytes=GIB,
        peak_bytes=peak_bytes,
        started_s=1_000.0,
        finished_s=1_000.0 + MINUTE_S,
    )


def value(metrics: ControllerMetrics, name: str, **labels: str) -> float:
    found = metrics.registry.get_sample_value(f"plimsoll_{name}", labels)
    return 0.0 if found is None else found


def of_memory(metrics: ControllerMetrics, name: str, **labels: str) -> float:
    """The value in MiB-minutes."""
    counted = value(metrics, f"memory_{name}_byte_seconds_total", **labels)
    return counted / MIB / MINUTE_S


def test_a_smaller_size_saves_and_what_its_peak_leaves_is_wasted() -> None:
    metrics = ControllerMetrics()
    metrics.attempts.ended(an_attempt(peak_bytes=200 * MIB), Sizes(GIB, 256 * MIB, FIRST))
    assert of_memory(metrics, "requested") == 1024
    assert of_memory(metrics, "reserved") == 256
    assert of_memory(metrics, "saved") == 768
    assert of_memory(metrics, "wasted", outcome="succeeded") == 56
    assert of_memory(metrics, "added") == 0


def test_a_peak_that_comes_late_or_twice_is_counted_once() -> None:
    metrics = ControllerMetrics()
    metrics.attempts.ended(an_attempt(), Sizes(GIB, 256 * MIB, FIRST))
    assert of_memory(metrics, "wasted", outcome="succeeded") == 0
    for peak_bytes in (200 * MIB, 200 * MIB, 210 * MIB):
        metrics.attempts.measured(an_attempt(peak_bytes=peak_bytes))
    assert of_memory(metrics, "wasted", outcome="succeeded") == 56


def test_an_attempt_counted_by_an_earlier_process_is_not_counted_again() -> None:
    metrics = ControllerMetrics()
    metrics.attempts.measured(an_attempt(peak_bytes=200 * MIB))
    assert of_memory(metrics, "wasted", outcome="succeeded") == 0


def test_a_kill_below_the_request_costs_all_it_held_and_asks_for_nothing() -> None:
    metrics = ControllerMetrics()
    killed_one = an_attempt(outcome=Outcome.OOM_KILLED, peak_bytes=256 * MIB)
    killed_one = replace(killed_one, allocation_bytes=256 * MIB)
    metrics.attempts.ended(killed_one, Sizes(GIB, 256 * MIB, FIRST))
    again = an_attempt("uid-2", peak_bytes=500 * MIB, attempt=2)
    metrics.attempts.ended(again, Sizes(GIB, 512 * MIB, LIFT))
    assert of_memory(metrics, "requested") == 1024
    assert of_memory(metrics, "added") == 256
    assert of_memory(metrics, "saved") == 512
    assert of_memory(metrics, "wasted", outcome="oom-killed") == 256
    assert value(metrics, "oom_kills_total", at="first") == 1


def test_a_kill_at_the_authors_own_limit_is_no_cost_of_a_lowered_request() -> None:
    metrics = ControllerMetrics()
    killed_one = replace(an_attempt(outcome=Outcome.OOM_KILLED), allocation_bytes=2 * GIB)
    metrics.attempts.ended(killed_one, Sizes(GIB, 256 * MIB, FIRST))
    assert (of_memory(metrics, "requested"), of_memory(metrics, "added")) == (1024, 0)
    assert of_memory(metrics, "saved") == 768


def test_a_size_above_the_request_is_added_and_never_a_counter_that_falls() -> None:
    metrics = ControllerMetrics()
    metrics.attempts.ended(an_attempt(peak_bytes=GIB), Sizes(GIB, 2 * GIB, LIFT))
    assert (of_memory(metrics, "added"), of_memory(metrics, "saved")) == (1024, 0)


def test_an_attempt_without_a_request_has_no_memory_time() -> None:
    metrics = ControllerMetrics()
    metrics.attempts.ended(an_attempt(peak_bytes=GIB), Sizes(None, None, REQUEST))
    assert of_memory(metrics, "reserved") == of_memory(metrics, "wasted", outcome="succeeded") == 0
    assert value(metrics, "attempts_total", outcome="succeeded", cause="") == 1
    assert value(metrics, "attempts_measured_total") == 1


def test_an_attempt_that_nobody_measured_is_not_counted_as_measured() -> None:
    metrics = ControllerMetrics()
    metrics.attempts.ended(an_attempt(peak_bytes=None), Sizes(GIB, GIB, REQUEST))
    assert value(metrics, "attempts_measured_total") == 0


def test_a_peak_over_what_was_reserved_wastes_nothing() -> None:
    metrics = ControllerMetrics()
    metrics.attempts.ended(an_attempt(peak_bytes=2 * GIB), Sizes(GIB, GIB, REQUEST))
    assert of_memory(metrics, "wasted", outcome="succeeded") == 0


def test_in_recommend_mode_nothing_is_saved_whatever_the_pod_says() -> None:
    sizes = sizes_of(an_attempt(), Mode.RECOMMEND, None)
    assert sizes == Sizes(GIB, GIB, REQUEST)


def test_what_is_reserved_is_the_request_that_the_pod_ran_with_whoever_set_it() -> None:
    ran = replace(an_attempt(), request_memory_ran_bytes=512 * MIB, allocation_bytes=4 * GIB)
    note = read_note(decided(a_train()).built())
    assert note is not None
    assert note.allocation_bytes == 128 * MIB
    assert sizes_of(ran, Mode.ENFORCE, note) == Sizes(GIB, 512 * MIB, FIRST)
    assert sizes_of(ran, Mode.ENFORCE, None) == Sizes(GIB, 512 * MIB, REQUEST)
    assert sizes_of(ran, Mode.RECOMMEND, note) == Sizes(GIB, GIB, REQUEST)


async def seen(inside: Inside, *, at_most_s: float = 10.0) -> None:
    """Wait until late peaks are amended."""
    async with asyncio.timeout(at_most_s):
        while of_memory(inside.controller.metrics, "wasted", outcome="succeeded") == 0:
            await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_the_ledger_counts_an_attempt_and_its_late_peak_once(tmp_path: Path) -> None:
    pod = ended(decided(a_train()))
    async with an_inside(tmp_path) as inside:
        amending = asyncio.create_task(inside.controller.late_peaks.run())
        await inside.see(pod)
        await inside.report(a_final(need_bytes=90 * MIB))
        await seen(inside)
        await inside.see(pod)
        amending.cancel()
        assert (
            value(inside.controller.metrics, "attempts_total", outcome="succeeded", cause="") == 1
        )
        assert value(inside.controller.metrics, "attempts_measured_total") == 1
        assert of_memory(inside.controller.metrics, "wasted", outcome="succeeded") == 38
    async with an_inside(tmp_path) as restarted:
        await restarted.see(pod)
        assert (
            value(restarted.controller.metrics, "attempts_total", outcome="succeeded", cause="")
            == 0
        )
        assert of_memory(restarted.controller.metrics, "reserved") == 0


def test_what_its_node_ended_below_its_request_counts_as_killed_there() -> None:
    metrics = ControllerMetrics()
    for uid, ran_bytes in (("uid-1", 256 * MIB), ("uid-2", GIB)):
        evicted = replace(
            an_attempt(uid, outcome=Outcome.EVICTED),
            cause=Cause.NODE_PRESSURE,
            request_memory_ran_bytes=ran_bytes,
        )
        metrics.attempts.ended(evicted, Sizes(GIB, ran_bytes, FIRST))
    assert value(metrics, "kills_below_request_total", cause="node-pressure") == 1
    assert value(metrics, "oom_kills_total", at="first") == 0


@pytest.mark.slow
async def test_the_ledger_tells_a_first_kill_from_one_after_a_lift(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(decided(a_train("train-1"))))
        await inside.see(killed(decided(a_train("train-2"), attempt=2)))
        assert value(inside.controller.metrics, "oom_kills_total", at="request") == 1
        assert value(inside.controller.metrics, "oom_kills_total", at="lift") == 1


def series(metrics: ControllerMetrics) -> int:
    text = generate_latest(metrics.registry).decode()
    # The library shows when a series began, unless a process switches that off, as ours do.
    told = [line for line in text.splitlines() if not line.startswith("#")]
    return sum("_created{" not in line and "_created " not in line for line in told)


@cache
def after_tasks(count: int, shown: int) -> ControllerMetrics:
    """Each of ``count`` tasks has ended four times, once by an OOM kill; later ones waste more."""
    metrics = ControllerMetrics(shown)
    for number in range(count):
        task = TaskId("shop", f"task-{number}")
        for each in range(3):
            attempt = an_attempt(f"uid-{number}-{each}", task=task, peak_bytes=GIB - number)
            metrics.attempts.ended(attempt, Sizes(GIB, GIB, REQUEST))
        kill = an_attempt(f"uid-{number}-k", task=task, outcome=Outcome.OOM_KILLED)
        metrics.attempts.ended(kill, Sizes(GIB, GIB, REQUEST))
    return metrics


@pytest.mark.slow
def test_ten_thousand_tasks_make_as_many_series_as_one() -> None:
    assert series(after_tasks(10_000, shown=0)) == series(after_tasks(1, shown=0)) < 200


@pytest.mark.slow
@pytest.mark.parametrize("shown", [1, 20])
def test_shown_tasks_make_four_series_each_and_four_for_the_others(shown: int) -> None:
    without, with_tasks = after_tasks(10_000, shown=0), after_tasks(10_000, shown=shown)
    assert series(with_tasks) - series(without) == 4 * (shown + 1)


def shown_tasks(tasks: TaskMetrics) -> dict[str, float]:
    """Wasted byte-seconds by task."""
    family = next(iter(tasks.collect()))
    return {each.labels["task"]: each.value for each in family.samples}


def test_the_tasks_that_waste_most_are_shown() -> None:
    tasks = TaskMetrics(2)
    for number in range(100):
        tasks.wasted(TaskId("shop", f"t{number}"), float(10 + (number * 37) % 100))
    tasks.wasted(TaskId("shop", "t3"), 1_000.0)
    tasks.wasted(TaskId("shop", "t4"), 2_000.0)
    assert set(shown_tasks(tasks)) == {"t3", "t4", "other"}


@pytest.mark.slow
def test_no_shown_series_ever_falls_while_it_is_shown() -> None:
    tasks, before = TaskMetrics(3), dict[str, float]()
    for step in range(3_000):
        tasks.wasted(TaskId("shop", f"t{(step * 31) % 17}"), float(1 + (step * 7919) % 1_000))
        now = shown_tasks(tasks)
        assert all(now[task] >= before[task] for task in now.keys() & before.keys())
        before = now


def test_a_forgotten_task_has_no_series() -> None:
    metrics = ControllerMetrics(tasks_shown=2)
    for name in ("kept", "gone"):
        metrics.by_task.wasted(TaskId("shop", name), 5.0)
        metrics.by_task.forecast(TaskId("shop", name), {"0.5": 60.0})
    metrics.by_task.forget(TaskId("shop", "gone"))
    metrics.by_task.forget(TaskId("shop", "never seen"))
    families = list(metrics.by_task.collect())
    named = {each.labels["task"] for family in families for each in family.samples}
    assert named == {"kept", "other"}
    metrics.by_task.wasted(TaskId("shop", "gone"), 1.0)
    assert shown_tasks(metrics.by_task)["gone"] == 1.0, "it begins anew"


async def test_a_task_that_people_forget_has_no_series_any_more(tmp_path: Path) -> None:
    async with an_inside(tmp_path, tasks_shown=2) as inside:
        metrics, book = inside.controller.metrics, inside.controller.book
        metrics.by_task.wasted(TRAIN, 5.0)
        assert set(shown_tasks(metrics.by_task)) == {"train", "other"}
        book.forget(TRAIN)
        assert set(shown_tasks(metrics.by_task)) == {"other"}


def test_a_task_called_other_is_not_taken_for_the_others() -> None:
    tasks = TaskMetrics(1)
    tasks.wasted(TaskId("shop", "other"), 5.0)
    family = next(iter(tasks.collect()))
    found = {(s.labels["task_namespace"], s.labels["task"]): s.value for s in family.samples}
    assert found == {("shop", "other"): 5.0, ("", "other"): 0.0}


@pytest.mark.slow
def test_attempts_whose_peak_never_comes_do_not_gather() -> None:
    metrics = ControllerMetrics()
    attempts: AttemptMetrics = metrics.attempts
    for number in range(6_000):
        attempts.ended(an_attempt(f"uid-{number}"), Sizes(GIB, GIB, REQUEST))
    attempts.measured(an_attempt("uid-0", peak_bytes=MIB))
    assert of_memory(metrics, "wasted", outcome="succeeded") == 0
    attempts.measured(an_attempt("uid-5999", peak_bytes=MIB))
    assert of_memory(metrics, "wasted", outcome="succeeded") == 1023


def test_ends_are_counted_by_cause_and_their_series_are_there_from_the_start() -> None:
    metrics = ControllerMetrics(tasks_shown=0)
    for cause in Cause:
        assert value(metrics, "attempts_total", outcome=cause.outcome.value, cause=cause.value) == 0
    failed = replace(an_attempt(), outcome=Outcome.FAILED, cause=Cause.CUDA)
    metrics.attempts.ended(failed, Sizes(GIB, GIB, REQUEST))
    assert value(metrics, "attempts_total", outcome="failed", cause="cuda") == 1
    assert value(metrics, "attempts_total", outcome="failed", cause="jvm") == 0
