"""Every item is done once by the record, whatever workers do."""

from __future__ import annotations

import json
import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.leases import (
    LEASE_S,
    MOST_NAME_CHARS,
    Ack,
    Lease,
    Leases,
    NoLease,
    lease_seconds,
    share_of,
)
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut


def leased(leases: Leases, worker: str, items: int = 10, now_s: float = 0.0) -> Lease:
    lease = leases.next(worker, now_s, lambda _: items)
    assert isinstance(lease, Lease)
    return lease


def test_ranges_follow_each_other_and_end_with_the_job() -> None:
    leases = Leases(25)
    found = [leased(leases, each) for each in "abc"]
    assert [(each.first, each.items) for each in found] == [(0, 10), (10, 10), (20, 5)]
    assert leases.next("d", 0.0, lambda left: left) is NoLease.WAIT
    for each in found:
        assert leases.acknowledge(each.worker, each.number).ack is Ack.DONE
    assert leases.done == 25
    assert leases.next("d", 0.0, lambda left: left) is NoLease.FINISHED


def test_a_worker_that_asks_again_has_its_own_again() -> None:
    leases = Leases(25)
    lease = leased(leases, "a")
    again = leased(leases, "a", now_s=5.0)
    assert (again.number, again.first, again.items) == (lease.number, 0, 10)
    assert leases.left == 15


def test_an_acknowledgement_that_is_repeated_counts_once() -> None:
    leases = Leases(25)
    lease = leased(leases, "a")
    assert leases.acknowledge("a", lease.number).ack is Ack.DONE
    assert leases.acknowledge("a", lease.number).ack is Ack.AGAIN
    leased(leases, "a")
    assert leases.acknowledge("a", lease.number).ack is Ack.AGAIN
    assert leases.done == 10


@pytest.mark.parametrize(
    ("worker", "off"),
    [
        pytest.param("b", 0, id="another's lease"),
        pytest.param("a", 1, id="one that nobody has"),
        pytest.param("a", -1, id="one that nobody had"),
        pytest.param("", 0, id="nobody"),
    ],
)
def test_what_a_worker_never_leased_it_cannot_acknowledge(worker: str, off: int) -> None:
    leases = Leases(25)
    lease = leased(leases, "a")
    leased(leases, "b", 3)
    assert leases.acknowledge(worker, lease.number + off).ack is Ack.REFUSED
    assert leases.done == 0


def test_what_a_dead_worker_had_is_done_by_others_and_not_by_it() -> None:
    leases = Leases(25)
    lost = leased(leases, "a")
    assert leases.died("a") == lost
    assert leases.died("a") is None
    taken = leased(leases, "b", 4)
    assert (taken.first, taken.items) == (0, 4)
    assert leases.acknowledge("a", lost.number).ack is Ack.REFUSED
    rest = leased(leases, "c")
    assert (rest.first, rest.items) == (4, 6)


def test_a_worker_that_says_nothing_loses_its_lease_and_one_that_renews_does_not() -> None:
    leases = Leases(25)
    silent, alive = leased(leases, "silent"), leased(leases, "alive")
    assert leases.renew("alive", alive.number, LEASE_S - 1)
    assert leases.expire(LEASE_S) == (silent,)
    assert not leases.renew("silent", silent.number, LEASE_S)
    assert leases.acknowledge("silent", silent.number).ack is Ack.REFUSED
    assert leases.acknowledge("alive", alive.number).ack is Ack.DONE


def test_a_job_goes_on_after_a_restart_on_another_clock() -> None:
    leases = Leases(25)
    done, kept, back = (leased(leases, each, 5, now_s=1e6) for each in "abc")
    leases.acknowledge("a", done.number)
    leases.died("c")
    again = Leases.from_document(json.loads(json.dumps(leases.to_document())), now_s=3.0)
    assert (again.done, again.left) == (5, 15)
    assert again.acknowledge("a", done.number).ack is Ack.AGAIN
    assert again.expire(3.0 + LEASE_S - 1) == ()
    assert again.acknowledge("b", kept.number).ack is Ack.DONE
    assert again.acknowledge("c", back.number).ack is Ack.REFUSED
    assert leased(again, "d", 5, now_s=4.0).first == back.first


def _written() -> dict[str, Any]:
    leases = Leases(30)
    leased(leases, "a")
    leases.acknowledge("a", leased(leases, "a").number)
    leased(leases, "b", 5)
    leased(leases, "c", 5)
    leases.died("c")
    written: dict[str, Any] = json.loads(json.dumps(leases.to_document()))
    return written


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"done": 11}, id="more done than was begun"),
        pytest.param({"begun": 40}, id="more begun than there is"),
        pytest.param({"back": [[0, 40]]}, id="back is more than the job"),
        pytest.param({"back": [[12, 5]]}, id="an item is open twice"),
        pytest.param({"number": 1}, id="a lease of the future"),
        pytest.param({"items": 0}, id="no items"),
        pytest.param({"items": "30"}, id="items are text"),
        pytest.param({"leases": []}, id="a range is lost"),
        pytest.param({"silent": [0]}, id="an index that it does not have"),
        pytest.param({"last": {"x" * 300: 1}}, id="a name that no pod has"),
    ],
)
def test_a_document_that_does_not_add_up_is_refused(changed: dict[str, Any]) -> None:
    assert Leases.from_document(_written(), 0.0).done == 10
    with pytest.raises(ValueError, match="the leases of a job"):
        Leases.from_document({**_written(), **changed}, 0.0)


@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x, max_size=3)))
def test_no_document_at_all_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match="the leases of a job"):
        Leases.from_document(document, 0.0)


@pytest.mark.parametrize("name", ["", "x" * (MOST_NAME_CHARS + 1)])
def test_a_worker_has_a_pods_name(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        Leases(5).next(name, 0.0, lambda left: left)


@pytest.mark.parametrize(
    ("told_s", "took_s"),
    [(5.0, 5.0), (500.0, 20.0), (None, 20.0), (-1.0, 20.0), (float("nan"), 20.0)],
)
def test_a_lease_took_no_longer_than_it_was(told_s: float | None, took_s: float) -> None:
    assert lease_seconds(Lease(1, "a", 0, 1, 100.0, 700.0), told_s, 120.0) == took_s


class Workers(RuleBasedStateMachine):
    """Workers that ask, acknowledge, repeat, forge, die, or work alone; a keeper that restarts.

    Each of the first five has a share, which it does on its own if it was never heard of.
    """

    ITEMS = 60
    NAMES = "abcde"

    def __init__(self) -> None:
        super().__init__()
        self.leases = Leases(self.ITEMS, len(self.NAMES))
        self.alone: set[str] = set()
        self.joined: set[str] = set()
        self.now_s = 0.0
        self.record = [0] * self.ITEMS
        self.held: dict[str, Lease] = {}
        """What each worker believes to have, taken back or not."""
        self.acknowledged: list[Lease] = []

    @rule(worker=st.sampled_from("abcde"), items=st.integers(-3, 40))
    def asks(self, worker: str, items: int) -> None:
        if worker in self.alone:
            return
        assert self.leases.join(self.NAMES.index(worker)) == (worker not in self.joined)
        self.joined.add(worker)
        lease = self.leases.next(worker, self.now_s, lambda _: items)
        if isinstance(lease, Lease):
            self.held[worker] = lease

    @rule(worker=st.sampled_from("abcde"))
    def works_alone(self, worker: str) -> None:
        if worker not in self.joined | self.alone:
            self.alone.add(worker)
            first, items = share_of(self.ITEMS, len(self.NAMES), self.NAMES.index(worker))
            for item in range(first, first + items):
                self.record[item] += 1

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def acknowledges(self, data: st.DataObject) -> None:
        worker = data.draw(st.sampled_from(sorted(self.held)))
        lease = self.held.pop(worker)
        answered = self.leases.acknowledge(worker, lease.number)
        if answered.ack is Ack.DONE:
            self.acknowledged.append(lease)
            for item in range(lease.first, lease.first + lease.items):
                self.record[item] += 1

    @precondition(lambda self: self.acknowledged)
    @rule(data=st.data())
    def repeats(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.acknowledged))
        assert self.leases.acknowledge(lease.worker, lease.number).ack is not Ack.DONE

    @rule(worker=st.sampled_from("abcdefg"), number=st.integers(-5, 200))
    def forges(self, worker: str, number: int) -> None:
        own = {lease.number for lease in self.leases.open if lease.worker == worker}
        if number not in own:
            assert self.leases.acknowledge(worker, number).ack is not Ack.DONE

    @rule(worker=st.sampled_from("abcde"), knows=st.booleans())
    def dies(self, worker: str, knows: bool) -> None:
        self.leases.died(worker)
        if knows:
            self.held.pop(worker, None)

    @rule(seconds=st.floats(0, 2 * LEASE_S))
    def passes(self, seconds: float) -> None:
        self.now_s += seconds
        self.leases.expire(self.now_s)

    @rule()
    def restarts(self) -> None:
        self.now_s = 0.0
        document = json.loads(json.dumps(self.leases.to_document()))
        self.leases = Leases.from_document(document, self.now_s)

    @invariant()
    def each_item_is_done_once_at_most_and_none_is_lost(self) -> None:
        assert max(self.record) <= 1
        alone = self.ITEMS // len(self.NAMES) * len(self.alone)
        assert self.leases.done + alone == sum(self.record)
        held = sum(lease.items for lease in self.leases.open)
        reserved = self.leases.reserved
        assert self.leases.done + self.leases.left + held + reserved == self.ITEMS

    def teardown(self) -> None:
        for index, worker in enumerate(self.NAMES):
            self.leases.died(worker)
            if worker not in self.alone:
                self.leases.join(index)
        while isinstance(lease := self.leases.next("last", self.now_s, lambda _: 7), Lease):
            assert self.leases.acknowledge("last", lease.number).ack is Ack.DONE
            for item in range(lease.first, lease.first + lease.items):
                self.record[item] += 1
        assert lease is NoLease.FINISHED
        assert self.record == [1] * self.ITEMS


TestWorkers = Workers.TestCase
TestWorkers.settings = settings(max_examples=60, stateful_step_count=40)


def _step(leases: Leases, guided: Guided, held: dict[str, Lease], draw: random.Random) -> None:
    """One of 64 workers asks, acknowledges, or dies one time of twenty."""
    worker = f"worker-{draw.randrange(64)}"
    lease = held.pop(worker, None)
    if lease is None:
        asked = leases.next(worker, 0.0, guided.next_items)
        if isinstance(asked, Lease):
            held[worker] = asked
    elif draw.random() < 0.05:
        leases.died(worker)
    elif leases.acknowledge(worker, lease.number).ack is Ack.DONE:
        guided.done(Chunk(lease.items, lease.items * 0.01))


@pytest.mark.parametrize("shares", [0, 64])
def test_ten_million_items_cost_what_their_open_ranges_cost(shares: int) -> None:
    draw, held = random.Random(1), dict[str, Lease]()
    leases, guided = Leases(10_000_000, shares), Guided()
    for index in range(shares):
        leases.join(index)
    guided.begin(Job(10_000_000, 64, 1.5, 0.05), Cut.LEASED)
    steps = most_bytes = 0
    tracemalloc.start()
    try:
        while leases.done < 10_000_000:
            _step(leases, guided, held, draw)
            steps += 1
            if steps % 500 == 0:
                most_bytes = max(most_bytes, len(json.dumps(leases.to_document())))
        _, most_traced = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert steps < 40_000
    # An open lease, its worker and its last number are some 120 bytes; and what came back.
    assert most_bytes < 300 * 64
    assert most_traced < 1_000_000


def test_the_share_of_a_worker_that_was_never_heard_of_is_nobody_elses() -> None:
    leases = Leases(30, shares=3)
    assert leases.next("b", 0.0, lambda left: left) is NoLease.FINISHED
    assert leases.join(1)
    assert not leases.join(1)
    lease = leased(leases, "b", 30)
    assert (lease.first, lease.items) == share_of(30, 3, 1) == (10, 10)
    assert leases.next("c", 0.0, lambda left: left) is NoLease.WAIT
    leases.acknowledge("b", lease.number)
    assert leases.next("b", 0.0, lambda left: left) is NoLease.FINISHED
    assert (leases.done, leases.reserved) == (10, 20)


@given(st.integers(1, 10**15), st.integers(1, 500))
def test_shares_are_all_items_once(items: int, shares: int) -> None:
    end = 0
    for index in range(shares):
        first, there = share_of(items, shares, index)
        assert first == end
        assert 0 <= there <= items // shares + 1
        end = first + there
    assert end == items


@pytest.mark.parametrize("index", [-1, 3])
def test_an_index_that_a_job_does_not_have_cannot_join(index: int) -> None:
    with pytest.raises(ValueError, match="of a job of 3 shares"):
        Leases(30, shares=3).join(index)
