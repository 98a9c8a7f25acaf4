"""Drawn chunks: by the law of their items, with the same items for all cuts of a job."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plimsoll_predictor.splitting import proposing
from plimsoll_predictor.splitting.chunk_runs import ChunkRun, learned_of
from plimsoll_predictor.splitting.costs import Costs
from plimsoll_predictor.splitting.cutting import CuttableJob, cut
from plimsoll_predictor.splitting.drawing import drawn_s

SIGMA = 1.5
ITEM_S = math.exp(SIGMA**2 / 2)
COSTS = Costs(
    item_s=ITEM_S,
    chunk_s=0.0,
    spread_s=ITEM_S * math.sqrt(math.expm1(SIGMA**2)),
    item_error_s=0.0,
    chunk_error_s=0.0,
    chunks=100.0,
)
"""Lognormal items with a median of a second."""


def chunks(items: int, count: int, draws: int = 40, seed: int = 3) -> np.ndarray:
    return drawn_s(np.full(count, float(items)), COSTS, draws, seed)


@pytest.mark.parametrize("items", [1, 4, 64])
def test_the_longest_chunk_is_as_long_as_of_items_that_are_drawn_one_by_one(items: int) -> None:
    count, times = 32, 2_000
    each = np.random.default_rng(1).lognormal(0.0, SIGMA, (times, count, items)).sum(axis=2)
    drawn = chunks(items, count, times)
    for share in (0.1, 0.5, 0.9):
        expected = np.quantile(each.max(axis=1), share)
        assert np.quantile(drawn.max(axis=1), share) == pytest.approx(expected, rel=0.08)
    assert np.median(drawn) == pytest.approx(np.median(each), rel=0.08)


@pytest.mark.parametrize("seed", range(5))
def test_the_longest_item_of_a_draw_is_as_long_in_all_cuts(seed: int) -> None:
    """Alone in a chunk it takes the chunk's whole time; with others, the chunk takes longer."""
    alone = chunks(1, 256, seed=seed).max(axis=1)
    for items in (2, 8, 64):
        together = chunks(items, 256 // items, seed=seed).max(axis=1)
        assert (together >= alone - 1e-9).all()


@pytest.mark.slow
def test_a_job_is_cut_alike_whatever_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items differ so much that a few decide how long a draw takes."""
    draw = np.random.default_rng(5)
    runs = [
        ChunkRun(32, float(draw.lognormal(math.log(5.0), SIGMA, 32).sum()), 1.5) for _ in range(256)
    ]
    learned = learned_of(runs)
    assert learned is not None
    found = set()
    for seed in range(8):
        monkeypatch.setattr(proposing, "_SEED", seed)
        answer = cut(CuttableJob(16_000, 512, 512, None), learned)
        found.add((answer.proposal.verdict, answer.pods))
        assert answer.proposal.gain > 0.2
    assert len(found) == 1
