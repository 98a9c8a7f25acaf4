"""The store's part for the experts: lessons in order, bids once, a state that only grows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa

from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.store import DecisionRecord, Lesson, LessonKind, Store, pruning
from plimsoll_predictor.store.learned.standings import BIDS_KEPT_S
from plimsoll_predictor.training.out_of_time import OutOfTimeCost
from tests.builders.older_stores import insert, make_store_of
from tests.builders.stores import JOIN, NOON_S, TRAIN, AnAttempt, an_attempt, open_store_at
from tests.builders.training.models import a_model


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def taught(store: Store) -> list[tuple[str, str, int]]:
    return [(each.kind.value, each.run, each.need_bytes) for each in store.experts.lessons(0)]


def only_lesson(store: Store) -> Lesson:
    [lesson] = store.experts.lessons(0)
    return lesson


def decide(store: Store, uid: str, **bids: float) -> None:
    decision = DecisionRecord(
        task=TRAIN,
        attempt_uid=uid,
        at_s=NOON_S,
        words="a test",
        allocation_bytes=None,
        request_bytes=None,
        reason="kept",
        bids=bids,
    )
    store.keep(decided=[decision])


@pytest.mark.slow
def test_a_run_whose_need_becomes_known_is_one_lesson(store: Store) -> None:
    decide(store, "u", request=4.0)
    store.observations.record([an_attempt("u").built])
    lesson = only_lesson(store)
    assert (lesson.task, lesson.kind) == (TRAIN, LessonKind.ENDED)
    assert (lesson.need_bytes, lesson.runtime_s) == (500_000_000, 3600.0)
    assert lesson.request_bytes == 4 * GIB
    assert lesson.features == {"rows": 18234.0, "region": "eu"}
    assert lesson.bids == {"request": 4.0}


def test_an_event_that_is_repeated_teaches_nothing_again(store: Store) -> None:
    ended, killed = an_attempt("u").built, an_attempt("k").ending(Outcome.OOM_KILLED).built
    store.observations.record([ended, ended, killed])
    store.observations.record([killed, ended])
    store.observations.record_history([ended])
    assert len(taught(store)) == 2


def test_what_its_node_ended_below_its_request_is_a_lesson_without_a_need(store: Store) -> None:
    evicted = an_attempt("u").ending(Outcome.EVICTED).built
    pressed_out = replace(evicted, cause=Cause.NODE_PRESSURE, request_memory_ran_bytes=GIB)
    for _ in range(2):
        store.observations.record([pressed_out])
    lesson = only_lesson(store)
    assert (lesson.kind, lesson.need_bytes) == (LessonKind.PRESSED_OUT, GIB)
    assert (lesson.request_bytes, lesson.cause) == (4 * GIB, Cause.NODE_PRESSURE)


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(an_attempt().peaking(None), id="nobody measured"),
        pytest.param(an_attempt().peaking(0), id="it used nothing"),
        pytest.param(an_attempt().ending(Outcome.FAILED), id="it failed"),
        pytest.param(an_attempt().ending(Outcome.EVICTED), id="the node was in trouble"),
        pytest.param(
            an_attempt().ending(Outcome.OOM_KILLED).given(None), id="killed without a limit"
        ),
    ],
)
def test_an_attempt_without_a_need_teaches_the_experts_nothing(
    store: Store, attempt: AnAttempt
) -> None:
    store.observations.record([attempt.built])
    assert taught(store) == []


def test_a_peak_that_comes_late_teaches_then(store: Store) -> None:
    store.observations.record([an_attempt("late").peaking(None).built])
    store.observations.record([an_attempt("other").peaking(7).built])
    store.observations.record([an_attempt("late").peaking(9).built])
    assert taught(store) == [("ended", "run-of-other", 7), ("ended", "run-of-late", 9)]


def test_a_need_that_becomes_known_better_corrects_the_first(store: Store) -> None:
    store.observations.record([an_attempt("u").peaking(7).built])
    store.observations.record([an_attempt("u").peaking(9).built])
    store.observations.record([an_attempt("sibling").in_run("run-of-u").peaking(8).built])
    assert taught(store) == [("ended", "run-of-u", 7), ("corrected", "run-of-u", 9)]
    assert [each.before_bytes for each in store.experts.lessons(0)] == [0, 7]


def test_a_kill_teaches_what_was_too_little(store: Store) -> None:
    decide(store, "k", request=4.0)
    store.observations.record([an_attempt("k").ending(Outcome.OOM_KILLED).given(GIB).built])
    assert taught(store) == [("exceeded", "run-of-k", GIB)]
    assert only_lesson(store).bids == {"request": 4.0}


def test_what_is_recorded_together_teaches_in_the_order_it_ended(store: Store) -> None:
    late = an_attempt("late").running(NOON_S, NOON_S + 7200).built
    store.observations.record_history([late, an_attempt("soon").built])
    assert [each.run for each in store.experts.lessons(0)] == ["run-of-soon", "run-of-late"]


@pytest.mark.parametrize(
    ("newer", "peak_bytes", "teaches"),
    [
        pytest.param(16, 500_000_000, False, id="enough newer runs are known"),
        pytest.param(15, 500_000_000, True, id="fewer are known"),
        pytest.param(4, 300_000_000, False, id="four newer runs needed clearly more"),
        pytest.param(3, 300_000_000, True, id="three did"),
    ],
)
def test_a_run_imported_late_teaches_only_if_not_much_newer_is_known(
    store: Store, newer: int, peak_bytes: int, teaches: bool
) -> None:
    later = [an_attempt(f"new-{n}").running(NOON_S, NOON_S + 7200 + n) for n in range(newer)]
    others = [an_attempt(f"other-{n}").of(JOIN).running(NOON_S, NOON_S + 7200) for n in range(16)]
    store.observations.record([each.built for each in (*later, *others)])
    store.observations.record_history([an_attempt("old").peaking(peak_bytes).built])
    assert ("run-of-old" in {each.run for each in store.experts.lessons(0)}) is teaches
    assert store.totals.of(TRAIN).runs_known == newer + 1


@pytest.mark.parametrize(
    ("newer", "outcome", "limit_bytes", "teaches"),
    [
        pytest.param(16, Outcome.OOM_KILLED, GIB, False, id="a kill, and enough newer runs"),
        pytest.param(15, Outcome.OOM_KILLED, GIB, True, id="a kill, and fewer"),
        pytest.param(4, Outcome.OOM_KILLED, 300_000_000, False, id="a kill far below their needs"),
        pytest.param(4, Outcome.OOM_KILLED, 500_000_000, True, id="a kill at their needs"),
        pytest.param(16, Outcome.FAILED, GIB, False, id="a failure, and enough newer runs"),
        pytest.param(15, Outcome.FAILED, GIB, True, id="a failure, and fewer: it has no need"),
    ],
)
def test_no_other_end_that_is_imported_late_teaches_either(
    store: Store, newer: int, outcome: Outcome, limit_bytes: int, teaches: bool
) -> None:
    later = [an_attempt(f"new-{n}").running(NOON_S, NOON_S + 7200 + n) for n in range(newer)]
    store.observations.record([each.built for each in later])
    exit_code = 1 if outcome is Outcome.FAILED else None
    old = an_attempt("old").ending(outcome).given(limit_bytes).peaking(None).built
    store.observations.record_history([replace(old, exit_code=exit_code)])
    assert ("run-of-old" in {each.run for each in store.experts.lessons(0)}) is teaches


def test_a_bid_that_is_no_number_is_neither_stored_nor_read(store: Store) -> None:
    decide(store, "u", request=4.0, curves=math.nan, latest=math.inf)
    assert store.experts.bids("u") == {"request": 4.0}
    with store.database.write() as connection:
        older = '{"request": 4.0, "curves": null}'
        connection.execute(sa.text("UPDATE bids SET bids = :older"), {"older": older})
    assert store.experts.bids("u") == {"request": 4.0}
    store.observations.record([an_attempt("u").built])
    assert only_lesson(store).bids == {"request": 4.0}


@pytest.mark.parametrize("spoilt", ["{", "[4.0]"])
def test_bids_that_cannot_be_read_cost_only_themselves(store: Store, spoilt: str) -> None:
    decide(store, "u", request=4.0)
    store.observations.record([an_attempt("u").built])
    with store.database.write() as connection:
        connection.execute(sa.text("UPDATE bids SET bids = :spoilt"), {"spoilt": spoilt})
    assert only_lesson(store).bids is None


def test_bids_stay_as_they_were_when_the_attempt_was_seen_first(store: Store) -> None:
    decide(store, "u", request=4.0)
    decide(store, "u", request=5.0)
    assert store.experts.bids("u") == {"request": 4.0}
    assert store.experts.bids("never seen") is None


def test_saving_forgets_what_is_in_the_state(store: Store) -> None:
    for uid in ("a", "b"):
        decide(store, uid, request=4.0)
        store.observations.record([an_attempt(uid).built])
    first, second = store.experts.lessons(0)
    pools = {"shop": {"charges": [0.1]}}
    assert store.experts.save(first.serial, {str(TRAIN): {"runs": 1}}, pools, follows={0})
    assert store.experts.lessons(0) == [second]
    assert (store.experts.bids("a"), store.experts.bids("b")) == (None, {"request": 4.0})
    assert store.experts.through() == first.serial
    assert store.experts.pools(["shop", "farm"]) == pools
    assert store.experts.standing(TRAIN) == {"runs": 1}
    assert store.experts.standings() == {str(TRAIN): {"runs": 1}}
    assert store.experts.standing(JOIN) is None


def test_a_serial_is_never_given_twice(store: Store) -> None:
    store.observations.record([an_attempt("a").built])
    through = only_lesson(store).serial
    assert store.experts.save(through, {}, {}, follows={0})
    store.observations.record([an_attempt("b").built])
    assert only_lesson(store).serial > through


def test_a_controller_that_led_before_saves_nothing_over_its_successor(store: Store) -> None:
    for uid in ("a", "b"):
        store.observations.record([an_attempt(uid).built])
    first, second = store.experts.lessons(0)
    assert store.experts.save(second.serial, {"t": {"by": "new"}}, {}, {0})
    assert not store.experts.save(first.serial, {"t": {"by": "old"}}, {}, {0})
    assert store.experts.standings_of(["t"]) == {"t": {"by": "new"}}
    assert store.experts.through() == second.serial


def test_a_training_teaches_how_its_models_compare_with_the_largest_need(store: Store) -> None:
    costs = {"max-seen": OutOfTimeCost(cost_gb_h=8.0, failed_attempts=0)}
    both = {**costs, "classifier": OutOfTimeCost(cost_gb_h=2.0, failed_attempts=1)}
    store.models.save(TRAIN, a_model(), {}, out_of_time_costs=both)
    store.models.save(TRAIN, a_model(), {}, out_of_time_costs=costs)
    store.models.save(TRAIN, a_model(), {})
    store.models.save(TRAIN, None, {}, out_of_time_costs=both)
    lessons = store.experts.lessons(0)
    assert {each.kind for each in lessons} == {LessonKind.TRAINED}
    unknown = {"classifier": None}
    assert [each.times for each in lessons] == [{"classifier": 0.25}, unknown, unknown, {}]


@pytest.mark.slow
def test_what_the_experts_keep_goes_with_its_task_and_with_age(store_url: str) -> None:
    store = open_store_at(store_url)
    store.observations.record(
        [an_attempt("a").built, an_attempt("b").of(JOIN).running(1.0, 2.0).built]
    )
    decide(store, "never ended", request=4.0)
    assert store.experts.save(0, {str(JOIN): {}, str(TRAIN): {}}, {}, {0})
    assert sum(store.prune_steps(NOON_S, pruning.Bounds(tasks=1))) > 0
    assert [each.task for each in store.experts.lessons(0)] == [TRAIN]
    assert set(store.experts.standings()) == {str(TRAIN)}
    assert store.experts.bids("never ended") is not None
    sum(store.prune_steps(NOON_S + BIDS_KEPT_S + 1))
    assert store.experts.bids("never ended") is None
    store.close()


@pytest.mark.slow
def test_a_store_of_an_older_plimsoll_teaches_the_past_it_kept(empty_url: str) -> None:
    make_store_of("0003", empty_url)
    plain = {"task": str(TRAIN), "attempt": 1, "features": '{"rows": 5}', "neighbours": "[]"}
    rows = [
        ("c", "r3", "succeeded", 30, 300.0),
        ("a", "r1", "succeeded", 10, 100.0),
        ("k", "r2", "oom-killed", 15, 150.0),
        ("b", "r2", "succeeded", 20, 200.0),
        ("b2", "r2", "succeeded", 25, 210.0),
        ("n", "r4", "succeeded", None, 400.0),
    ]
    names = ("attempt_uid", "run", "outcome", "peak_bytes", "finished_s")
    insert(
        empty_url,
        "observations",
        [
            {
                **plain,
                **dict(zip(names, row, strict=True)),
                "allocation_bytes": 64,
                "ordered_s": row[-1],
                "started_s": row[-1] - 60,
            }
            for row in rows
        ],
    )
    store = open_store_at(empty_url)
    assert taught(store) == [("ended", "r1", 10), ("ended", "r2", 25), ("ended", "r3", 30)]
    assert [each.runtime_s for each in store.experts.lessons(0)] == [60.0] * 3
    assert store.experts.lessons(0)[0].features == {"rows": 5}
    store.close()
    again = open_store_at(empty_url)
    assert len(taught(again)) == 3, "the past is taught once"
    again.close()


def test_a_failure_by_itself_teaches_at_which_size_it_happened(store: Store) -> None:
    lowered = replace(an_attempt("l").built, written_limit_bytes=4 * GIB)
    written = replace(an_attempt("w").built, allocation_bytes=4 * GIB, written_limit_bytes=4 * GIB)
    for each in (lowered, written):
        store.observations.record([replace(each, outcome=Outcome.FAILED, exit_code=1)])
    lessons = store.experts.lessons(0)
    assert [each.kind for each in lessons] == [LessonKind.FAILED] * 2
    assert [(each.allocation_bytes, each.lowered) for each in lessons] == [
        (GIB, True),
        (4 * GIB, False),
    ]


@pytest.mark.parametrize(
    ("allocation_bytes", "written_bytes", "lowered"),
    [
        pytest.param(GIB, 2 * GIB, True, id="a lower limit"),
        pytest.param(2 * GIB, 2 * GIB, False, id="the same"),
        pytest.param(3 * GIB, 2 * GIB, False, id="a higher one"),
        pytest.param(8 * GIB, 0, True, id="a limit where there was none"),
        pytest.param(None, 0, False, id="none, as it was written"),
        pytest.param(GIB, None, True, id="nobody said, but below its request"),
        pytest.param(4 * GIB, None, False, id="nobody said, and as requested"),
    ],
)
def test_a_limit_is_lowered_if_its_author_wrote_more(
    allocation_bytes: int | None, written_bytes: int | None, lowered: bool
) -> None:
    attempt = replace(
        an_attempt().built, allocation_bytes=allocation_bytes, written_limit_bytes=written_bytes
    )
    assert attempt.is_lowered is lowered
