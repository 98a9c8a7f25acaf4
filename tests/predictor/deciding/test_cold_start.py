"""What an unknown task gets, and what follows if that was too little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.decision import Ask, Bounds, Decision
from plimsoll_predictor.core.policy import LEAST_FIRST_SIZE, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.deciding.lifting import FailedAttempt, Leaking, next_allocation
from plimsoll_predictor.deciding.memory import decide, first_bytes
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.panel import ANCHORS, EXPERTS
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Ended, Exceeded, Standing
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift


def test_nothing_said_keeps_the_request() -> None:
    assert first_bytes(4 * GIB, Policy()) is None


def test_a_first_size_is_a_share_of_the_request() -> None:
    assert first_bytes(4 * GIB, Policy(first_size=0.75)) == 3 * GIB


def test_a_critical_task_keeps_its_request_whatever_the_share() -> None:
    assert first_bytes(4 * GIB, Policy(first_size=0.75, critical=True)) is None


def test_what_was_not_asked_for_has_no_share() -> None:
    assert first_bytes(None, Policy(first_size=0.75)) is None


@pytest.mark.parametrize("exceeded_bytes", [3 * GIB, 5 * GIB])
def test_a_first_size_that_was_too_small_for_one_run_is_not_tried_on_the_next(
    exceeded_bytes: int,
) -> None:
    assert first_bytes(4 * GIB, Policy(first_size=0.75), exceeded_bytes) is None


def test_a_kill_below_the_first_size_says_nothing_against_it() -> None:
    assert first_bytes(4 * GIB, Policy(first_size=0.75), 2 * GIB) == 3 * GIB


@given(st.integers(1, 2**50), st.floats(LEAST_FIRST_SIZE, 1))
def test_no_first_size_is_above_the_request_or_below_its_share(
    request_bytes: int, share: float
) -> None:
    size_bytes = first_bytes(request_bytes, Policy(first_size=share))
    if size_bytes is not None:
        assert request_bytes * share <= size_bytes <= request_bytes


@pytest.mark.parametrize("share", [0.5, 0.6, 0.75, 0.8])
def test_a_kill_at_the_first_size_is_answered_with_the_request(share: float) -> None:
    policy = Policy(first_size=share)
    killed_bytes = first_bytes(4 * GIB, policy)
    assert killed_bytes is not None
    # The kill taught only that more than this is needed.
    known = Knowledge(task=TaskId("shop", "train"), policy=policy, max_need_bytes=killed_bytes)
    failed = FailedAttempt(killed_at_bytes=killed_bytes, attempt=1, request_bytes=4 * GIB)
    lift = next_allocation(failed, known, Bounds())
    assert isinstance(lift, Lift)
    assert lift.allocation_bytes == 4 * GIB


REQUEST_BYTES = 4 * GIB
TRAIN = Knowledge(task=TaskId("shop", "train"), policy=Policy())


def first_size(standing: Standing, *, limit_bytes: int | None = None) -> Decision:
    """What the next run of the task is given."""
    ask = Ask(features={}, request_bytes=REQUEST_BYTES, limit_bytes=limit_bytes)
    return decide(ask, standing.inform(TRAIN), Bounds())


def leak(standing: Standing, pool: Pool, *, limit_bytes: int | None = None) -> None:
    """A run that is killed at its first size, and at every lift."""
    size_bytes = first_size(standing, limit_bytes=limit_bytes).allocation_bytes or REQUEST_BYTES
    attempt = 1
    while True:
        killed = Exceeded(
            run="leak", allocation_bytes=size_bytes, request_bytes=REQUEST_BYTES, cause="oom"
        )
        standing.exceeded(killed)
        standing.refresh(pool, overhead_s=None)
        failed = FailedAttempt(
            killed_at_bytes=size_bytes, attempt=attempt, request_bytes=REQUEST_BYTES
        )
        answer = next_allocation(failed, standing.inform(TRAIN), Bounds())
        if isinstance(answer, Leaking):
            return
        size_bytes, attempt = answer.allocation_bytes, answer.attempt


@pytest.mark.parametrize("good_runs", [0, 3])
def test_no_run_starts_where_runs_that_leak_were_given_up(good_runs: int) -> None:
    standing, pool = Standing(), Pool(EXPERTS, ANCHORS)
    for _ in range(good_runs):
        run = EndedRun(1.0 * GIB, 600.0, REQUEST_BYTES)
        standing.learn(Ended(run=run, features={}, bids=None, overhead_s=None), pool)
    for _ in range(3):
        leak(standing, pool)
        first = first_size(standing)
        assert REQUEST_BYTES < (first.allocation_bytes or 0) <= 2 * REQUEST_BYTES
    assert "no more than 8Gi, as only kills show a larger need" in first.why


def test_a_run_may_start_at_twice_a_limit_above_its_request() -> None:
    standing, pool = Standing(), Pool(EXPERTS, ANCHORS)
    leak(standing, pool)
    leak(standing, pool)
    first = first_size(standing, limit_bytes=6 * GIB)
    assert first.allocation_bytes == 12 * GIB


def test_a_run_starts_over_whatever_a_run_before_it_succeeded_at() -> None:
    standing, pool = Standing(), Pool(EXPERTS, ANCHORS)
    leak(standing, pool)
    large = EndedRun(30.0 * GIB, 600.0, REQUEST_BYTES)
    standing.learn(Ended(run=large, features={}, bids=None, overhead_s=None), pool)
    assert (first_size(standing).allocation_bytes or 0) > 30 * GIB
