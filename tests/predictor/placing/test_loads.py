"""A task's cost on a node, by what is left there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.placing.loads import (
    KILLED,
    Expected,
    Need,
    NodeLoad,
    Reading,
    Size,
    costs_with_loads,
    load_of,
    matters,
)

ROOMY = NodeLoad(4000, 4000, 64_000)


def cost(load: NodeLoad, need: Need, *, pairs: float = 0.0, residents: float = 0.0) -> float:
    """The cost on one node."""
    rows = np.array([load.row()])
    return float(costs_with_loads(np.array([pairs]), np.array([residents]), rows, need)[0])


def test_a_node_with_room_for_all_costs_what_its_pairs_cost() -> None:
    assert cost(ROOMY, Need(1000, 1000), pairs=0.7, residents=3) == 0.7


def test_what_is_not_known_costs_nothing() -> None:
    assert cost(NodeLoad(), Need(1000, 1000), pairs=0.7) == 0.7
    assert cost(NodeLoad(4000, None, None), Need(1000, 1000)) == 0.0
    assert cost(NodeLoad(None, None, 10), Need(None, 1000)) == 0.0


@pytest.mark.parametrize(
    ("room_mib", "share"), [(1000, 0.0), (750, 0.25), (0, 1.0), (-5000, 1.0), (2000, 0.0)]
)
def test_the_share_of_a_need_that_finds_no_memory_is_a_run_lost(
    room_mib: int, share: float
) -> None:
    assert cost(NodeLoad(4000, 4000, room_mib), Need(1000, 0)) == pytest.approx(KILLED * share)


def test_without_a_need_only_a_node_that_is_full_already_costs() -> None:
    assert cost(NodeLoad(None, None, 1), Need(None, 0)) == 0.0
    assert cost(NodeLoad(None, None, 0), Need(None, 0)) == KILLED


def test_everybody_on_a_busy_node_takes_longer() -> None:
    busy = NodeLoad(1000, 0, 64_000)
    assert cost(busy, Need(1, 1000), residents=1) == pytest.approx(2.0), "two on one core"
    assert cost(busy, Need(1, 50), residents=1) == pytest.approx(0.1), "one that mostly waits"
    assert cost(NodeLoad(1000, 400, 64_000), Need(1, 500)) == pytest.approx(0.1)
    assert cost(busy, Need(1, 64_000)) == pytest.approx(1.0), "it has one core at most"
    assert cost(busy, Need(1, None)) == pytest.approx(1.0), "nobody knows: it counts as one core"


def test_contention_that_pairs_tell_of_is_not_counted_twice() -> None:
    busy = NodeLoad(1000, 0, 64_000)
    need = Need(1, 1000)
    assert cost(busy, need, pairs=1.84, residents=1) == pytest.approx(2.0)
    assert cost(busy, need, pairs=2.5, residents=1) == pytest.approx(2.5)
    assert cost(busy, need, pairs=-0.3, residents=0) == pytest.approx(0.7), "prices stay"


@pytest.mark.slow
@given(
    pairs=st.floats(-1, 3),
    residents=st.integers(0, 100),
    idle=st.integers(0, 8000),
    room=st.integers(-10_000, 100_000),
    need=st.builds(Need, st.floats(0, 1e5), st.floats(0, 1e5)),
)
def test_a_load_never_makes_a_node_cheaper_and_less_left_never_better(
    pairs: float, residents: int, idle: int, room: int, need: Need
) -> None:
    def of(load: NodeLoad) -> float:
        return cost(load, need, pairs=pairs, residents=residents)

    some = of(NodeLoad(8000, idle, room))
    assert math.isfinite(some)
    assert some >= pairs
    assert of(NodeLoad(8000, idle // 2, room)) >= some
    assert of(NodeLoad(8000, idle, room - 100)) >= some


def test_of_a_node_that_nobody_knows_nothing_is_known_with_a_load_either() -> None:
    assert math.isnan(cost(ROOMY, Need(1, 1), pairs=math.nan, residents=math.nan))


def test_a_node_without_a_size_has_no_load() -> None:
    reading = Reading(0.5, 0.5, {})
    assert load_of(Size(), reading, []) == NodeLoad()
    assert load_of(Size(100 * MIB, None), reading, []) == NodeLoad(None, None, 50)
    assert load_of(Size(100 * MIB, 1000), Reading(), []) == NodeLoad()


def test_those_who_have_just_begun_leave_no_processor_idle_at_most() -> None:
    running = [(uid, Expected(None, 3.0)) for uid in "abc"]
    assert load_of(Size(None, 4000), Reading(0.25, None, {}), running) == NodeLoad(4000, 0, None)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        pytest.param(NodeLoad(32_000, 8_999, 9_999), False, id="less than a step"),
        pytest.param(NodeLoad(32_000, 9_000, 9_000), True, id="a step of the processors"),
        pytest.param(NodeLoad(32_000, 8_000, 10_024), True, id="a step of the memory"),
        pytest.param(NodeLoad(32_000, None, 9_000), True, id="not known any more"),
        pytest.param(NodeLoad(None, 8_000, 9_000), True, id="without processors"),
        pytest.param(NodeLoad(pressed=True), True, id="under pressure"),
    ],
)
def test_a_change_is_told_by_steps(now: NodeLoad, *, told: bool) -> None:
    size = Size(32 * 1024 * MIB, 32_000)
    assert matters(NodeLoad(32_000, 8_000, 9_000), now, size) is told


def test_that_nothing_is_left_is_told_however_small_the_change() -> None:
    size = Size(32 * 1024 * MIB, 32_000)
    assert matters(NodeLoad(32_000, 8_000, 1), NodeLoad(32_000, 8_000, 0), size)
    assert not matters(NodeLoad(32_000, 8_000, 0), NodeLoad(32_000, 8_000, -1), size)


@pytest.mark.parametrize(
    "load", [NodeLoad(), NodeLoad(pressed=True), NodeLoad(8000, 0, -4096), NodeLoad(room_mib=7)]
)
def test_a_load_is_read_as_it_was_written(load: NodeLoad) -> None:
    assert NodeLoad.from_document(load.to_document()) == load


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"millicores": 0},
        {"idle_millicores": -1},
        {"room_mib": 2**41},
        {"pressed": 1},
        {"room_mib": 0.5},
    ],
)
def test_what_is_no_load_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match="load"):
        NodeLoad.from_document(document)
