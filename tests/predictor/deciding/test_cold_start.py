"""What an unknown task gets, and what follows if that was too little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.policy import LEAST_FIRST_SIZE, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.deciding.decide import first_bytes
from plimsoll_predictor.deciding.lifting import FailedAttempt, next_allocation
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
    failed = FailedAttempt(allocation_bytes=killed_bytes, attempt=1, request_bytes=4 * GIB)
    lift = next_allocation(failed, known, Bounds())
    assert isinstance(lift, Lift)
    assert lift.allocation_bytes == 4 * GIB
