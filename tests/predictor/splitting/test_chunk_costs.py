"""The time that items and chunks cost, fitted to chunks."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.splitting.chunk_runs import ChunkRun, learned_of
from plimsoll_predictor.splitting.costs import MOST_ITEMS, MOST_S, ChunkSums, Costs


def sums(chunks: list[tuple[int, float]]) -> ChunkSums:
    told = ChunkSums()
    for items, seconds in chunks:
        told.add(items, seconds)
    return told


def fitted(chunks: list[tuple[int, float]]) -> Costs:
    costs = sums(chunks).fit()
    assert costs is not None
    return costs


def test_chunks_at_the_bounds_that_teach_what_nobody_could_read_teach_nothing() -> None:
    longest = [(MOST_ITEMS, MOST_S), (MOST_ITEMS, MOST_S), (1000, MOST_S)]
    assert fitted(longest).chunk_s > MOST_S
    assert learned_of([ChunkRun(items, seconds) for items, seconds in longest]) is None


def test_chunks_of_two_sizes_tell_what_a_chunk_costs_from_what_an_item_costs() -> None:
    costs = fitted([(n, 2.0 + 0.5 * n) for n in (1, 2, 5, 10, 20, 50, 100)] * 5)
    assert costs.chunk_s == pytest.approx(2.0, rel=0.01)
    assert costs.item_s == pytest.approx(0.5, rel=0.01)


def test_chunks_of_one_size_are_all_items() -> None:
    costs = fitted([(10, 7.0)] * 20)
    assert costs.chunk_s == 0.0
    assert costs.item_s == pytest.approx(0.7)


def test_a_cost_of_chunks_that_noise_could_be_is_none() -> None:
    draw = random.Random(3)
    costs = fitted([(n, max(0.01, n + draw.gauss(0, 3 * math.sqrt(n)))) for n in range(20, 60)])
    assert costs.chunk_s == 0.0
    assert abs(costs.item_s - 1.0) < 3 * costs.item_error_s


def test_the_spread_of_items_is_found() -> None:
    draw = random.Random(5)
    chunks = [(n, sum(draw.lognormvariate(0, 0.5) for _ in range(n))) for n in [1, 4, 16, 64] * 100]
    costs = fitted(chunks)
    mean = math.exp(0.125)
    assert costs.item_s == pytest.approx(mean, rel=0.03)
    assert costs.spread_s == pytest.approx(mean * math.sqrt(math.exp(0.25) - 1), rel=0.15)
    low, high = costs.interval_s(64)
    inside = sum(low <= seconds <= high for n, seconds in chunks if n == 64)
    assert 80 <= inside <= 99


def test_a_single_chunk_is_believed_to_be_like_others_of_its_kind() -> None:
    costs = fitted([(1, 3.0)])
    assert costs.item_s == 3.0
    assert costs.spread_s == pytest.approx(3.0)


def test_nothing_is_fitted_to_nothing() -> None:
    assert ChunkSums().fit() is None
    assert sums([(5, 0.0)]).fit() is None


def test_what_is_old_counts_less() -> None:
    told = sums([(10, 10.0)] * 10)
    for _ in range(5):
        told.fade(0.5)
    for _ in range(10):
        told.add(10, 1000.0)
    costs = told.fit()
    assert costs is not None
    assert costs.item_s > 95


@pytest.mark.parametrize(
    ("items", "seconds"),
    [
        pytest.param(0, 1.0, id="no items"),
        pytest.param(-1, 1.0, id="fewer than none"),
        pytest.param(MOST_ITEMS + 1, 1.0, id="more items than there are"),
        pytest.param(1, -0.1, id="before it began"),
        pytest.param(1, math.inf, id="for ever"),
        pytest.param(1, math.nan, id="no number"),
    ],
)
def test_what_no_chunk_can_have_done_is_refused(items: int, seconds: float) -> None:
    told = sums([(1, 1.0)])
    with pytest.raises(ValueError, match="a chunk"):
        told.add(items, seconds)
    assert told == sums([(1, 1.0)])


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(1, MOST_ITEMS), st.floats(0, MOST_S, allow_subnormal=False)),
        max_size=30,
    )
)
def test_whatever_is_told_what_is_fitted_is_finite_and_not_below_zero(
    chunks: list[tuple[int, float]],
) -> None:
    costs = sums(chunks).fit()
    if costs is None:
        return
    told = (costs.item_s, costs.chunk_s, costs.spread_s, costs.item_error_s, costs.chunk_error_s)
    assert all(0 <= each < math.inf for each in told)


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_where_chunks_take_one_time_whatever_their_size_items_cost_nothing(
    noise: float, seed: int
) -> None:
    draw = random.Random(seed)
    sizes = [10, 40, 160, 640] * 5
    costs = fitted([(n, 10.0 * (1 + noise * draw.random())) for n in sizes])
    assert costs.chunk_s == pytest.approx(10.0 * (1 + noise / 2), rel=0.1)
    assert 0 < costs.item_s * 640 < 2 * noise * 10.0 + 0.01
