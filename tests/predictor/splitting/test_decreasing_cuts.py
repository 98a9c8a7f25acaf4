"""Chunks that become smaller toward the end, where a Job's author allows it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.chunk_runs import ChunkRun, Learned, learned_of
from plimsoll_predictor.splitting.cutting import (
    MOST_PODS,
    MOST_PODS_A_WORKER,
    Cut,
    CuttableJob,
    cut,
)
from plimsoll_predictor.splitting.last_job import last_job
from plimsoll_predictor.splitting.peaks import FURTHEST
from plimsoll_predictor.splitting.proposing import MEMORY_TIME, Shape, Verdict

LIMIT = 64 * MIB
DIFFERING = CuttableJob(64, 2, 2, LIMIT, most_listed=MOST_PODS)
"""Few items that differ much, as two shares showed: no number of even chunks is much better."""


def told(items: int, seconds: Sequence[float], peak_mib: int | None = 20) -> Learned:
    peak = None if peak_mib is None else peak_mib * MIB
    found = learned_of([ChunkRun(items, each, 1.5, peak) for each in seconds])
    assert found is not None
    return found


TOLD = told(32, (126.0, 171.0))


def is_whole(found: Cut, job: CuttableJob) -> bool:
    """Whether each item is in one pod's chunk, and chunks never become larger."""
    if not found.sizes:
        return 1 <= found.pods <= max(job.pods, job.items)
    falls = all(one >= other for one, other in pairwise(found.sizes))
    return (
        falls
        and min(found.sizes) >= 1
        and sum(found.sizes) == job.items
        and len(found.sizes) == found.pods
        and found.items == found.sizes[0]
    )


def test_two_shares_of_items_that_differ_are_followed_by_chunks_that_become_smaller() -> None:
    found = cut(DIFFERING, TOLD)
    assert found.proposal.verdict is Verdict.CUT
    assert found.proposal.plan is not None
    assert found.proposal.plan.shape is Shape.DECREASING
    assert found.sizes[:2] == (27, 27)
    assert is_whole(found, DIFFERING)
    assert found.pods <= 6
    assert not found.grows


def test_whose_author_does_not_allow_it_is_cut_into_even_chunks() -> None:
    found = cut(replace(DIFFERING, most_listed=0), told(32, (90.0, 220.0)))
    assert (found.pods, found.items, found.sizes) == (6, 11, ())
    assert found.proposal.plan is not None
    assert found.proposal.plan.shape is Shape.EVEN


def test_items_that_are_alike_stay_in_shares() -> None:
    job = CuttableJob(20_000, 16, 16, 2**30, most_listed=MOST_PODS)
    found = cut(job, told(1250, [12.5 + at / 100 for at in range(16)]))
    assert (found.pods, found.sizes) == (16, ())


def test_a_job_that_bears_no_more_pods_gets_none() -> None:
    found = cut(replace(DIFFERING, most_pods=3), TOLD)
    assert (found.pods, found.sizes) == (2, ())
    assert cut(replace(DIFFERING, most_listed=3), TOLD).sizes == ()
    assert cut(replace(DIFFERING, most_pods=5, most_listed=5), TOLD).sizes


def test_as_many_pods_as_were_written_may_have_other_chunks() -> None:
    """Only the sizes change, so a Job that may have no more pods also gains."""
    job = replace(DIFFERING, pods=6, most_pods=6)
    found = cut(job, told(11, (40.0, 55.0, 70.0, 25.0, 90.0, 15.0)))
    assert is_whole(found, job)
    assert found.pods <= 6


def test_no_chunk_is_larger_than_memory_bears() -> None:
    grows = [ChunkRun(n, 5.0 * n, 1.5, (10 + 3 * n) * MIB) for n in (4, 8, 12, 16) * 2]
    known = learned_of(grows)
    assert known is not None
    assert known.peaks is not None
    job = CuttableJob(640, 4, 40, 80 * MIB, most_listed=MOST_PODS)
    most = max(job.usual_items, known.peaks.most_items(80 * MIB))
    found = cut(job, known)
    assert is_whole(found, job)
    assert found.items <= most


def test_where_memory_was_never_measured_no_chunk_is_larger_than_as_written() -> None:
    job = CuttableJob(640, 4, 40, None, most_listed=MOST_PODS)
    found = cut(job, told(16, (8.0, 80.0, 400.0, 20.0) * 10, peak_mib=None))
    assert is_whole(found, job)
    assert found.items <= 16


@pytest.mark.slow
@given(
    items=st.integers(1, 10**7),
    workers=st.integers(1, 600),
    shares=st.integers(1, 1200),
    seen=st.integers(1, 5000),
    item_s=st.floats(1e-3, 1e3),
    factors=st.lists(st.floats(0.05, 20.0), min_size=2, max_size=12),
    weight=st.sampled_from([0.0, 0.5, MEMORY_TIME]),
)
def test_every_cut_covers_all_items_once_within_all_bounds(
    *,
    items: int,
    workers: int,
    shares: int,
    seen: int,
    item_s: float,
    factors: list[float],
    weight: float,
) -> None:
    job = CuttableJob(items, workers, min(shares, items), LIMIT, most_listed=MOST_PODS)
    known = told(seen, [seen * item_s * each for each in factors])
    found = cut(job, known, weight)
    assert is_whole(found, job)
    assert found.pods <= max(job.pods, min(MOST_PODS, MOST_PODS_A_WORKER * workers))
    assert found.items <= max(job.usual_items, FURTHEST * known.largest)
    if found.sizes:
        assert found.grows is (found.items > known.largest)


@pytest.mark.slow
def test_ten_million_items_of_many_workers_take_little_longer_than_even_ones() -> None:
    """The simulation has fewer workers, but the chunks are for all."""
    known = told(2000, [float(1 + at % 9) ** 2 * 40 for at in range(40)])
    job = CuttableJob(10**7, 512, 512, LIMIT, most_listed=MOST_PODS)
    began_s = time.process_time()
    even = cut(replace(job, most_listed=0), known)
    middle_s = time.process_time()
    found = cut(job, known)
    assert time.process_time() - middle_s < 4 * (middle_s - began_s)
    assert even.proposal.verdict is Verdict.CUT
    assert is_whole(found, job)


def test_the_last_job_is_known_by_what_each_of_its_pods_did() -> None:
    sizes = (27, 27, 4, 4, 2)
    chunks = [
        ChunkRun(items, 5.0 * items, run=f"job:a:{at}", ended_s=200.0, limit_bytes=LIMIT)
        for at, items in enumerate(sizes)
    ]
    found = last_job(chunks)
    assert found is not None
    assert (found.items, found.pods, found.usual_items) == (64, 5, 27)
    assert (found.sizes, found.most_listed) == (sizes, MOST_PODS)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 100])
def test_a_job_that_is_cut_so_already_is_left_so(workers: int) -> None:
    job = CuttableJob(32 * workers, workers, workers, LIMIT, most_listed=MOST_PODS)
    first = cut(job, TOLD)
    assert first.sizes
    again = cut(replace(job, pods=first.pods, sizes=first.sizes), TOLD)
    assert (again.pods, again.items, again.sizes) == (first.pods, first.items, first.sizes)
    assert again.proposal.verdict is Verdict.NOTHING_TO_GAIN
    assert again.proposal.plan is not None
    assert again.proposal.plan.shape is Shape.DECREASING
