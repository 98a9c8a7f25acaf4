"""How large the next chunk is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.splitting.costs import MOST_ITEMS, Costs
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.sizes import (
    Bounds,
    batched_sizes,
    even_candidates,
    even_sizes,
    leased_sizes,
    next_items,
)

FREE = Bounds(MOST_ITEMS, math.inf)


def a_job(items: int = 10_000, workers: int = 10, wait_s: float = 0.05) -> Job:
    return Job(items, workers, 1.5, wait_s)


def cost(item_s: float, spread: float = 0.5, chunk_s: float = 0.0) -> Costs:
    return Costs(item_s, chunk_s, spread * item_s, 0.0, 0.0, 100.0)


def test_of_what_nothing_is_known_one_item_is_tried() -> None:
    assert next_items(10_000, a_job(), None, FREE) == 1


def test_items_that_are_alike_are_given_out_at_once() -> None:
    assert next_items(10_000, a_job(), cost(1.0, spread=0.0), FREE) == 1000


def test_items_that_differ_are_given_out_in_smaller_chunks() -> None:
    sizes = [next_items(10_000, a_job(), cost(1.0, spread), FREE) for spread in (0.1, 1, 3, 10)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 1.5 * sizes[-1]


def test_chunks_become_smaller_toward_the_end_but_for_what_they_cost_to_get() -> None:
    sizes = list(leased_sizes(a_job(), cost(0.01, 1.0), FREE))
    assert sizes == sorted(sizes, reverse=True)
    # Four waits of 50 ms, at 10 ms an item.
    assert sum(size < 20 for size in sizes) <= 12


def test_a_lease_is_meant_to_take_no_longer_than_its_target() -> None:
    assert next_items(10_000, a_job(), cost(0.5), Bounds(MOST_ITEMS, 60.0)) == 120


def test_an_item_that_takes_longer_than_the_target_is_a_lease() -> None:
    assert next_items(10_000, a_job(), cost(500.0), Bounds(MOST_ITEMS, 60.0)) == 1


@pytest.mark.slow
@given(
    st.integers(1, 10**6),
    st.integers(1, 1000),
    st.floats(1e-6, 1e6),
    st.floats(0, 100),
    st.integers(1, 10**6),
)
def test_every_way_to_cut_gives_each_item_once(
    items: int, workers: int, item_s: float, spread: float, most: int
) -> None:
    job = Job(items, workers, 1.5, 0.05)
    bounds = Bounds(max(most, items // 2000), math.inf)
    costs = cost(item_s, spread)
    size = max(1, items // 500)
    for cut in (
        batched_sizes(job, costs, Bounds(bounds.most_items, math.inf, 1000 * item_s)),
        even_sizes(job, size),
    ):
        sizes = []
        for each in cut:
            sizes.append(each)
            if len(sizes) == 20_000:
                return
        assert sum(sizes) == items
        assert min(sizes) >= 1


@pytest.mark.slow
@given(st.integers(1, MOST_ITEMS), st.integers(1, 10_000))
def test_candidates_are_bounded_in_number_and_begin_with_the_share(
    items: int, workers: int
) -> None:
    job = Job(items, workers, 0.0, 1.5)
    sizes = list(even_candidates(job))
    assert sizes[0] == job.share
    assert sizes == sorted(set(sizes), reverse=True)
    assert len(sizes) < 50


@pytest.mark.parametrize(
    ("items", "workers", "start_s", "wait_s"),
    [
        pytest.param(0, 1, 0.0, 0.0, id="no items"),
        pytest.param(MOST_ITEMS + 1, 1, 0.0, 0.0, id="too many items"),
        pytest.param(1, 0, 0.0, 0.0, id="no workers"),
        pytest.param(1, 10**9, 0.0, 0.0, id="too many workers"),
        pytest.param(1, 1, -1.0, 0.0, id="a start before its time"),
        pytest.param(1, 1, 0.0, math.nan, id="a wait that is no number"),
    ],
)
def test_what_no_job_can_be_is_refused(
    items: int, workers: int, start_s: float, wait_s: float
) -> None:
    with pytest.raises(ValueError, match="a job"):
        Job(items, workers, start_s, wait_s)
