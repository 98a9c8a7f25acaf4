"""Kills for memory: each counts with its limit, and less from Job to Job."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plimsoll_predictor.core.documents import from_document
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.peaks import MOST_LIMITS, Peaks, PeakSums
from plimsoll_predictor.splitting.runs import KEPT
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut

JOB = Job(4_000, 4, 2.0, 0.05)
LIMIT, SMALL = 2 * GIB, 256 * MIB
Kills = list[tuple[int, int]]


def sums_of(kills: Kills) -> PeakSums:
    sums = PeakSums()
    for items in (1, 2, 4, 8, 16, 32, 64, 128):
        sums.add(items, (50 + items) * MIB)
    for items, limit in kills:
        sums.killed(items, limit)
    return sums


def peaks_of(sums: PeakSums) -> Peaks:
    found = sums.fit()
    assert found is not None
    return found


@pytest.mark.parametrize("kills", [[(8, SMALL), (128, LIMIT)], [(128, LIMIT), (8, SMALL)]])
def test_each_kill_bounds_chunks_in_as_much_memory_whatever_came_first(kills: Kills) -> None:
    peaks = peaks_of(sums_of(kills))
    assert (peaks.most_items(LIMIT), peaks.most_items(SMALL)) == (64, 4)
    assert peaks.most_items(2 * LIMIT) == 256
    assert (peaks.killed_items, peaks.killed_bytes) == (8, SMALL)


def test_a_kill_in_more_memory_bounds_chunks_in_less() -> None:
    assert peaks_of(sums_of([(8, LIMIT), (128, SMALL)])).most_items(SMALL) == 4


def test_few_limits_are_kept_those_of_the_latest_kills() -> None:
    sums = sums_of([(2, GIB)])
    sums.begin(KEPT)
    for number in range(MOST_LIMITS):
        sums.killed(100, 2 * GIB + number)
    assert len(sums.kills) == MOST_LIMITS
    assert all(kill.items == 100 for kill in sums.kills)


def test_a_kill_of_one_item_says_nothing_about_the_size_of_chunks() -> None:
    assert sums_of([(1, LIMIT)]).kills == ()


def test_a_kill_fades_after_three_jobs_but_not_where_no_chunk_is_tried_again() -> None:
    sums, most, surely = sums_of([(100, LIMIT)]), list[int](), list[int]()
    for _ in range(11):
        most.append(peaks_of(sums).most_items(LIMIT))
        surely.append(peaks_of(sums).most_items(LIMIT, surely=True))
        sums.begin(KEPT)
    assert most == [50, 50, 50, 50, 61, 76, 95, 119, 149, 186, 232]
    assert surely == [50] * 11, "the Job would end with a killed pod"
    assert peaks_of(sums).most_items(LIMIT) == 256
    assert sums.least_killed(LIMIT) is None
    for _ in range(90):
        sums.begin(KEPT)
    assert [kill.most_items(surely=True) for kill in sums.kills] == [50]


def test_a_kill_after_one_that_faded_counts_anew() -> None:
    sums = sums_of([(100, LIMIT)])
    for _ in range(6):
        sums.begin(KEPT)
    sums.killed(150, LIMIT)
    assert peaks_of(sums).most_items(LIMIT) == 75


def test_what_an_older_version_wrote_is_one_kill() -> None:
    older: dict[str, Any] = {**sums_document(), "killed_items": 100, "killed_bytes": LIMIT}
    sums = from_document(PeakSums, older, "peaks")
    assert peaks_of(sums).most_items(LIMIT) == 50
    guided = Guided(LIMIT)
    guided.remember({"times": Guided().to_document()["times"], "peaks": older})
    again: dict[str, Any] = json.loads(json.dumps(guided.to_document()))
    assert [each["items"] for each in again["peaks"]["kills"]] == [100]


def sums_document() -> dict[str, Any]:
    peaks: dict[str, Any] = a_task().to_document()["peaks"]
    return {name: value for name, value in peaks.items() if name not in ("kills", "kept")}


def a_task(item_s: float = 0.1) -> Guided:
    guided = Guided(LIMIT)
    guided.begin(JOB, Cut.LEASED)
    for items in (1, 2, 4, 8, 16, 32, 64, 128):
        guided.done(Chunk(items, items * item_s, (50 + items) * MIB, items))
    return guided


def next_job(before: Guided) -> Guided:
    guided = Guided(LIMIT)
    guided.remember(json.loads(json.dumps(before.to_document())))
    guided.begin(JOB, Cut.LEASED)
    return guided


def test_a_kill_at_an_older_smaller_limit_hides_none_at_the_limit_of_now() -> None:
    yesterday = a_task()
    yesterday.killed(24, SMALL)
    guided = next_job(yesterday)
    assert guided.next_items(4_000) > 24
    assert guided.killed(192, LIMIT), "nothing was halved in as much memory yet"
    assert guided.next_items(4_000) <= 96
    assert not guided.killed(96, LIMIT), "halved already, and killed again"
    assert guided.next_items(4_000) <= 48


def test_after_some_heavy_items_leases_are_as_large_as_before_within_some_jobs() -> None:
    guided = a_task(item_s=0.01)
    usual = guided.next_items(4_000)
    for _ in range(8):
        guided = next_job(guided)
        items = guided.next_items(4_000)
        guided.killed(items, LIMIT)
        guided.done(Chunk(items, items * 0.01, (50 + items) * MIB, items))
    assert guided.next_items(4_000) < usual / 8
    for _ in range(12):
        guided = next_job(guided)
        items = guided.next_items(4_000)
        guided.done(Chunk(items, items * 0.01, (50 + items) * MIB, items))
    assert guided.next_items(4_000) >= usual / 2


def test_a_kill_that_is_forgotten_is_not_shown() -> None:
    sums = sums_of([(100, LIMIT)])
    for _ in range(11):
        sums.begin(KEPT)
    assert (peaks_of(sums).killed_items, peaks_of(sums).killed_bytes) == (None, None)


def test_the_latest_kill_is_kept_however_many_limits_there_were_in_a_job() -> None:
    sums = sums_of([(100, GIB + number) for number in range(MOST_LIMITS)])
    for items in (8, 4, 2):
        sums.killed(items, LIMIT)
    assert peaks_of(sums).most_items(LIMIT) == 1
    assert len(sums.kills) == MOST_LIMITS


def test_an_older_version_finds_the_smallest_kill_where_it_kept_the_only_one() -> None:
    guided = Guided(LIMIT)
    guided.begin(JOB, Cut.LEASED)
    guided.done(Chunk(100, 10.0, 150 * MIB, None))
    for items, limit in ((100, LIMIT), (60, SMALL)):
        guided.killed(items, limit)
    peaks = json.loads(json.dumps(guided.on_top_of(None)))["peaks"]
    assert (peaks["killed_items"], peaks["killed_bytes"]) == (60, SMALL)
    read = from_document(PeakSums, peaks, "what chunks needed")
    found = {kill.container_bytes: kill.items for kill in read.kills}
    assert found == {SMALL: 60, LIMIT: 100}


@pytest.mark.parametrize("first", [True, False])
def test_of_jobs_side_by_side_only_the_first_to_end_lets_kills_fade(first: bool) -> None:
    before = Guided(LIMIT).on_top_of(None)
    jobs = [Guided(LIMIT) for _ in range(12)]
    for job in jobs:
        job.remember(before)
        job.begin(JOB, Cut.LEASED)
        job.done(Chunk(100, 10.0, 150 * MIB, None))
    jobs[0 if first else -1].killed(100, LIMIT)
    stored: Any = before
    for job in jobs:
        stored = json.loads(json.dumps(job.on_top_of(stored)))
    following = Guided(LIMIT)
    following.remember(stored)
    following.begin(JOB, Cut.LEASED)
    kills = following.past.peaks.kills
    assert [(kill.items, kill.most_items()) for kill in kills] == [(100, 50)]
    # One Job after another lets it fade each time.
    for _ in range(11):
        stored = json.loads(json.dumps(following.on_top_of(stored)))
        following = Guided(LIMIT)
        following.remember(stored)
        following.begin(JOB, Cut.LEASED)
    assert [kill.is_forgotten for kill in following.past.peaks.kills] == [True]
