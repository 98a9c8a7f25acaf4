"""Only workers of the same share get what a worker had begun when it died."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll_predictor.splitting.jobs import share_of
from plimsoll_predictor.splitting.leases import Ack, Heard, Lease, Leases, NoLease, Sizing, Worker
from tests.builders.splitting.leases import ANY, a_worker, does, leased, whole

DEATHS = 3
"""After that many deaths an index has failed, and gets no other pod."""


def a_dead_worker(leases: Leases) -> None:
    """Let the first share's worker die: it did 10 items, and had begun 10 more."""
    worker = a_worker("a-1", 0)
    done = leased(leases, worker, most=10)
    does(leases, worker, done)
    leased(leases, worker, Heard(done.number, done.end), most=10)
    leases.died("a-1")


def test_what_a_dead_worker_had_begun_is_given_to_its_next_pod_alone() -> None:
    leases, idle = Leases(100, 2), a_worker("idle", 1)
    a_dead_worker(leases)
    whole(leases, idle)
    assert leases.done == 90, "what it had not begun is anybody's"
    assert leases.next(idle, None, 0, ANY) is NoLease.FINISHED, "nobody waits for another's"
    again = leased(leases, a_worker("a-2", 0))
    assert (again.first, again.end) == (10, 20)


def test_who_has_what_was_begun_is_not_asked_for_it() -> None:
    leases, idle = Leases(100, 2), a_worker("idle", 1)
    a_dead_worker(leases)
    leased(leases, a_worker("a-2", 0), most=1)
    whole(leases, idle)
    leases.next(idle, None, 0, ANY)
    assert leases.parts["a-2"].told == 35, "half of what was not begun"


def test_each_next_pod_that_dies_tells_more_of_what_it_was() -> None:
    leases = Leases(100, 2)
    a_dead_worker(leases)
    leased(leases, a_worker("a-2", 0))
    leases.died("a-2")
    assert leases.begun == {10}
    assert leases.free == [(10, 15), (15, 50)]
    leases.next(a_worker("a-3", 0), None, 0, ANY)
    leases.died("a-3")
    assert leases.free == [(10, 13), (13, 50)]


def test_each_next_pod_is_leased_half_of_what_was_begun() -> None:
    leases, found = Leases(100, 2), []
    a_dead_worker(leases)
    worker = a_worker("a-2", 0)
    while (lease := leased(leases, worker)).first < 20:
        found.append(lease.items)
        does(leases, worker, lease)
    assert found == [5, 3, 1, 1]
    assert lease.items == 15, "as ever"


def test_what_a_helper_had_begun_goes_back_to_the_share_that_it_is_of() -> None:
    leases, owner, helper = Leases(100, 2), Worker("owner", 0), a_worker("helper", 1)
    mine = leased(leases, owner, most=2)
    whole(leases, helper)
    # The owner gives the end of its part when asked.
    piece = leased(leases, helper, most=5)
    leases.died("helper")
    assert leases.begun == {piece.first}
    again = leased(leases, a_worker("helper-2", 1))
    assert again.first == piece.first + piece.items, "not what killed the one before"
    assert leases.next(a_worker("helper-3", 1), None, 0, ANY) is NoLease.WAIT, "nor its next pod"
    end = leases.parts["owner"].told
    assert leases.acknowledge(owner, Heard(mine.number, end), end) is Ack.DONE
    assert leased(leases, owner).first == piece.first


def test_a_share_whose_pod_succeeded_has_nothing_begun() -> None:
    leases = Leases(100, 2)
    a_dead_worker(leases)
    leases.ended(0)
    assert (leases.begun, leases.done) == (set(), 50)


def test_an_index_that_failed_for_good_keeps_what_it_died_of_and_nobody_waits() -> None:
    leases, idle = Leases(100, 2), a_worker("idle", 1)
    a_dead_worker(leases)
    whole(leases, idle)
    assert leases.next(idle, None, 0, ANY) is NoLease.FINISHED
    leases.ended(1)
    assert (leases.done, leases.free, leases.has_left(0)) == (90, [(10, 20)], True)


@dataclass
class Pods:
    """A Job with one item that kills its worker. goes_on: as ``plimsoll_chunks`` does."""

    items: int
    shares: int
    kills: int
    goes_on: bool
    chance: random.Random
    leases: Leases = field(init=False)
    working: dict[int, Worker] = field(default_factory=dict)
    ranges: dict[str, tuple[Lease, int]] = field(default_factory=dict)
    """Worker -> its lease, and the item that it does next."""
    deaths: Counter[int] = field(default_factory=Counter)
    did: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.leases = Leases(self.items, self.shares)
        for index in range(self.shares):
            self.born(index)

    def born(self, index: int) -> None:
        name = f"{index}-{self.deaths[index]}"
        self.working[index] = Worker(name, index, "1", self.goes_on)

    def step(self, index: int) -> None:
        worker = self.working[index]
        lease, at = self.ranges.get(worker.name, (None, 0))
        if lease is None:
            size = Sizing(lambda left: self.chance.randint(1, left))
            found = self.leases.next(worker, None, 0, size)
            if isinstance(found, Lease):
                self.ranges[worker.name] = found, found.first
            elif found is NoLease.FINISHED:
                del self.working[index]
                self.leases.ended(index)
            return
        if at == self.kills:
            self.died(index)
            return
        self.did[at] += 1
        part = self.leases.renew(worker, Heard(lease.number, lease.end))
        assert part is not None
        self.leases.renew(worker, Heard(lease.number, part.told))
        self.ranges[worker.name] = lease, at + 1
        if at + 1 == lease.first + lease.items:
            does(self.leases, worker, lease)
            del self.ranges[worker.name]

    def died(self, index: int) -> None:
        self.deaths[index] += 1
        self.leases.died(self.working.pop(index).name)
        if self.deaths[index] < DEATHS:
            self.born(index)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.integers(2, 60), st.integers(2, 5), st.integers(0, 59), st.booleans(), st.integers(0, 10**6)
)
def test_an_item_that_kills_costs_one_pod_of_others_at_most_and_no_other_share_an_item(
    items: int, shares: int, kills: int, goes_on: bool, seed: int
) -> None:
    kills %= items
    pods = Pods(items, shares, kills, goes_on, random.Random(seed))
    for _ in range(20_000):
        if not pods.working:
            break
        pods.step(pods.chance.choice(sorted(pods.working)))
    assert not pods.working, "somebody waits for ever"
    (its,) = (
        index
        for index in range(shares)
        if share_of(items, shares, index)[0] <= kills < share_of(items, shares, index)[1]
    )
    assert pods.deaths[its] == DEATHS
    assert pods.deaths.total() - DEATHS <= 1
    first, end = share_of(items, shares, its)
    assert set(pods.did) >= set(range(items)) - set(range(first, end))
    assert kills not in pods.did


@pytest.mark.parametrize("kills", [1, 17, 49])
def test_most_of_the_share_of_an_index_that_failed_is_done(kills: int) -> None:
    pods = Pods(200, 4, kills, goes_on=False, chance=random.Random(kills))
    while pods.working:
        pods.step(pods.chance.choice(sorted(pods.working)))
    assert pods.deaths[0] == DEATHS
    assert len(pods.did) >= 190
