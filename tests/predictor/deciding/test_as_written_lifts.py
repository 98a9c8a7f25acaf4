"""What a run gets back after an attempt that had less than was written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.core.record import Cause, Observation, Outcome
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.deciding.restoring_written import lift_to_written, no_less_than_written
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.stores import an_attempt

KILLED = replace(
    an_attempt().built,
    outcome=Outcome.OOM_KILLED,
    request_bytes=4 * GIB,
    request_memory_ran_bytes=GIB,
    allocation_bytes=GIB,
    written_limit_bytes=8 * GIB,
)
"""An attempt that got 1Gi where 4Gi and a limit of 8Gi were written."""
PRESSED_OUT = replace(
    KILLED, outcome=Outcome.EVICTED, cause=Cause.NODE_PRESSURE, allocation_bytes=8 * GIB
)
"""An attempt of which only the request was lower."""
AS_WRITTEN = Lift(4 * GIB, attempt=2, after_bytes=GIB, as_written=True)


@pytest.mark.parametrize("ended", [KILLED, PRESSED_OUT])
def test_the_next_attempt_is_as_its_author_wrote_it(ended: Observation) -> None:
    assert lift_to_written(ended) == AS_WRITTEN
    assert no_less_than_written(ended, None) == AS_WRITTEN


@pytest.mark.parametrize(
    ("lift", "is_kept"),
    [
        pytest.param(replace(AS_WRITTEN, attempt=3), True, id="as written already"),
        pytest.param(Lift(8 * GIB, attempt=2, after_bytes=GIB), True, id="as much as was written"),
        pytest.param(Lift(6 * GIB, attempt=2, after_bytes=GIB), False, id="less than its limit"),
    ],
)
def test_a_lift_stays_if_it_is_no_less_than_was_written(lift: Lift, is_kept: bool) -> None:
    assert no_less_than_written(KILLED, lift) == (lift if is_kept else AS_WRITTEN)


def test_no_lift_is_as_much_as_no_limit() -> None:
    unlimited = replace(KILLED, written_limit_bytes=0)
    assert no_less_than_written(unlimited, Lift(64 * GIB, 2, GIB)) == AS_WRITTEN


@pytest.mark.parametrize(
    ("ended", "is_pressed_out"),
    [
        pytest.param(PRESSED_OUT, True, id="a lower request, its node's memory"),
        pytest.param(replace(PRESSED_OUT, cause=Cause.EVICTED), False, id="its node's disk"),
        pytest.param(replace(PRESSED_OUT, cause=Cause.PREEMPTED), False, id="preempted"),
        pytest.param(
            replace(PRESSED_OUT, request_memory_ran_bytes=4 * GIB), False, id="as written"
        ),
        pytest.param(replace(PRESSED_OUT, request_memory_ran_bytes=None), False, id="no request"),
        pytest.param(replace(PRESSED_OUT, request_bytes=None), False, id="nothing was written"),
    ],
)
def test_only_its_nodes_memory_presses_out_a_lower_request(
    ended: Observation, is_pressed_out: bool
) -> None:
    assert (ended.was_pressed_out, ended.killed_below_request) == (is_pressed_out,) * 2
    assert ended.need is None
