"""The benchmark of splitting: what it writes, and what its bars reject."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.split import picture
from benchmarks.split.bars import MEMORY_BARS, TIME_BARS
from benchmarks.split.first import PODS_A_WORKER, first_runs
from benchmarks.split.listed import JOBS, over_bound
from benchmarks.split.memory import memory_figures
from benchmarks.split.node_kinds import KINDS as NODE_KINDS
from benchmarks.split.plays import AS_ADMITTED, KINDS, Kind, Play, played, summed
from plimsoll_predictor.splitting.strategies.catalogue import STRATEGIES
from plimsoll_predictor.splitting.strategies.strategy import Cut

SMALL = Kind(0.2, 0.5, 1_000, 8)
FIELDS = {"job", "mode", "default_s", "tuned_s", "bound_s", "peak_default_mb", "peak_tuned_mb"}
ISSUE = {
    (seconds, sigma, workers)
    for seconds in (0.01, 0.2, 5.0)
    for sigma in (0.5, 1.5)
    for workers in (16, 512)
}


def test_all_jobs_are_played() -> None:
    assert {(kind.median_s, kind.sigma, kind.workers) for kind in KINDS} == ISSUE


@pytest.mark.slow
@pytest.mark.parametrize("cut", Cut)
def test_a_row_a_strategy_has_what_is_promised(cut: Cut) -> None:
    tasks = [played(Play(SMALL, cut, 2, seed)) for seed in range(2)]
    rows = list(summed(SMALL, cut, tasks))
    as_cut = AS_ADMITTED if cut is Cut.BEFORE else ()
    assert [row.strategy for row in rows] == [*STRATEGIES, *as_cut]
    for row in rows:
        assert row.document().keys() >= FIELDS | {"runs"}
        assert row.tuned_s >= 0.99 * row.bound_s
        assert row.later <= row.lucky
    share = next(row for row in rows if row.strategy == "share")
    assert share.worst_learning == pytest.approx(1.0)
    judged = sum(bar.judges(row) for bar in TIME_BARS for row in rows)
    assert judged == {Cut.LEASED: 3, Cut.BEFORE: 2 + 2 * len(AS_ADMITTED)}[cut]


@pytest.mark.slow
def test_memory_is_saved_without_a_kill() -> None:
    rows = list(memory_figures(seeds=1))
    assert len(rows) == 3
    for row in rows:
        assert row.document().keys() >= FIELDS | {"runs"}
        assert all(bar.value(row) <= bar.most for bar in MEMORY_BARS)


@pytest.mark.slow
def test_the_picture_is_drawn(tmp_path: Path) -> None:
    picture.main([str(tmp_path / "split.svg")])
    now = (tmp_path / "split.svg").read_text(encoding="utf-8")
    assert now.startswith("<svg")
    assert now.rstrip().endswith("</svg>")
    assert "best even" in now


def test_first_runs_are_told_beside_the_share() -> None:
    quick, slow = (first_runs(SMALL, start_s, 2) for start_s in (0.0, 30.0))
    for found in (quick, slow):
        assert tuple(found) == PODS_A_WORKER
        assert found[1][1] == 1.0
        assert min(over_best for over_best, _ in found.values()) >= 1.0
    assert slow[4][1] > 2 > quick[4][1]


@pytest.mark.slow
def test_listed_chunks_are_played_on_the_same_orders_as_even_ones() -> None:
    """Its first Job is in shares, whatever its program reads; the next ones are within reach."""
    kind = NODE_KINDS[-1]
    even, listed = (over_bound(kind, most, start_s=1.0, orders=12) for most in (0, 1000))
    assert len(even) == len(listed) == JOBS
    assert even[0] == listed[0]
    assert sum(listed[1:]) < sum(even[1:])
