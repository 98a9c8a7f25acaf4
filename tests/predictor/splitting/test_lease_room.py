"""The largest lease and the memory that holds it: one choice, which stays stable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.replay.splitting.memory import Container, Need, play_leased
from plimsoll_predictor.replay.splitting.playing import lognormal_items
from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.costs import ChunkSums
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.lease_room import MOST_LEASES_A_S, LeaseRoom, lease_room
from plimsoll_predictor.splitting.peaks import PeakSums
from plimsoll_predictor.splitting.proposing import MEMORY_TIME, MOST_WORSE, TIME, Aim
from plimsoll_predictor.splitting.strategies.guided import WORTH_WAITS, Guided
from plimsoll_predictor.splitting.strategies.leased_task import (
    LastLeased,
    first_lease,
    learned_of_leases,
    taught_document,
)
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut

BASE, SLOPE = 50 * MIB, MIB
WRITTEN = 1024 * MIB
JOB = Job(4_000, 4, 2.0, 0.05)
NEED = Need(float(BASE), float(SLOPE), 0.03)


def learned(item_s: float = 0.2, slope: int = SLOPE, largest: int = 64) -> Learned:
    times, peaks = ChunkSums(), PeakSums()
    for number, items in enumerate((1, 2, 4, 8, 16, 32, largest) * 3):
        odd = 1.1 if number % 2 else 0.9
        times.add(items, items * item_s * odd)
        peaks.add(items, round((BASE + items * slope) * (1.02 if number % 2 else 0.98)))
    costs = times.fit()
    assert costs is not None
    return Learned(costs, peaks.fit(), JOB.wait_s, largest)


def room_of(
    weight: float, known: Learned | None = None, job: Job = JOB, limit: int | None = WRITTEN
) -> LeaseRoom:
    return lease_room(job, job.workers, known or learned(), Aim(weight, limit))


@pytest.mark.parametrize("item_s", [0.01, 0.2, 5.0])
@pytest.mark.parametrize("limit", [120 * MIB, WRITTEN, None])
def test_for_time_alone_leases_are_as_large_as_they_are_given_anyway(
    item_s: float, limit: int | None
) -> None:
    guided = Guided()
    known = learned(item_s)
    for items in (1, 2, 4, 8, 16, 32, 64):
        guided.past.times.add(items, items * item_s)
        guided.past.peaks.add(items, round(known.peaks.mean_bytes(items)) if known.peaks else 1)
    last = LastLeased(items=1, workers=1, shares=1, done=1, leases=1, taken_back=0, refused=0)
    taught = taught_document(guided, last)
    found = learned_of_leases(taught, JOB.wait_s)
    assert found is not None
    assert room_of(TIME, found, limit=limit).items == first_lease(taught, JOB, 4, limit)


@pytest.mark.slow
def test_where_memory_counts_leases_are_smaller_and_their_price_is_less() -> None:
    time, both = room_of(TIME), room_of(MEMORY_TIME)
    assert both.items < time.items / 4
    assert both.memory_bytes is not None
    assert time.memory_bytes is not None
    assert both.memory_bytes < 0.75 * time.memory_bytes
    assert both.items <= room_of(0.3).items <= time.items


@pytest.mark.slow
def test_no_run_takes_more_than_a_tenth_longer_for_it() -> None:
    # If items are short, the least memory costs more in leases than it saves.
    known = learned(0.01)
    found = room_of(MEMORY_TIME, known)
    waits = JOB.wait_s / (found.items * known.costs.item_s)
    usual = JOB.wait_s / (room_of(TIME, known).items * known.costs.item_s)
    assert waits - usual <= MOST_WORSE * 1.1


@pytest.mark.slow
def test_memory_that_does_not_grow_with_items_is_no_reason_for_small_leases() -> None:
    # Only leases beyond the measured sizes would need more room.
    assert room_of(MEMORY_TIME, learned(slope=0)).items > 4 * room_of(MEMORY_TIME).items


def test_what_nobody_measured_has_no_floor() -> None:
    unmeasured = replace(learned(), peaks=None)
    assert room_of(MEMORY_TIME, unmeasured) == LeaseRoom(room_of(TIME, unmeasured).items, None)


@pytest.mark.slow
def test_leases_are_no_more_a_second_than_are_served() -> None:
    job = Job(600_000, 600, 2.0, 0.05)
    known = learned(0.05, largest=512)
    found = room_of(MEMORY_TIME, known, job)
    assert job.workers / (found.items * known.costs.item_s) <= MOST_LEASES_A_S


@pytest.mark.slow
@pytest.mark.parametrize("weight", [TIME, 0.5, MEMORY_TIME])
def test_leases_and_memory_that_follow_each_other_stay_what_they_are(weight: float) -> None:
    """The next Job's pods have exactly the room; their needs then teach the Job after it."""
    guided, rooms = Guided(WRITTEN), list[LeaseRoom]()
    written = Container(WRITTEN, NEED, 1)
    assert play_leased(guided, JOB, lognormal_items(JOB.items, 0.2, 0.5, 1), written).kills == 0
    for seed in range(2, 14):
        costs = guided.past.costs()
        assert costs is not None
        known = Learned(costs, guided.past.memory(), JOB.wait_s, guided.past.times.largest)
        room = room_of(weight, known)
        assert room.memory_bytes is not None
        rooms.append(room)
        following = Guided(room.memory_bytes, room.items if room.bound else None)
        following.past = guided.past
        times = lognormal_items(JOB.items, 0.2, 0.5, seed)
        played = play_leased(following, JOB, times, Container(room.memory_bytes, NEED, seed))
        assert played.kills == 0
        guided = following
    first, last = rooms[0], rooms[-1]
    assert last.items >= 0.8 * first.items
    assert first.memory_bytes is not None
    assert last.memory_bytes is not None
    assert last.memory_bytes == pytest.approx(first.memory_bytes, rel=0.2)


def test_a_bound_makes_no_lease_shorter_than_it_is_worth_its_wait() -> None:
    """Items of this Job take a hundredth of the earlier Jobs' items."""
    guided = Guided(WRITTEN, most_items=2)
    guided.begin(JOB, Cut.LEASED)
    for items in (1, 2, 2, 2) * 4:
        guided.done(Chunk(items, items * 1.0, (50 + items) * MIB, items))
    assert guided.next_items(JOB.items) == 2
    guided.begin(JOB, Cut.LEASED)
    for _ in range(600):
        items = guided.next_items(JOB.items)
        guided.done(Chunk(items, items * 0.01, (50 + items) * MIB, items))
    costs = guided.costs
    assert costs is not None
    assert guided.next_items(JOB.items) * costs.item_s >= 0.9 * WORTH_WAITS * JOB.wait_s
    assert guided.next_items(JOB.items) > 20


def test_a_program_that_needs_less_than_it_did_has_less_room_after_some_jobs() -> None:
    guided, rooms = Guided(WRITTEN), list[int]()
    for seed in range(1, 25):
        slope = 2.0 * SLOPE if seed <= 12 else 0.25 * SLOPE
        times = lognormal_items(JOB.items, 0.2, 0.5, seed)
        need = Need(float(BASE), slope, 0.03)
        play_leased(guided, JOB, times, Container(WRITTEN, need, seed))
        costs = guided.past.costs()
        assert costs is not None
        known = Learned(costs, guided.past.memory(), JOB.wait_s, guided.past.times.largest)
        rooms.append(room_of(TIME, known).memory_bytes or 0)
    assert rooms[-1] < rooms[11] / 2
