"""Every share stays its worker's, and every item is done once by the record."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll_predictor.splitting.jobs import share_of
from plimsoll_predictor.splitting.lease_records import to_document
from plimsoll_predictor.splitting.leases import (
    MOST_NAME_CHARS,
    PATIENCE_S,
    WORKERS_A_SHARE,
    Ack,
    Heard,
    Lease,
    Leases,
    NoLease,
    Sizing,
    Worker,
)
from tests.builders.splitting.leases import ANY, a_worker, does, heard, leased, whole


def test_ranges_are_of_a_workers_own_share_and_become_smaller() -> None:
    leases = Leases(64, 2)
    found, lease = [], leased(leases, a_worker("b", 1))
    while lease.first + lease.items < lease.end:
        found.append(lease.items)
        does(leases, a_worker("b", 1), lease)
        lease = leased(leases, a_worker("b", 1), heard(lease))
    assert found == [16, 8, 4, 2, 1]
    assert lease.end == 64
    assert leases.reserved == 32


@pytest.mark.parametrize(("asked", "given"), [(-5, 1), (0, 1), (3, 3), (10**9, 25)])
def test_a_lease_has_an_item_at_least_and_half_of_the_part_at_most(asked: int, given: int) -> None:
    assert leased(Leases(100, 2), a_worker(), most=asked).items == given


def test_what_is_not_worth_being_asked_for_is_left_to_who_has_it() -> None:
    leases, busy, idle = Leases(100, 2), a_worker("busy", 0), a_worker("idle", 1)
    size = Sizing(lambda left: min(left, 2), lambda part: part.to_give + 1)
    leases.next(busy, None, 0, size)
    lease = leases.next(idle, None, 0, size)
    while isinstance(lease, Lease):
        does(leases, idle, lease)
        lease = leases.next(idle, heard(lease), 0, size)
    assert lease is NoLease.FINISHED
    assert leases.parts["busy"].told == 50


def test_a_worker_that_asks_again_has_its_own_again() -> None:
    leases = Leases(100, 2)
    lease = leased(leases, a_worker())
    assert leased(leases, a_worker()) == lease


def test_an_acknowledgement_that_is_repeated_counts_once() -> None:
    leases = Leases(100, 1)
    lease = leased(leases, a_worker())
    assert [does(leases, a_worker(), lease) for _ in range(2)] == [Ack.DONE, Ack.AGAIN]
    then = leased(leases, a_worker(), heard(lease))
    assert does(leases, a_worker(), lease) is Ack.AGAIN
    assert (leases.done, then.first) == (50, 50)


@pytest.mark.parametrize(
    ("worker", "off", "to"),
    [
        pytest.param(a_worker("b", 1), 0, 10, id="another's lease"),
        pytest.param(a_worker(life="2"), 0, 10, id="another life's"),
        pytest.param(a_worker(), 1, 10, id="one that nobody has"),
        pytest.param(a_worker(), -1, 10, id="one that nobody had"),
        pytest.param(a_worker(), 0, 51, id="more than its part"),
    ],
)
def test_what_a_worker_never_leased_it_cannot_acknowledge(
    worker: Worker, off: int, to: int
) -> None:
    leases = Leases(100, 2)
    lease = leased(leases, a_worker())
    leased(leases, a_worker("b", 1))
    assert leases.acknowledge(worker, Heard(lease.number + off, 50), to) is Ack.REFUSED
    assert leases.done == 0


@pytest.mark.parametrize(
    "worker",
    [
        pytest.param(a_worker(""), id="without a name"),
        pytest.param(a_worker("a" * (MOST_NAME_CHARS + 1)), id="with a name that no pod has"),
        pytest.param(a_worker("a", 2), id="of an index that there is not"),
        pytest.param(a_worker("a", -1), id="of an index below zero"),
    ],
)
def test_workers_that_the_job_cannot_have_are_refused_and_change_nothing(worker: Worker) -> None:
    leases = Leases(100, 2)
    with pytest.raises(ValueError, match=r"index|name"):
        leases.next(worker, None, 0, ANY)
    assert leases.reserved == 100


def test_one_job_has_a_few_workers_a_share_however_many_names_ask() -> None:
    leases, refused = Leases(10**6, 2), 0
    for at in range(1_000):
        worker = Worker(f"made-up-{at}", at % 2)
        try:
            found = leases.next(worker, None, 0, Sizing(lambda _: 1))
        except ValueError:
            refused += 1
            continue
        if isinstance(found, Lease):
            does(leases, worker, found)
    known = WORKERS_A_SHARE * (2 + 3)
    assert (len(leases.known), refused) == (known, 1_000 - known)
    assert len(json.dumps(to_document(leases))) < 5_000
    first = Worker("made-up-0", 0)
    assert does(leases, first, leased(leases, first)) is Ack.DONE, "who is known goes on"
    leases.died("made-up-1")
    leased(leases, Worker("a-next-pod", 1))


@pytest.mark.parametrize("shares", [1, 40])
def test_each_share_has_room_for_its_pod_and_others_that_do_not_go(shares: int) -> None:
    leases = Leases(10**4, shares)
    for at in range(WORKERS_A_SHARE * shares):
        leases.next(a_worker(f"p-{at}", at % shares), None, 0, ANY)


def test_the_end_of_a_part_is_anothers_only_when_its_worker_says_that_it_knows() -> None:
    leases, busy, idle = Leases(100, 2), a_worker("busy", 0), a_worker("idle", 1)
    mine = leased(leases, busy, most=2)
    whole(leases, idle)
    assert leases.next(idle, None, 0, ANY) is NoLease.WAIT, "not heard of yet"
    assert leases.renew(busy, heard(mine)) is not None
    assert leases.next(idle, None, 0, ANY) is NoLease.WAIT, "it said the end that it had"
    part = leases.renew(busy, heard(mine))
    assert part is not None
    assert part.told == 26, "it keeps half of what it was not leased"
    leases.renew(busy, Heard(mine.number, part.told))
    assert leased(leases, idle, most=100).first == 26


def test_an_owner_that_hears_nothing_goes_on_to_its_end_and_is_believed_later() -> None:
    leases, silent, idle = Leases(100, 2), a_worker("silent", 0), a_worker("idle", 1)
    mine = leased(leases, silent, most=2)
    whole(leases, idle)
    assert leases.next(idle, None, PATIENCE_S - 1, ANY) is NoLease.WAIT
    assert leases.next(idle, None, PATIENCE_S + 1, ANY) is NoLease.FINISHED
    assert leases.acknowledge(silent, heard(mine), 50) is Ack.DONE
    assert leases.done == 100


def test_who_says_no_end_goes_not_beyond_its_lease_and_gives_at_once() -> None:
    leases, simple, idle = Leases(100, 2), Worker("simple", 0), a_worker("idle", 1)
    leased(leases, simple, most=2)
    whole(leases, idle)
    assert leased(leases, idle).first == 26


def test_a_request_that_came_late_says_nothing_of_a_newer_lease() -> None:
    leases, slow, idle = Leases(100, 2), a_worker("slow", 0), a_worker("idle", 1)
    first = leased(leases, slow, most=2)
    does(leases, slow, first)
    second = leased(leases, slow, heard(first), most=2)
    whole(leases, idle)
    leases.next(slow, Heard(first.number, 0), 0, ANY)
    assert leases.next(idle, None, 0, ANY) is NoLease.WAIT
    assert leases.acknowledge(slow, heard(second), 50) is Ack.DONE


def test_an_owner_that_did_not_hear_of_a_lower_end_in_time_keeps_it() -> None:
    leases, quick, idle = Leases(8, 2), a_worker("quick", 0), a_worker("idle", 1)
    lease = leased(leases, quick, most=1)
    whole(leases, idle)
    assert leases.acknowledge(quick, heard(lease), 3) is Ack.DONE
    rest = leased(leases, quick)
    assert (rest.first, rest.end) == (3, 4)


def test_what_a_dead_worker_had_is_its_next_pods_first() -> None:
    leases = Leases(100, 2)
    lost = leased(leases, a_worker("a-1", 0), most=10)
    does(leases, a_worker("a-1", 0), lost)
    leased(leases, a_worker("a-1", 0), heard(lost), most=10)
    part = leases.died("a-1")
    assert part is not None
    assert (part.first, part.leased) == (10, 20)
    assert leases.died("a-1") is None
    again = leased(leases, a_worker("a-2", 0))
    assert (again.first, again.end) == (10, 50)
    assert does(leases, a_worker("a-1", 0), lost) is Ack.REFUSED


def test_a_container_that_starts_again_has_what_it_had_before() -> None:
    leases = Leases(100, 1)
    lost = leased(leases, a_worker(life="1"), most=10)
    again = leased(leases, a_worker(life="2"), most=10)
    assert (again.first, again.items, again.end) == (lost.first, 5, 100)
    assert does(leases, a_worker(life="1"), lost) is Ack.REFUSED
    assert does(leases, a_worker(life="2"), again) is Ack.DONE


def test_a_worker_waits_for_what_others_have_of_its_share() -> None:
    leases, owner, other = Leases(4, 2), Worker("owner", 0), Worker("other", 1)
    mine = leased(leases, owner, most=1)
    whole(leases, other)
    piece = leased(leases, other)
    assert leases.owed(owner) == [(piece.first, piece.end)] == [(1, 2)]
    assert leases.acknowledge(owner, heard(mine), 1) is Ack.DONE
    assert leases.next(owner, None, 10 * PATIENCE_S, ANY) is NoLease.WAIT
    assert leases.acknowledge(other, heard(piece), 2) is Ack.DONE
    assert leases.next(owner, None, 0, ANY) is NoLease.FINISHED
    assert leases.owed(owner) == []
    assert leases.done == 4


def test_the_share_of_a_pod_that_succeeded_is_done_whoever_heard_of_it() -> None:
    leases = Leases(100, 2)
    leases.ended(0)
    assert (leases.done, leases.reserved) == (50, 50)
    whole(leases, a_worker("b", 1))
    assert leases.done == 100
    leases.ended(1)
    assert leases.done == 100


def test_shares_are_the_whole_job_and_no_item_is_in_two() -> None:
    parts = [share_of(17, 5, index) for index in range(5)]
    assert [item for first, end in parts for item in range(first, end)] == list(range(17))


@pytest.mark.parametrize(("items", "shares"), [(0, 1), (-1, 1), (10**16, 1), (1, 0), (1, 10**9)])
def test_a_job_of_no_items_or_too_many_is_refused(items: int, shares: int) -> None:
    with pytest.raises(ValueError, match="a job of"):
        Leases(items, shares)


@dataclass
class Process:
    """A worker like ``plimsoll_chunks``; every answer and request may be lost."""

    worker: Worker
    heard: Heard | None = None
    at: int = 0
    goal: int = 0
    end: int = 0
    gone: bool = False


@dataclass
class World:
    """Workers, a record, and a network that loses half of the messages."""

    items: int
    shares: int
    chance: random.Random
    leases: Leases = field(init=False)
    processes: list[Process] = field(init=False)
    did: dict[int, str] = field(default_factory=dict)
    killed: set[str] = field(default_factory=set)
    names: int = 0

    def __post_init__(self) -> None:
        self.leases = Leases(self.items, self.shares)
        self.processes = [self.born(index) for index in range(self.shares)]

    def born(self, index: int) -> Process:
        self.names += 1
        return Process(a_worker(f"{index}-{self.names}", index))

    def step(self) -> None:
        at = self.chance.randrange(self.shares)
        process = self.processes[at]
        if process.gone:
            return
        what = self.chance.random()
        if what < 0.05:
            # Its work since its last request is lost with it: another does it again.
            self.killed.add(process.worker.name)
            self.leases.died(process.worker.name)
            self.processes[at] = self.born(process.worker.index)
        elif what < 0.35 and process.heard:
            if self.chance.random() < 0.5:
                part = self.leases.renew(process.worker, process.heard)
                if part is not None and self.chance.random() < 0.5:
                    # It keeps what it has begun on its own.
                    process.end = max(part.told, process.at)
                    process.heard = Heard(process.heard.number, process.end)
        elif process.at < process.goal or (process.at < process.end and what < 0.6):
            if process.at < process.end:  # on its own, up to the end that it knows
                self.do(process)
        else:
            self.talk(process)

    def do(self, process: Process) -> None:
        before = self.did.get(process.at)
        assert before is None or before in self.killed, f"{process.at} is done twice"
        self.did[process.at] = process.worker.name
        process.at += 1

    def talk(self, process: Process) -> None:
        if process.heard is not None and self.chance.random() < 0.5:
            self.leases.acknowledge(process.worker, process.heard, process.at)
        if self.chance.random() < 0.3:
            return
        if process.heard is not None:
            self.leases.acknowledge(process.worker, process.heard, process.at)
        size = Sizing(lambda left: self.chance.randint(1, max(1, left // 3)))
        found = self.leases.next(process.worker, process.heard, 0, size)
        if self.chance.random() < 0.3:
            return
        if isinstance(found, Lease):
            process.heard = heard(found)
            process.at, process.goal = found.first, found.first + found.items
            process.end = found.end
        elif found is NoLease.FINISHED:
            process.gone = True


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 10**6))
def test_no_item_is_done_twice_and_none_is_left_whatever_is_lost(
    items: int, shares: int, seed: int
) -> None:
    world = World(items, shares, random.Random(seed))
    for _ in range(100_000):
        if all(process.gone for process in world.processes):
            break
        world.step()
        assert world.leases.done <= len(world.did)
    assert set(world.did) == set(range(items))
    assert world.leases.done == items
