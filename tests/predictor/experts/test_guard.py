"""The slow guard: what it counts, when it steps in, what it holds a task to, and for how long."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from plimsoll_predictor.core.decision import Ask, Bounds
from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB, gb_hours
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.guard import HELD_RUNS, LEAST_RUNS, MOST_LOST, Guard, ServedRun
from plimsoll_predictor.experts.panel import ANCHORS, EXPERTS
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Ended, Exceeded, Standing
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN, REQUEST
from plimsoll_predictor.knowledge.guarded import Guarded
from plimsoll_predictor.knowledge.knowledge import Knowledge

HOUR = EndedRun(need_bytes=GIB, runtime_s=3600.0, request_bytes=4 * GIB)
RUN = ServedRun(key="run", run=HOUR, given_bytes=GIB, max_seen_bytes=1.1 * GIB)
BOUNDS = Bounds(cap_bytes=128 * 10**9)


def a_guard(served: ServedRun, runs: int) -> Guard:
    guard = Guard()
    for _ in range(runs):
        guard.ended(served)
    return guard


def test_it_steps_in_only_after_many_runs() -> None:
    worse = replace(RUN, given_bytes=2.0 * GIB)
    assert a_guard(worse, LEAST_RUNS - 1).guarded is None
    assert a_guard(worse, LEAST_RUNS).guarded == Guarded(MAX_SEEN, 1.82, LEAST_RUNS)


def test_it_never_steps_in_where_sizes_were_about_as_good() -> None:
    assert a_guard(replace(RUN, given_bytes=1.25 * GIB), 10 * LEAST_RUNS).guarded is None


def test_it_holds_a_task_to_its_request_where_that_is_the_cheaper() -> None:
    worse = replace(RUN, given_bytes=6.0 * GIB, max_seen_bytes=5.0 * GIB)
    guarded = a_guard(worse, LEAST_RUNS).guarded
    assert guarded is not None
    assert guarded.expert == REQUEST


def test_a_killed_attempt_counts_for_the_time_that_it_held_its_memory() -> None:
    guard = Guard()
    guard.killed("run", 0.5 * GIB, 1800.0)
    guard.killed("run", 0.75 * GIB, None)
    guard.ended(RUN)
    held = gb_hours(0.5 * GIB, 1800.0) + gb_hours(0.75 * GIB, 3600.0) + gb_hours(GIB, 3600.0)
    assert guard.request.served == pytest.approx(held)
    assert guard.request.rule == pytest.approx(gb_hours(4 * GIB, 3600.0))
    assert guard.max_seen.rule == pytest.approx(gb_hours(1.1 * GIB, 3600.0))
    assert guard.lost == {}


def test_a_rule_that_is_too_small_is_paid_for_as_well() -> None:
    guard = Guard()
    guard.ended(replace(RUN, max_seen_bytes=0.4 * GIB))
    assert guard.max_seen.rule == pytest.approx(gb_hours((0.4 + 0.8 + 1.6) * GIB, 3600.0))


def test_a_run_of_an_unknown_task_is_compared_with_its_request_alone() -> None:
    guard = a_guard(replace(RUN, given_bytes=4.0 * GIB, max_seen_bytes=None), 10 * LEAST_RUNS)
    assert guard.guarded is None
    assert guard.max_seen.times == pytest.approx(1.0)


def test_a_run_that_nobody_has_a_size_for_is_not_counted() -> None:
    nothing = replace(RUN, run=replace(HOUR, request_bytes=None), max_seen_bytes=None)
    assert a_guard(nothing, 5).runs == 0


def test_one_large_run_does_not_make_a_task_that_did_worse() -> None:
    guard = a_guard(RUN, LEAST_RUNS - 1)
    large = EndedRun(need_bytes=40 * GIB, runtime_s=360_000.0, request_bytes=80 * GIB)
    guard.ended(ServedRun(key="large", run=large, given_bytes=80 * GIB, max_seen_bytes=41 * GIB))
    assert guard.max_seen.times > 1.5
    assert guard.guarded is None


def test_no_size_is_compared_with_one_that_nobody_may_have() -> None:
    tiny = EndedRun(need_bytes=5 * MIB, runtime_s=10.0, request_bytes=GIB)
    served = ServedRun(
        key="run", run=tiny, given_bytes=32 * MIB, max_seen_bytes=5.5 * MIB, least_bytes=32 * MIB
    )
    assert a_guard(served, 2 * LEAST_RUNS).guarded is None


def test_after_many_runs_the_learned_sizes_are_tried_again_and_counted_anew() -> None:
    guard = a_guard(replace(RUN, given_bytes=2.0 * GIB), LEAST_RUNS)
    held = []
    for _ in range(HELD_RUNS):
        held.append(guard.guarded is not None)
        guard.ended(RUN)
    assert all(held)
    assert guard.guarded is None
    assert (guard.runs, guard.request.rule) == (0, 0)


def test_awaited_runs_are_bounded_and_the_latest_stay() -> None:
    guard = Guard()
    for number in range(MOST_LOST + 3):
        guard.killed(str(number), GIB, 60.0)
    assert len(guard.lost) == MOST_LOST
    assert "0" not in guard.lost


def test_it_is_written_down_and_read_back_alike() -> None:
    guard = a_guard(replace(RUN, given_bytes=2.0 * GIB), LEAST_RUNS + 3)
    guard.killed("open", GIB, None)
    assert from_document(Guard, to_document(guard), "a guard") == guard


def served(standing: Standing, pool: Pool, number: int, need_bytes: float) -> int:
    """A run whose learned size is decided now and lifted by doubling; returns its failures."""
    bids = standing.bids(GIB, {})
    knowledge = standing.inform(
        Knowledge(task=TaskId("shop", "train"), policy=Policy(mode=Mode.ENFORCE))
    )
    given = float(decide(Ask(features={}, request_bytes=GIB), knowledge, BOUNDS).allocation_bytes)  # type: ignore[arg-type]
    failures = 0
    while given < need_bytes:
        failures += 1
        standing.exceeded(
            Exceeded(run=str(number), allocation_bytes=given, request_bytes=GIB, given_bytes=given)
        )
        given = GIB
    standing.learn(
        Ended(
            run=EndedRun(need_bytes, 600.0, GIB),
            features={},
            bids=bids,
            overhead_s=2400.0,
            key=str(number),
            given_bytes=given,
            max_seen_bytes=bids.get(MAX_SEEN),
        ),
        pool,
    )
    return failures


def hostile(standing: Standing, pool: Pool, runs: range) -> int:
    """Runs that need a little more than they are about to get, below their request."""
    failures = 0
    for number in runs:
        knowledge = standing.inform(
            Knowledge(task=TaskId("shop", "train"), policy=Policy(mode=Mode.ENFORCE))
        )
        size = decide(Ask(features={}, request_bytes=GIB), knowledge, BOUNDS).allocation_bytes
        need_bytes = 1.02 * float(size or GIB)
        failures += served(standing, pool, number, need_bytes if need_bytes < GIB else 50.0 * MIB)
    return failures


@pytest.mark.slow
def test_a_task_where_everything_fails_is_served_as_it_is_written() -> None:
    standing, pool = Standing(), Pool(EXPERTS, ANCHORS)
    before = hostile(standing, pool, range(LEAST_RUNS))
    assert before > LEAST_RUNS // 4
    assert standing.champion == REQUEST
    assert standing.guard.guarded is not None
    assert hostile(standing, pool, range(LEAST_RUNS, 2 * LEAST_RUNS)) == 0
    known = standing.inform(
        Knowledge(task=TaskId("shop", "train"), policy=Policy(mode=Mode.ENFORCE))
    )
    decision = decide(Ask(features={}, request_bytes=GIB), known, BOUNDS)
    assert (
        "the task follows this rule, because over 200 runs its learned sizes held" in decision.why
    )
    assert Knowledge.from_dict(known.to_dict()).guarded == standing.guard.guarded


@pytest.mark.slow
def test_a_restart_in_the_middle_comes_to_the_same() -> None:
    random_ = random.Random(3)
    needs = [random_.uniform(100, 900) * MIB for _ in range(2 * LEAST_RUNS)]
    whole, restarted, pool = Standing(), Standing(), Pool(EXPERTS, ANCHORS)
    other = Pool(EXPERTS, ANCHORS)
    for number, need_bytes in enumerate(needs):
        served(whole, pool, number, need_bytes)
        served(restarted, other, number, need_bytes)
        if number % 50 == 0:
            restarted = Standing.from_dict(restarted.to_dict())
    assert restarted.guard == whole.guard
    assert restarted.champion == whole.champion
