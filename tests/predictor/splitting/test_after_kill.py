"""Which is cheaper after a kill for memory: smaller chunks, or more memory."""

from __future__ import annotations

import pytest

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.after_kill import smaller_is_cheaper
from plimsoll_predictor.splitting.costs import Costs
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.peaks import KilledChunk, Peaks
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut

LIMIT = 128 * MIB
WAIT_S = 0.05


def costs(item_s: float) -> Costs:
    guided = Guided()
    for items in (1, 2, 4, 8):
        guided.done(Chunk(items, items * item_s))
    assert guided.costs is not None
    return guided.costs


def line(base_bytes: int, item_bytes: int) -> Peaks:
    return Peaks(base_bytes, item_bytes, 0.05, 0.0, largest=16, middle=8.0, apart=True)


@pytest.mark.parametrize(
    ("items", "before", "peaks", "item_s", "smaller"),
    [
        pytest.param(16, None, None, None, True, id="nothing known"),
        pytest.param(1, None, None, None, False, id="one item is no chunk to halve"),
        pytest.param(16, KilledChunk(16, LIMIT), None, 1.0, True, id="of the same size, at once"),
        pytest.param(8, KilledChunk(16, LIMIT), None, 1.0, False, id="halved, killed again"),
        pytest.param(8, KilledChunk(16, LIMIT // 2), None, 1.0, True, id="halved in less memory"),
        pytest.param(16, None, line(200 * MIB, MIB), 1.0, False, id="no item fits at all"),
        pytest.param(16, None, line(20 * MIB, 8 * MIB), 1.0, True, id="fewer items fit"),
        pytest.param(4, None, None, 0.001, False, id="an item takes less than it takes to get it"),
    ],
)
def test_smaller_chunks_come_first_where_they_cost_less(
    items: int,
    before: KilledChunk | None,
    peaks: Peaks | None,
    item_s: float | None,
    smaller: bool,
) -> None:
    known = None if item_s is None else costs(item_s)
    assert smaller_is_cheaper(KilledChunk(items, LIMIT), before, peaks, known, WAIT_S) is smaller


def test_chunks_are_halved_once_at_a_size_and_then_memory_helps() -> None:
    guided = Guided(LIMIT)
    guided.begin(Job(1_000, 2, 2.0, WAIT_S), Cut.LEASED)
    for items in (1, 2, 4, 8, 16):
        guided.done(Chunk(items, float(items), (20 + items) * MIB, items))
    assert guided.killed(32, LIMIT)
    assert guided.next_items(900) <= 16
    assert guided.killed(32, LIMIT), "it was leased before the other was killed"
    assert not guided.killed(16, LIMIT)
    assert guided.next_items(900) <= 8


def test_chunks_are_halved_also_where_nobody_tells_limits_or_peaks() -> None:
    guided = Guided()
    guided.begin(Job(1_000, 2, 2.0, WAIT_S), Cut.LEASED)
    guided.done(Chunk(4, 4.0))
    assert guided.next_items(900) > 4
    assert guided.killed(8, LIMIT)
    assert guided.next_items(900) == 4


def test_a_kill_of_one_run_bounds_no_chunks_of_later_ones_where_nobody_tells_limits() -> None:
    guided = Guided()
    guided.begin(Job(1_000, 2, 2.0, WAIT_S), Cut.LEASED)
    guided.killed(1, LIMIT)
    guided.done(Chunk(1, 0.001))
    assert guided.next_items(900) == 1
    later = Guided()
    later.remember(guided.to_document())
    later.begin(Job(1_000, 2, 2.0, WAIT_S), Cut.LEASED)
    assert later.next_items(900) > 1
