"""What follows when a run failed by itself, by its size, its attempts and its lift."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.core.record import Cause, Observation, Outcome
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.deciding.own_failures import lift_after_failure
from plimsoll_predictor.deciding.safeguards import Attempts
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.stores import an_attempt

FAILED = replace(
    an_attempt().built, outcome=Outcome.FAILED, exit_code=1, written_limit_bytes=4 * GIB
)
"""An attempt that got 1Gi where 4Gi was written."""
FULL = replace(FAILED, allocation_bytes=4 * GIB)
AS_WRITTEN = Lift(4 * GIB, attempt=2, after_bytes=GIB, as_written=True)
KILLED_AS_WRITTEN = Lift(8 * GIB, attempt=2, after_bytes=4 * GIB)
KILLED_LOWERED = Lift(2 * GIB, attempt=2, after_bytes=GIB)
MORE = Attempts(most=4)


@pytest.mark.parametrize(
    ("failed", "lift"),
    [
        pytest.param(FAILED, AS_WRITTEN, id="lowered"),
        pytest.param(FULL, replace(AS_WRITTEN, after_bytes=4 * GIB), id="as written"),
        pytest.param(replace(FAILED, cause=Cause.JVM, exit_code=3), AS_WRITTEN, id="a heap"),
        pytest.param(replace(FAILED, cause=Cause.KILLED, exit_code=137), AS_WRITTEN, id="SIGKILL"),
        pytest.param(replace(FAILED, cause=Cause.CUDA), None, id="a GPU's memory"),
        pytest.param(replace(FAILED, cause=Cause.DEADLINE), None, id="its deadline"),
        pytest.param(replace(FAILED, cause=Cause.NEVER_STARTED), None, id="it never started"),
        pytest.param(replace(FAILED, outcome=Outcome.EVICTED), None, id="evicted"),
        pytest.param(replace(FAILED, outcome=Outcome.DELETED), None, id="deleted"),
        pytest.param(replace(FAILED, exit_code=None), None, id="nobody knows how it ended"),
    ],
)
def test_a_run_that_failed_by_itself_goes_on_as_written(
    failed: Observation, lift: Lift | None
) -> None:
    assert lift_after_failure(failed, MORE, None, counted=True) == lift


@pytest.mark.parametrize(
    ("failed", "attempts", "counted"),
    [
        pytest.param(FULL, MORE, False, id="as written, and nobody counts its attempts"),
        pytest.param(FULL, Attempts(most=1), True, id="as written, and it was the last one"),
        pytest.param(FULL, Attempts(most=None), True, id="nobody says how many there are"),
    ],
)
def test_nothing_follows_where_nothing_would_help(
    failed: Observation, attempts: Attempts, counted: bool
) -> None:
    assert lift_after_failure(failed, attempts, None, counted=counted) is None


@pytest.mark.parametrize(
    ("failed", "there", "lift"),
    [
        pytest.param(FAILED, AS_WRITTEN, AS_WRITTEN, id="as written already"),
        pytest.param(FAILED, KILLED_LOWERED, AS_WRITTEN, id="killed, and still lowered"),
        pytest.param(FAILED, KILLED_AS_WRITTEN, KILLED_AS_WRITTEN, id="it gets more than written"),
        pytest.param(FULL, KILLED_AS_WRITTEN, KILLED_AS_WRITTEN, id="it got more than written"),
    ],
)
def test_a_lift_that_is_no_less_than_was_written_stays(
    failed: Observation, there: Lift, lift: Lift
) -> None:
    assert lift_after_failure(failed, MORE, there, counted=True) == lift
