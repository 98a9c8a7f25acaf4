"""What may hold back a size; none of it cuts below what the author wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.decision import Ask, Bounds, Reason
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.deciding.clamping import Clamped, Range
from plimsoll_predictor.deciding.lifting import FailedAttempt, next_allocation
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.rigs.drawing import examples

TRAIN = TaskId("shop", "train")
NODE = "the largest node"
SIZES = st.integers(1, 1024).map(lambda units: units * 100 * MIB)


def a_range(
    request_bytes: int | None = None,
    *,
    room: int | None = None,
    most: int | None = None,
    cap: int | None = None,
    floor: int | None = None,
    written: int | None = 0,
) -> Range:
    bounds = Bounds(
        floor_bytes=floor, cap_bytes=cap, room_bytes=room, room_of=NODE, written_bytes=written
    )
    return Range.of(Policy(max_bytes=most), bounds, request_bytes)


def test_a_raise_goes_as_far_as_there_is_room() -> None:
    found = a_range(GIB, room=3 * GIB, written=GIB).clamp(5 * GIB)
    assert found == Clamped(3 * GIB, "cut to the largest node, 3Gi")


def test_a_lower_size_is_not_cut_by_a_small_node() -> None:
    assert a_range(64 * GIB, room=8 * GIB).clamp(20 * GIB) == Clamped(20 * GIB)


def test_a_need_above_request_and_room_leaves_at_least_the_request() -> None:
    found = a_range(64 * GIB, room=8 * GIB, written=64 * GIB).clamp(70 * GIB)
    assert found.allocation_bytes == 64 * GIB


@pytest.mark.parametrize(
    ("request_bytes", "written_bytes"),
    [
        pytest.param(GIB, None, id="no limit"),
        pytest.param(GIB, 8 * GIB, id="a limit above the room"),
        pytest.param(None, None, id="nothing at all"),
    ],
)
def test_a_pod_that_could_use_more_as_written_is_left_so(
    request_bytes: int | None, written_bytes: int | None
) -> None:
    found = a_range(request_bytes, room=3 * GIB, written=written_bytes).clamp(5 * GIB)
    assert found.allocation_bytes is None
    assert found.note == "5Gi is more than the largest node, 3Gi, so it is left as written"


def test_no_room_at_all_is_no_size_for_a_pod_that_asks_for_nothing() -> None:
    assert a_range(None, room=0, written=0).clamp(GIB).allocation_bytes is None


def test_a_policys_maximum_never_cuts_a_request() -> None:
    assert a_range(8 * GIB, most=4 * GIB).clamp(6 * GIB).allocation_bytes is None
    assert a_range(8 * GIB, most=4 * GIB).clamp(3 * GIB) == Clamped(3 * GIB)
    assert a_range(2 * GIB, most=4 * GIB).clamp(6 * GIB).allocation_bytes == 4 * GIB


def test_what_the_api_server_refuses_is_cut() -> None:
    assert a_range(GIB, cap=3 * GIB).clamp(5 * GIB) == Clamped(
        3 * GIB, "cut to the LimitRange's maximum of 3Gi"
    )
    assert a_range(8 * GIB, cap=3 * GIB, room=GIB).clamp(5 * GIB).allocation_bytes == 3 * GIB


def test_a_size_that_is_not_set_is_said_and_the_pod_kept() -> None:
    known = Knowledge(
        task=TRAIN, policy=Policy(), runs=20, max_need_bytes=5 * GIB, champion=MAX_SEEN
    )
    bounds = Bounds(room_bytes=3 * GIB, room_of=NODE, written_bytes=None)
    decision = decide(Ask(features={}, request_bytes=GIB), known, bounds)
    assert (decision.allocation_bytes, decision.reason) == (None, Reason.KEPT)
    assert decision.why.endswith("is more than the largest node, 3Gi, so it is left as written")


@pytest.mark.parametrize(
    ("allowed", "expected_bytes"),
    [
        pytest.param(a_range(64 * GIB, room=8 * GIB), 20 * GIB, id="to the request, any node"),
        pytest.param(a_range(2 * GIB, room=8 * GIB), 8 * GIB, id="above it, as nodes allow"),
        pytest.param(a_range(16 * GIB, room=8 * GIB), 16 * GIB, id="the request is next"),
        pytest.param(a_range(64 * GIB, most=8 * GIB), 64 * GIB, id="so above a policy's maximum"),
        pytest.param(a_range(64 * GIB, cap=8 * GIB), 8 * GIB, id="not above a LimitRange"),
    ],
)
def test_a_lift_is_not_held_back_below_the_request(allowed: Range, expected_bytes: int) -> None:
    assert allowed.lift(20 * GIB) == expected_bytes


def test_a_run_killed_below_its_request_on_small_nodes_is_lifted_and_not_given_up() -> None:
    failed = FailedAttempt(killed_at_bytes=7 * GIB, attempt=3, request_bytes=64 * GIB)
    known = Knowledge(task=TRAIN, policy=Policy(), runs=20, max_need_bytes=7 * GIB)
    lift = next_allocation(failed, known, Bounds(room_bytes=7 * GIB, room_of=NODE))
    assert isinstance(lift, Lift)
    assert lift.allocation_bytes >= 64 * GIB


@pytest.mark.slow
@given(
    size=SIZES,
    request=st.none() | SIZES,
    limit=st.none() | SIZES,
    room=st.none() | SIZES,
    most=st.none() | SIZES,
)
@examples(250)
def test_a_size_below_the_need_is_never_below_what_the_author_wrote(
    size: int, request: int | None, limit: int | None, room: int | None, most: int | None
) -> None:
    """request and limit become the size: so neither is lowered where the size is cut."""
    written = None if limit is None else max(limit, request or 0)
    found = a_range(request, room=room, most=most, written=written).clamp(size).allocation_bytes
    if found is not None and found < size:
        assert written is not None
        assert found >= max(written, request or 0)
    if found is not None and found > (request or 0):
        assert found <= min(room or found, most or found)
