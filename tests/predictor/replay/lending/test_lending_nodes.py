"""Cold runs on full nodes, with lending and without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.lending.node_steps import Patience
from plimsoll_predictor.replay.growth import GROWTHS, LATE, LINEAR, Growth
from plimsoll_predictor.replay.lending.cold_run import BASE, ColdRun
from plimsoll_predictor.replay.lending.nodes import Played, cold_runs, play

GB = 10**9
RUN = ColdRun(task="one", asked_bytes=8 * GB, need_bytes=2 * GB, runtime_s=3600.0)


def batch(count: int) -> list[ColdRun]:
    return [replace(RUN, task=f"task-{number}") for number in range(count)]


def played(runs: list[ColdRun], growth: Growth, patience: Patience | None = None) -> Played:
    return play(runs, growth, nodes=1, node_bytes=32 * GB, patience=patience)


@pytest.mark.parametrize("growth", GROWTHS, ids=lambda growth: growth.name)
def test_without_lending_requests_are_reserved_from_start_to_end(growth: Growth) -> None:
    found = played(batch(8), growth)
    assert (found.makespan_s, found.lends, found.short) == (7200.0, 0, 0)
    assert found.reserved_gb_h == pytest.approx(8 * 8)
    assert found.waste_gb_h == pytest.approx(8 * 8 - 8 * RUN.used_byte_s(growth) / GB / 3600)


def test_runs_that_are_flat_make_room_for_those_that_wait() -> None:
    without, lent = played(batch(5), LINEAR), played(batch(5), LINEAR, Patience())
    assert lent.makespan_s < without.makespan_s
    assert lent.waste_gb_h < without.waste_gb_h
    assert (lent.backs, lent.deferred, lent.beyond, lent.short) == (0, 0, 0, 0)


def test_growth_that_comes_late_is_taken_back_where_there_is_room_and_else_waits() -> None:
    alone = played(batch(1), LATE, Patience())
    assert (alone.lends, alone.backs, alone.deferred) == (1, 1, 0)
    crowded = played(batch(8), LATE, Patience())
    assert crowded.deferred > 0
    assert crowded.short == 0


def test_a_nodes_memory_that_is_really_used_up_is_counted() -> None:
    # The whole request is needed, but only at the end: memory that is lent then is missing.
    needed = [replace(each, need_bytes=each.asked_bytes) for each in batch(6)]
    assert played(needed, LATE, Patience()).short == 1
    assert played(needed, LATE).short == 0


def test_what_a_run_uses_adds_up_to_its_integral() -> None:
    for growth in GROWTHS:
        steps = 20_000
        total = sum(
            RUN.used_bytes(growth, (number + 0.5) / steps * RUN.runtime_s)
            for number in range(steps)
        )
        assert total / steps * RUN.runtime_s == pytest.approx(RUN.used_byte_s(growth), rel=1e-6)


def test_the_time_at_which_so_much_is_used_is_found() -> None:
    for growth in GROWTHS:
        age_s = RUN.reaches_s(growth, GB)
        assert age_s is not None
        assert RUN.used_bytes(growth, age_s) == pytest.approx(GB)
        assert RUN.reaches_s(growth, 3 * GB) is None
        assert RUN.used_bytes(growth, 0.0) == BASE * RUN.need_bytes


def test_runs_are_cold_until_one_of_their_task_has_ended() -> None:
    runs = [replace(RUN, runtime_s=float(number)) for number in range(1, 4)]
    rows = [
        ("one", 0.0, 100.0, runs[0]),
        ("one", 100.0, 200.0, runs[2]),
        ("one", 50.0, 90.0, runs[1]),
    ]
    assert list(cold_runs(rows)) == runs[:2]
