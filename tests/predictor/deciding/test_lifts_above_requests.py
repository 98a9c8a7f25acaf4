"""A run killed above its request is not given up where siblings succeeded with more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.deciding.lifting import FailedAttempt, next_allocation
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.knowledge.ladder import (
    OVER_LARGEST,
    STEPS_TO_REQUEST,
    Climb,
    lifted_bytes,
)
from tests.builders.experts.serving import AKnownTask

sizes_bytes = st.floats(1.0, 1e6)


def sizes_of(first_bytes: float, need_bytes: float, climb: Climb) -> list[float]:
    """What each attempt of a run gets, until it succeeds."""
    sizes = [first_bytes]
    while sizes[-1] < need_bytes:
        assert len(sizes) < 50, sizes
        sizes.append(lifted_bytes(sizes[-1], len(sizes), climb))
    return sizes


@given(
    first_bytes=sizes_bytes,
    largest_bytes=sizes_bytes,
    share=st.floats(0.0, 1.0),
    request_bytes=st.one_of(st.none(), sizes_bytes),
    ceilings_bytes=st.lists(sizes_bytes, max_size=8),
)
def test_a_run_that_a_known_size_holds_fails_no_oftener_than_the_ladder_has_steps(
    first_bytes: float,
    largest_bytes: float,
    share: float,
    request_bytes: float | None,
    ceilings_bytes: list[float],
) -> None:
    climb = Climb(
        largest_bytes=largest_bytes, request_bytes=request_bytes, ceilings_bytes=ceilings_bytes
    )
    sizes = sizes_of(first_bytes, largest_bytes * share, climb)
    # Ceilings can make one more: the request, before what is known.
    assert len(sizes) - 1 <= STEPS_TO_REQUEST + bool(ceilings_bytes)


def test_steps_above_the_request_are_wide_where_a_known_size_is_far() -> None:
    climb = Climb(largest_bytes=18.0, request_bytes=1.0)
    assert sizes_of(0.5, 17.0, climb) == [
        0.5,
        1.0,
        pytest.approx((18.0 * OVER_LARGEST) ** 0.5),
        18.0 * OVER_LARGEST,
    ]


def test_a_run_of_a_task_with_two_modes_reaches_the_large_one_within_its_lifts() -> None:
    """Its request was written for the small mode, and other runs of the large one succeeded."""
    known = AKnownTask().needing(18 * 1024).under(max_lifts=3).built
    killed_at_bytes, attempt = GIB // 2, 1
    while killed_at_bytes < 17 * GIB:
        failed = FailedAttempt(
            killed_at_bytes=killed_at_bytes,
            attempt=attempt,
            request_bytes=GIB,
            limit_bytes=GIB,
            attempts_left=6 - attempt,
        )
        step = next_allocation(failed, known, Bounds())
        assert isinstance(step, Lift), step
        killed_at_bytes, attempt = step.allocation_bytes, step.attempt
