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
        pytest.param(
            {"leases": [{"number": 2, "worker": "", "first": 10, "items": 5}]}, id="nobody"
        ),
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
    """Workers that ask, acknowledge, repeat, forge, die and come back, and a keeper that restarts."""

    ITEMS = 60

    def __init__(self) -> None:
        super().__init__()
        self.leases = Leases(self.ITEMS)
        self.now_s = 0.0
        self.record = [0] * self.ITEMS
        self.held: dict[str, Lease] = {}
        """What each worker believes to have, taken back or not."""
        self.acknowledged: list[Lease] = []

    @rule(worker=st.sampled_from("abcde"), items=st.integers(-3, 40))
    def asks(self, worker: str, items: int) -> None:
        lease = self.leases.next(worker, self.now_s, lambda _: items)
        if isinstance(lease, Lease):
            self.held[worker] = lease

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
        assert self.leases.done == sum(self.record)
        held = sum(lease.items for lease in self.leases.open)
        assert self.leases.done + self.leases.left + held == self.ITEMS

    def teardown(self) -> None:
        for worker in "abcde":
            self.leases.died(worker)
        while isinstance(lease := self.leases.next("last", self.now_s, lambda _: 7), Lease):
            assert self.leases.acknowledge("last", lease.number).ack is Ack.DONE
            for item in range(lease.first, lease.first + lease.items):
                self.record[item] += 1
        assert lease is NoLease.FINISHED
        assert self.record == [1] * self.ITEMS


TestWorkers = Workers.TestCase
TestWorkers.settings = settings(max_examples=60, stateful_step_count=40)


def test_ten_million_items_cost_what_their_open_ranges_cost() -> None:
    items, workers = 10_000_000, 64
    draw = random.Random(1)
    leases, guided = Leases(items), Guided()
    guided.begin(Job(items, workers, 1.5, 0.05), Cut.LEASED)
    granted = most_bytes = 0
    held: dict[str, Lease] = {}
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        while leases.done < items:
            worker = f"worker-{draw.randrange(workers)}"
            lease = held.pop(worker, None)
            if lease is None:
                asked = leases.next(worker, 0.0, guided.next_items)
                if isinstance(asked, Lease):
                    granted += 1
                    held[worker] = asked
            elif draw.random() < 0.05:
                leases.died(worker)
            elif leases.acknowledge(worker, lease.number).ack is Ack.DONE:
                guided.done(Chunk(lease.items, lease.items * 0.01))
            if granted % 500 == 0:
                most_bytes = max(most_bytes, len(json.dumps(leases.to_document())))
        now, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert leases.left == 0
    assert granted < 20_000
    # An open lease, its worker and its last number: some 120 bytes of each worker, and what is back.
    assert most_bytes < 300 * workers
    assert now - before < 1_000_000
