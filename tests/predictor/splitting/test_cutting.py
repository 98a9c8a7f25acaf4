"""A Job over items is cut by what its task's chunks took, within its memory."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.chunk_runs import (
    KEPT,
    NEXT_POD_S,
    ChunkRun,
    Learned,
    learned_of,
)
from plimsoll_predictor.splitting.cutting import (
    MOST_PODS,
    MOST_PODS_A_WORKER,
    CuttableJob,
    cut,
)
from plimsoll_predictor.splitting.last_job import last_job
from plimsoll_predictor.splitting.peaks import FURTHEST
from plimsoll_predictor.splitting.proposing import MEMORY_TIME, Verdict

START_S = 1.5


def runs_of(
    items: int, chunks: int, item_s: float, sigma: float, bytes_an_item: int | None = 0
) -> list[ChunkRun]:
    """Chunks of one size, with lognormal items."""
    draw = np.random.default_rng(7)
    mu = math.log(item_s) - sigma**2 / 2
    peak = None if bytes_an_item is None else 50 * MIB + items * bytes_an_item
    return [
        ChunkRun(items, float(draw.lognormal(mu, sigma, items).sum()), START_S, peak)
        for _ in range(chunks)
    ]


def learned(*args: float, **more: int | None) -> Learned:
    found = learned_of(runs_of(*args, **more))  # type: ignore[arg-type]
    assert found is not None
    return found


def test_items_that_differ_much_are_cut_into_more_pods_than_workers() -> None:
    job = CuttableJob(2000, 16, 16, 2**30)
    found = cut(job, learned(125, 16, 5.0, 1.5))
    assert found.proposal.verdict is Verdict.CUT
    assert 48 <= found.pods <= MOST_PODS_A_WORKER * 16
    assert found.items == -(-2000 // found.pods)
    assert not found.grows
    assert found.proposal.gain > 0.1


def test_short_items_that_are_alike_stay_in_shares() -> None:
    job = CuttableJob(20_000, 16, 16, 2**30)
    found = cut(job, learned(1250, 16, 0.01, 0.5))
    assert (found.pods, found.proposal.verdict) == (16, Verdict.NOTHING_TO_GAIN)


def test_a_pod_for_each_item_grows_by_steps_that_memory_bears() -> None:
    job = CuttableJob(240, 4, 240, 2**30)
    found = cut(job, learned(1, 240, 0.05, 0.5))
    assert (found.items, found.pods, found.grows) == (FURTHEST, 240 // FURTHEST, True)
    found = cut(job, learned(FURTHEST, 120, 0.05, 0.5))
    assert found.items == FURTHEST**2


@pytest.mark.parametrize(
    ("limit", "bytes_an_item"),
    [
        pytest.param(None, 0, id="nothing limits its memory"),
        pytest.param(2**30, None, id="nobody measured its memory"),
        pytest.param(70 * MIB, 0, id="two items may need more than its limit"),
    ],
)
def test_no_chunk_grows_where_memory_may_not_bear_it(
    limit: int | None, bytes_an_item: int | None
) -> None:
    job = CuttableJob(240, 4, 240, limit)
    found = cut(job, learned(1, 240, 0.05, 0.5, bytes_an_item=bytes_an_item))
    assert (found.pods, found.grows) == (240, False)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_a_chunk_grows_no_further_than_memory_all_of_whose_items_may_need_it(weight: float) -> None:
    """All chunks had 100 items and 600 MiB, in pods that take about as long to begin as to work."""
    runs = [ChunkRun(100, 4.0, 3.0, 600 * MIB) for _ in range(64)]
    told = learned_of(runs)
    assert told is not None
    found = cut(CuttableJob(6_400, 16, 64, 1024 * MIB), told, weight)
    assert found.items * 6 * MIB < 1024 * MIB
    wide = cut(CuttableJob(6_400, 16, 64, 2048 * MIB), told)
    assert wide.items == 200, "where twice as much fits, it is worth a pod's start"


@pytest.mark.parametrize(
    ("killed", "pods"),
    [
        pytest.param([(4, 2**30, 2**30)], 120, id="half of what was killed at this limit"),
        pytest.param([(2, 2**31, 2**31)], 240, id="or at a larger one"),
        pytest.param([(2, 2**29, 2**29), (2, 2**31, 2**31)], 240, id="whatever else was killed"),
        pytest.param([(2, 2**29, 2**29)], 120, id="not at a smaller one"),
        pytest.param([(2, 2**29, 2**30)], 120, id="nor below the limit that was written"),
    ],
)
def test_a_chunk_that_was_killed_bounds_the_next_ones(
    killed: list[tuple[int, int, int]], pods: int
) -> None:
    told = runs_of(1, 240, 0.05, 0.5)
    kills = [ChunkRun(n, killed_bytes=at, limit_bytes=written) for n, at, written in killed]
    found = learned_of([*told, *kills])
    assert found is not None
    assert cut(CuttableJob(240, 4, 240, 2**30), found).pods == pods


def needing(peak_bytes: int, chunks: int) -> list[ChunkRun]:
    """Chunks of 100 items that took a minute each, their peaks within 6% of each other."""
    return [
        ChunkRun(100, 60.0, 20.0, round(peak_bytes * (1 + 0.03 * (at % 3 - 1))))
        for at in range(chunks)
    ]


@pytest.mark.parametrize("odd", [1, 4, 20])
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_chunks_that_had_nothing_to_do_have_no_pod_do_more_than_its_memory_holds(
    odd: int, first: bool
) -> None:
    """Of 40 chunks that need 1 GB some found their output there, and ended with 8 MB."""
    real, idle = needing(10**9, 40 - odd), needing(8 * 10**6, odd)
    found = learned_of([*idle, *real] if first else [*real, *idle])
    assert found is not None
    assert found.peaks is not None
    low, high = found.peaks.interval_bytes(100)
    assert low < 10**9 < high
    assert found.peaks.container_bytes(100) < 2 * 10**9
    assert cut(CuttableJob(4_000, 20, 40, 1_300_000_000), found).items <= 130


@pytest.mark.parametrize("place", [0, 250, 489, 499])
@pytest.mark.parametrize("most", [4_500_000_000, 5 * 10**9, 16 * 10**9])
def test_one_peak_far_above_all_others_leaves_no_chunk_a_single_item(place: int, most: int) -> None:
    runs = needing(10**9, 500)
    runs[place] = replace(runs[place], peak_bytes=most)
    found = learned_of(runs)
    assert found is not None
    assert found.peaks is not None
    assert found.peaks.container_bytes(100) < 2 * 10**9
    assert found.peaks.most_items(2 * 10**9) > 50


@pytest.mark.parametrize(("idle", "works"), [(1, 1), (80, 20), (475, 25)])
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_where_most_chunks_had_nothing_to_do_those_that_worked_count(
    idle: int, works: int, first: bool
) -> None:
    """As in a Job that is run again after nearly all of it was done."""
    real, done = needing(10**9, works), [ChunkRun(100, 1.0, 20.0, 8 * 10**6)] * idle
    found = learned_of([*done, *real] if first else [*real, *done])
    assert found is not None
    assert found.peaks is not None
    assert found.hung == 0
    assert found.costs.item_s == pytest.approx((works * 0.6 + idle * 0.01) / (works + idle))
    assert found.peaks.mean_bytes(100) == pytest.approx(10**9, rel=0.05)
    assert found.peaks.container_bytes(100) < 2 * 10**9


def test_one_that_hung_among_those_that_worked_is_found_where_most_had_nothing_to_do() -> None:
    idle, works = [ChunkRun(100, 1.0)] * 475, [ChunkRun(100, 60.0)] * 24
    found = learned_of([*idle, *works, ChunkRun(100, 86_400.0)])
    assert found is not None
    assert found.hung == 1


@pytest.mark.parametrize("hung_s", [3_600.0, 86_400.0])
def test_a_chunk_that_hung_does_not_have_a_job_cut_into_many_pods(hung_s: float) -> None:
    job, runs = CuttableJob(4_000, 20, 20, 2**32), runs_of(100, 200, 0.6, 0.3)
    sane, odd = learned_of(runs), learned_of([*runs[1:], replace(runs[0], seconds=hung_s)])
    assert sane is not None
    assert odd is not None
    assert (sane.hung, odd.hung) == (0, 1)
    assert cut(job, odd).pods <= 2 * cut(job, sane).pods
    assert odd.costs.spread_s == pytest.approx(sane.costs.spread_s, rel=0.1)


def test_a_long_item_has_not_hung_nor_has_a_chunk_among_many_that_had_nothing_to_do() -> None:
    long_item = learned_of([*runs_of(1, 200, 0.6, 0.5), ChunkRun(1, 100 * 0.6)])
    rarely_work = learned_of([ChunkRun(100, 60.0)] * 20 + [ChunkRun(100, 0.0)] * 80)
    for found in (long_item, rarely_work):
        assert found is not None
        assert found.hung == 0


def test_no_job_is_expected_to_end_before_its_items_could_be_done() -> None:
    found = learned_of([*runs_of(100, 10, 0.6, 0.3), ChunkRun(100, 1_000.0)])
    assert found is not None
    assert found.costs.spread_s > 10 * found.costs.item_s, "the draws differ widely"
    usual = cut(CuttableJob(4_000, 20, 20, None), found).proposal.usual
    assert usual is not None
    surest_s = found.costs.item_s - 2 * found.costs.item_error_s
    assert usual.makespan.low_s >= 4_000 / 20 * max(0.0, surest_s) + found.wait_s


FAILED = ChunkRun(1, failed=True)


@pytest.mark.parametrize(
    "largest", [pytest.param(1, id="as written"), pytest.param(8, id="larger ones got through")]
)
def test_a_chunk_that_failed_has_no_pod_do_more_items_than_it_was_written_to(largest: int) -> None:
    job, chunks = CuttableJob(240, 4, 240, 2**30), runs_of(largest, 240, 0.05, 0.5)
    for runs, grows in ((chunks, True), ([*chunks, FAILED], False)):
        found = learned_of(runs)
        assert found is not None
        assert (cut(job, found).pods < 240) is grows


def test_a_chunk_that_failed_is_no_reason_against_more_pods() -> None:
    found = learned_of([*runs_of(125, 16, 5.0, 1.5), FAILED])
    assert found is not None
    assert cut(CuttableJob(2000, 16, 16, 2**30), found).pods >= 48


@pytest.mark.parametrize(("chance", "merged"), [(0.0, True), (0.01, False)])
def test_from_job_to_job_a_job_fails_for_good_no_more_often_than_as_it_was_written(
    chance: float, merged: bool
) -> None:
    """Each of 640 items fails by chance, and each index has four attempts."""
    draw, attempts, job = np.random.default_rng(7), 4, CuttableJob(640, 16, 640, 2**30)
    kept, pods = deque[ChunkRun](maxlen=KEPT), job.pods
    for _ in range(10):
        items = -(-job.items // pods)
        fails = 1 - (1 - chance) ** items
        assert 1 - (1 - fails**attempts) ** pods <= 1 - (1 - chance**attempts) ** job.pods
        for _ in range(pods):
            tries = min(attempts, int(draw.geometric(1 - fails)))
            kept += [ChunkRun(items, failed=True)] * (tries - 1)
            kept.append(ChunkRun(items, 2.0 * items, 30.0, 20 * MIB))
        found = learned_of(list(kept))
        assert found is not None
        pods = cut(job, found).pods
    assert (pods < job.pods) is merged


def test_where_memory_was_never_measured_no_pod_does_more_than_it_was_written_to() -> None:
    found = learned(500, 8, 0.05, 0.5, bytes_an_item=None)
    assert cut(CuttableJob(240, 4, 240, None), found).pods == 240


@pytest.mark.slow
@given(
    items=st.integers(1, 10**9),
    workers=st.integers(1, 2000),
    shares=st.integers(1, 20_000),
    item_s=st.floats(1e-6, 1e4),
    sigma=st.sampled_from([0.0, 0.5, 1.5]),
)
def test_every_cut_has_as_many_pods_as_are_borne(
    items: int, workers: int, shares: int, item_s: float, sigma: float
) -> None:
    job = CuttableJob(items, workers, min(shares, items), 2**40)
    found = cut(job, learned(min(items, 50), 8, item_s, sigma))
    assert 1 <= found.pods <= max(job.pods, min(MOST_PODS, MOST_PODS_A_WORKER * workers))
    if found.pods != job.pods:
        assert found.items == -(-items // found.pods)
        assert found.items <= max(job.usual_items, FURTHEST * min(items, 50))


def test_what_is_learned_is_the_same_after_its_way_over_the_network() -> None:
    found = replace(learned(125, 16, 5.0, 1.5), failed=3, hung=2)
    text = msgspec.json.encode(found.to_document())
    assert Learned.from_document(msgspec.json.decode(text)) == found


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"largest": 0}, id="no items"),
        pytest.param({"wait_s": -1.0}, id="a negative wait"),
        pytest.param({"failed": -1}, id="fewer than no chunks that failed"),
        pytest.param({"hung": -1}, id="fewer than no chunks that hung"),
        pytest.param({"costs": {"item_s": 0.0}}, id="items that take no time"),
        pytest.param({"costs": {"spread_s": 1e300}}, id="a spread beyond all bounds"),
        pytest.param({"costs": None}, id="no costs"),
        pytest.param({"costs": {"item_error_s": -1.0}}, id="a negative error"),
        pytest.param({"peaks": {"base_bytes": 0.0, "slope_bytes": 0.0}}, id="no memory at all"),
        pytest.param({"peaks": {"noise": -0.5}}, id="a negative noise"),
    ],
)
def test_what_cannot_have_been_learned_is_refused(wrong: dict[str, object]) -> None:
    document = learned(125, 16, 5.0, 1.5).to_document()
    for name, value in wrong.items():
        document[name] = {**document[name], **value} if isinstance(value, dict) else value
    with pytest.raises(ValueError, match=r"\w"):
        Learned.from_document(document)


def test_a_wait_is_that_of_pods_that_found_room_at_once() -> None:
    slow = [replace(each, waited_s=600.0) for each in runs_of(10, 12, 1.0, 0.5)]
    found = learned_of([*runs_of(10, 6, 1.0, 0.5), *slow])
    assert found is not None
    assert found.wait_s == pytest.approx(START_S + NEXT_POD_S)


@pytest.mark.parametrize("runs", [[], [ChunkRun(5, killed_bytes=MIB)]], ids=["none", "killed"])
def test_of_no_chunk_that_got_through_nothing_is_learned(runs: list[ChunkRun]) -> None:
    assert learned_of(runs) is None


def test_chunks_that_all_ended_within_the_second_they_began_in_are_merged() -> None:
    """Kubernetes says 0 s for each. Nearly all of their cost is their starts."""
    instant = learned_of([ChunkRun(1, 0.0, START_S, 20 * MIB)] * 12)
    assert instant is not None
    assert 0 < instant.costs.item_s < 0.1
    found = cut(CuttableJob(12, 3, 12, 64 * MIB), instant)
    assert (found.pods, found.items) == (6, 2)


def test_the_last_job_is_the_one_whose_chunk_ended_last() -> None:
    older = [ChunkRun(9, 5.0, run=f"job:a:{at}", ended_s=10.0) for at in range(3)]
    newer = [
        ChunkRun(50, 10.0, run=f"job:b:{at}", ended_s=100.0 + 10 * (at // 2), limit_bytes=MIB)
        for at in range(5)
    ]
    again = ChunkRun(50, 1.0, run="job:b:0", ended_s=130.0, limit_bytes=MIB)
    strangers = [ChunkRun(7, 1.0, run="bare", ended_s=1e9), ChunkRun(7, 1.0, run="job:x")]
    evicted = ChunkRun(50, run="job:c:0", ended_s=1e6, failed=True)
    last = last_job([again, *newer, *strangers, *older, evicted])
    assert last == CuttableJob(250, 2, 5, MIB), "of a chunk that failed, no time is known"
    assert last_job(strangers) is None


@pytest.mark.slow
@pytest.mark.parametrize("memory", [MIB, None])
def test_where_memory_counts_chunks_are_smaller_though_no_run_takes_a_tenth_longer(
    memory: int | None,
) -> None:
    job, known = CuttableJob(2000, 16, 16, 2**30), learned(125, 16, 5.0, 0.1, bytes_an_item=memory)
    time, both = cut(job, known), cut(job, known, MEMORY_TIME)
    if memory is None:
        assert both.pods == time.pods
        return
    assert both.items < time.items
    plan, usual = both.proposal.plan, both.proposal.usual
    assert plan is not None
    assert usual is not None
    assert plan.makespan.high_s <= 1.1 * usual.makespan.high_s
    assert plan.memory_bytes is not None
    assert usual.memory_bytes is not None
    assert plan.memory_bytes < 0.75 * usual.memory_bytes


@pytest.mark.slow
def test_memory_that_was_found_not_to_grow_is_no_reason_for_more_pods() -> None:
    job = CuttableJob(2000, 16, 16, 2**30)
    sizes = [run for items in (125, 60) for run in runs_of(items, 16, 5.0, 0.1)]
    found = learned_of(sizes)
    assert found is not None
    assert cut(job, found, MEMORY_TIME).pods == cut(job, found).pods


def test_a_short_job_is_not_cut_for_memory_as_each_pod_might_take_long_to_begin() -> None:
    """With one size a pod's fixed time is unknown: here, two waves might take too long."""
    short, long = CuttableJob(240, 2, 2, 2**33), CuttableJob(2400, 2, 2, 2**33)
    for job, cuts in ((short, False), (long, True)):
        known = learned(job.usual_items, 4, 0.2, 0.1, bytes_an_item=MIB)
        found = cut(job, known, MEMORY_TIME)
        assert (found.pods > job.pods) is cuts


def test_what_many_sizes_told_of_pods_is_believed_where_memory_counts() -> None:
    runs = [run for items in (10, 20, 40, 80) for run in runs_of(items, 30, 1.0, 0.1, MIB)]
    found = learned_of(runs)
    assert found is not None
    assert found.costs.chunk_s == 0
    one_size = learned(80, 30, 1.0, 0.1, bytes_an_item=MIB)
    job = CuttableJob(2000, 8, 25, 2**33)
    assert cut(job, found, MEMORY_TIME).pods > cut(job, one_size, MEMORY_TIME).pods
