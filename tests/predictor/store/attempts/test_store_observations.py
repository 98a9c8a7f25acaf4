"""Observations: once each, amended, added up."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_predictor.core.record import Cause, Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.store import BadRecordError, Recorded, Store
from plimsoll_predictor.store.attempts import observation_rows
from tests.builders.stores import JOIN, NOON_S, TRAIN, an_attempt, open_store_at


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


@pytest.mark.slow
def test_an_observation_comes_back_as_it_was_recorded(store: Store) -> None:
    whole = Observation(
        attempt_uid="u",
        task=TRAIN,
        run="job:1",
        attempt=2,
        features={"rows": 3.5, "region": "eu \N{SNOWMAN} 'quoted'"},
        outcome=Outcome.OOM_KILLED,
        request_bytes=1,
        allocation_bytes=2,
        peak_bytes=3,
        peak_source=PeakSource.METRICS,
        kernel_peak_bytes=2**62,
        working_set_peak_bytes=4,
        anon_peak_bytes=5,
        cpu_s=6.5,
        submitted_s=7.25,
        started_s=8.25,
        finished_s=9.25,
        node="n1",
        node_type="m5.large",
        image="img@sha256:0",
        exit_code=137,
        model_version="abc",
        node_memory_bytes=10,
        node_cpu=1.5,
        neighbours=("shop/join-sales",),
        workflow_run="r7",
        item="s1",
    )
    assert store.observations.record([whole]).new == {"u"}
    assert store.observations.of_task(TRAIN) == [whole]


def test_only_uids_that_were_new_are_returned(store: Store) -> None:
    store.observations.record([an_attempt("old").built])
    both = [an_attempt("old").built, an_attempt("new").built]
    assert store.observations.record(both).new == {"new"}
    assert len(store.observations.of_task(TRAIN)) == 2


def test_a_uid_twice_in_one_batch_is_one_row_with_the_later_peak(store: Store) -> None:
    batch = [an_attempt("u").peaking(1).built, an_attempt("u").peaking(2).built]
    assert store.observations.record(batch).new == {"u"}
    assert [each.peak_bytes for each in store.observations.of_task(TRAIN)] == [2]


def test_an_amendment_fills_what_was_missing(store: Store) -> None:
    unmeasured = replace(an_attempt("u").built, peak_bytes=None, peak_source=None, features={})
    store.observations.record([unmeasured])
    store.observations.record([an_attempt("u").built])
    assert store.observations.of_task(TRAIN) == [an_attempt("u").built]


def test_an_amendment_that_knows_less_takes_nothing_away(store: Store) -> None:
    store.observations.record([an_attempt("u").built])
    bare = Observation(attempt_uid="u", task=TRAIN, run="x", outcome=Outcome.SUCCEEDED)
    store.observations.record([bare])
    assert store.observations.of_task(TRAIN) == [an_attempt("u").built]


@pytest.mark.parametrize(
    ("first", "then", "kept"),
    [
        pytest.param(
            Outcome.SUCCEEDED, Outcome.FAILED, Outcome.SUCCEEDED, id="success is not revised"
        ),
        pytest.param(
            Outcome.OOM_KILLED, Outcome.SUCCEEDED, Outcome.OOM_KILLED, id="a kill is not revised"
        ),
        pytest.param(
            Outcome.OOM_KILLED, Outcome.DELETED, Outcome.OOM_KILLED, id="deletion comes too late"
        ),
        pytest.param(
            Outcome.DELETED, Outcome.SUCCEEDED, Outcome.SUCCEEDED, id="deleted after it had ended"
        ),
    ],
)
def test_an_outcome_is_final_unless_the_pod_was_taken_away(
    store: Store, first: Outcome, then: Outcome, kept: Outcome
) -> None:
    store.observations.record([an_attempt("u").ending(first).built])
    store.observations.record([an_attempt("u").ending(then).built])
    assert [each.outcome for each in store.observations.of_task(TRAIN)] == [kept]


def test_observations_come_oldest_first_and_the_limit_keeps_the_latest(store: Store) -> None:
    hours = (3, 1, 2)
    store.observations.record(
        [an_attempt(f"u{hour}").running(NOON_S, NOON_S + hour * 3600).built for hour in hours]
    )
    assert [each.attempt_uid for each in store.observations.of_task(TRAIN)] == ["u1", "u2", "u3"]
    latest = store.observations.of_task(TRAIN, limit=2)
    assert [each.attempt_uid for each in latest] == ["u2", "u3"]


def test_tasks_are_listed_and_kept_apart(store: Store) -> None:
    store.observations.record([an_attempt("a").built, an_attempt("b").of(JOIN).built])
    assert store.totals.tasks() == [JOIN, TRAIN]
    assert [each.attempt_uid for each in store.observations.of_task(JOIN)] == ["b"]


@pytest.mark.parametrize(
    ("success", "through"),
    [
        pytest.param({"attempt": 2}, True, id="a later attempt"),
        pytest.param({"submitted_s": NOON_S + 3601}, True, id="a pod made after the kill"),
        pytest.param({"submitted_s": NOON_S}, False, id="a sibling that ran beside it"),
        pytest.param({"attempt": 2, "run": "other"}, False, id="another run"),
        pytest.param({"attempt": 2, "task": JOIN}, False, id="another task"),
        pytest.param({"attempt": 2, "outcome": Outcome.FAILED}, False, id="it failed"),
    ],
)
def test_a_killed_attempts_run_got_through_if_it_succeeded_after_it(
    store: Store, success: dict[str, Any], through: bool
) -> None:
    killed = an_attempt("a").in_run("r").ending(Outcome.OOM_KILLED).built
    store.observations.record([killed, replace(an_attempt("b").in_run("r").built, **success)])
    assert store.observations.got_through(killed) is through


REFUSED: dict[str, Any] = {
    "outcome": Outcome.FAILED,
    "cause": Cause.NEVER_STARTED,
    "peak_bytes": None,
    "peak_source": None,
    "started_s": None,
    "finished_s": None,
}


@pytest.mark.parametrize(
    ("before", "count"),
    [
        pytest.param([REFUSED], 1, id="its node refused the one before"),
        pytest.param([REFUSED, REFUSED], 1, id="two pods with the same number"),
        pytest.param([REFUSED, {**REFUSED, "attempt": 2}], 2, id="two numbers"),
        pytest.param([REFUSED, {"outcome": Outcome.OOM_KILLED}], 0, id="its sibling was killed"),
        pytest.param([REFUSED, {}], 1, id="its sibling succeeded"),
        pytest.param([{**REFUSED, "exit_code": 128}], 0, id="its container could not start"),
        pytest.param([{"outcome": Outcome.FAILED}], 0, id="it failed"),
        pytest.param([{**REFUSED, "attempt": 3}], 0, id="it did not come before"),
        pytest.param([{**REFUSED, "run": "other"}], 0, id="of another run"),
        pytest.param([{**REFUSED, "task": JOIN}], 0, id="of another task"),
    ],
)
def test_attempts_that_their_nodes_refused_tried_nothing(
    store: Store, before: list[dict[str, Any]], count: int
) -> None:
    killed = replace(an_attempt("k").in_run("r").ending(Outcome.OOM_KILLED).built, attempt=3)
    earlier = [
        replace(an_attempt(f"e{n}").in_run("r").built, **how) for n, how in enumerate(before)
    ]
    store.observations.record([killed, *earlier])
    assert store.observations.never_tried(killed) == count


def test_a_run_is_learned_once_whenever_its_peak_comes(store: Store) -> None:
    unmeasured = replace(an_attempt("u").built, peak_bytes=None, peak_source=None)
    assert store.observations.record([unmeasured]).learned == frozenset()
    assert store.observations.record([an_attempt("u").built]).learned == {"u"}
    assert (
        store.observations.record([an_attempt("u").peaking(600_000_000).built]).learned
        == frozenset()
    )


def test_pods_that_share_a_run_teach_it_once(store: Store) -> None:
    first, second = (an_attempt(uid).in_run("r").built for uid in ("a", "b"))
    assert store.observations.record([first]).learned == {"a"}
    assert store.observations.record([second]).learned == frozenset()
    assert store.totals.of(TRAIN).runs_known == 1


def test_a_kill_teaches_no_run(store: Store) -> None:
    assert (
        store.observations.record([an_attempt().ending(Outcome.OOM_KILLED).built]).learned
        == frozenset()
    )


def test_an_import_tells_which_tasks_it_touched_and_only_once(store: Store) -> None:
    store.observations.record([an_attempt("live").of(JOIN).built])
    store.observations.record_history([an_attempt("old").built])
    told = store.observations.imported(0)
    assert told.tasks == (TRAIN,)
    assert store.observations.imported(told.serial).tasks == ()
    store.observations.record_history([an_attempt("older").built])
    assert store.observations.imported(told.serial).tasks == (TRAIN,)


def test_runs_that_were_observed_are_told_from_those_that_were_only_imported(store: Store) -> None:
    def of_run(uid: str, run: str, task: TaskId = TRAIN, **changes: Any) -> Observation:
        return replace(an_attempt(uid).of(task).built, run=run, **changes)

    imported: dict[str, Any] = {"peak_source": PeakSource.IMPORTED}
    unmeasured: dict[str, Any] = {"peak_bytes": None, "peak_source": None}
    store.observations.record([of_run("pod-1", "r1"), of_run("pod-2", "r2", **unmeasured)])
    store.observations.record_history([of_run("old", "r3", **imported)])
    past = [of_run(f"past-{run}", run, **imported) for run in ("r1", "r2", "r3", "r4")]
    past.append(of_run("past-join", "r1", JOIN, **imported))
    assert store.observations.observed_runs(past) == {(TRAIN, "r1"), (TRAIN, "r2")}


def test_a_missing_feature_is_absent_even_if_it_was_written_as_nan(store: Store) -> None:
    store.observations.record(
        [an_attempt("u").knowing(rows=float("nan"), size=float("inf"), day="mon").built]
    )
    assert store.observations.of_task(TRAIN)[0].features == {"day": "mon"}


def test_features_that_are_no_text_are_refused_in_words(store: Store) -> None:
    with pytest.raises(BadRecordError, match=r"attempt u of shop/train-demand.*features"):
        store.observations.record([an_attempt("u").knowing(name="\ud800").built])


def test_a_batch_with_a_bad_record_keeps_none_of_it(store: Store) -> None:
    too_large = an_attempt("bad").peaking(2**70).built
    with pytest.raises(BadRecordError):
        store.observations.record([an_attempt("good").built, too_large])
    assert store.observations.of_task(TRAIN) == []


def test_a_summary_adds_up_what_compares(store: Store) -> None:
    store.observations.record(
        [
            an_attempt("fits").in_run("r1").given(10**9).asking(4 * 10**9).built,
            an_attempt("killed")
            .in_run("r2")
            .given(2 * 10**9)
            .asking(4 * 10**9)
            .peaking(2 * 10**9)
            .ending(Outcome.OOM_KILLED)
            .built,
            an_attempt("retried").in_run("r2").given(3 * 10**9).asking(4 * 10**9).built,
            an_attempt("broken").given(10**9).asking(None).ending(Outcome.FAILED).built,
        ]
    )
    found = store.totals.of(TRAIN)
    assert (found.observations, found.runs_known, found.oom_kills, found.failed) == (4, 2, 1, 1)
    assert found.max_need_bytes == 2 * 10**9
    # The killed attempt counts in what was allocated, not in what was asked: r2 asks only once.
    assert found.requested_gb_h == pytest.approx(4 + 4)
    assert found.allocated_gb_h == pytest.approx(1 + 2 + 3)
    assert found.peak_gb_h == pytest.approx(0.5 + 2 + 0.5)
    assert found.last_finished_s == NOON_S + 3600


def test_an_attempt_killed_at_its_request_counts_what_it_asked(store: Store) -> None:
    killed = an_attempt("u").asking(10**9).given(10**9).ending(Outcome.OOM_KILLED)
    store.observations.record([killed.built])
    assert store.totals.of(TRAIN).requested_gb_h == pytest.approx(1)


def test_a_run_that_was_only_killed_is_not_a_known_need(store: Store) -> None:
    store.observations.record([an_attempt("u").given(GIB).ending(Outcome.OOM_KILLED).built])
    found = store.totals.of(TRAIN)
    assert (found.runs_known, found.max_need_bytes) == (0, GIB)


def test_a_clock_that_jumped_back_adds_no_memory_time(store: Store) -> None:
    store.observations.record([an_attempt("u").running(NOON_S, NOON_S - 60).built])
    found = store.totals.of(TRAIN)
    assert (found.requested_gb_h, found.allocated_gb_h, found.peak_gb_h) == (0, 0, 0)


def test_an_attempt_without_a_limit_held_its_request(store: Store) -> None:
    store.observations.record([an_attempt("u").asking(2 * 10**9).given(None).built])
    assert store.totals.of(TRAIN).allocated_gb_h == pytest.approx(2)


@pytest.mark.parametrize(
    ("ran_bytes", "allocated_gb_h"),
    [
        pytest.param(10**9, 1.0, id="nothing was changed"),
        pytest.param(250_000_000, 0.25, id="the request was lowered, and the limit kept"),
        pytest.param(0, 0.0, id="nothing was requested in the end"),
        pytest.param(None, 4.0, id="an older version recorded no such request"),
    ],
)
def test_an_attempt_held_the_request_that_it_ran_with_and_not_its_limit(
    store: Store, ran_bytes: int | None, allocated_gb_h: float
) -> None:
    attempt = an_attempt("u").asking(10**9).given(4 * 10**9).requesting(ran_bytes)
    store.observations.record([attempt.built])
    found = store.totals.of(TRAIN)
    assert (found.requested_gb_h, found.allocated_gb_h) == pytest.approx((1.0, allocated_gb_h))


def test_summaries_of_all_tasks_agree_with_each_tasks_own(store: Store) -> None:
    store.observations.record(
        [an_attempt("a").built, an_attempt("b").of(JOIN).ending(Outcome.FAILED).built]
    )
    assert store.totals.by_task() == {TRAIN: store.totals.of(TRAIN), JOIN: store.totals.of(JOIN)}


def test_an_unknown_task_has_an_empty_summary(store: Store) -> None:
    assert store.totals.of(TRAIN).observations == 0
    assert store.totals.of(TRAIN).max_need_bytes is None


@pytest.mark.slow
def test_what_another_process_is_writing_is_waited_for_and_learned_once(
    store: Store, store_url: str
) -> None:
    """Two controllers for a moment: both see the same end, but only one learns from it."""
    other = open_store_at(store_url)
    attempt = an_attempt("u").built
    with ThreadPoolExecutor(1) as beside:
        with other.database.write() as connection:
            first = observation_rows.record(connection, [attempt], NOON_S)
            second = beside.submit(store.observations.record, [attempt])
            with pytest.raises(TimeoutError):
                second.result(0.5)
        assert first == Recorded(frozenset({"u"}), frozenset({"u"}))
        assert second.result() == Recorded(frozenset(), frozenset())
    assert len(store.experts.lessons(0)) == 1
    assert store.totals.of(attempt.task).runs_known == 1
    other.close()


def test_a_flood_of_items_hides_no_other_namespaces_items(store: Store) -> None:
    def of_item(task: str, number: int) -> Observation:
        built = an_attempt(f"{task}-{number}").of(TaskId.parse(task)).built
        return replace(built, item=f"i{number}", finished_s=NOON_S + number)

    store.observations.record([of_item("calm/t", number) for number in range(3)])
    store.observations.record([of_item("evil/t", 1000 + number) for number in range(30)])
    told = store.observations.item_needs(limit=10)
    assert [each.item for each in told if each.task.namespace == "calm"] == ["i0", "i1", "i2"]
    assert [each.item for each in told][-1] == "i1029"
