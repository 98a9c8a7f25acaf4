"""Who does which items of a job: ranges are leased, acknowledged once, and taken back.

In: workers that ask, acknowledge and die, and a clock of the one who keeps this. Out: a range, that
all is leased, or that all is done. Who keeps it writes ``to_document`` before an answer leaves;
then a restart loses nothing that a worker was told. What it costs grows with open ranges and
workers, not with items.

A worker that cannot reach who keeps this may do its share, and no item is done twice: the share of
a worker that was never heard of is nobody else's. With its first word (``join``) it gives its share
to all. From then on it does only what it is leased; if it is cut off, it waits or fails, and
Kubernetes makes the next pod of its index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.splitting.costs import MOST_ITEMS
from plimsoll_predictor.splitting.jobs import MOST_WORKERS

LEASE_S: Final = 600.0
"""So long a lease is a worker's without a word: ten times what one is meant to take. Then it is
taken back, unless the worker says that it is at work (``renew``)."""
MOST_NAME_CHARS: Final = 253
"""Of a worker, which is a pod's name."""

NextItems = Callable[[int], int]
"""How many items are left -> how many the next lease has; what it says is cut to 1 to that."""


class NoLease(StrEnum):
    """Why a worker gets no range now."""

    WAIT = "wait"
    """Others have all that is left; some of it may come back."""
    FINISHED = "finished"
    """Every item is done, or in the share of a worker that was not heard of, which does it."""
    CROWDED = "crowded"
    """More workers than any job may have."""


class Ack(StrEnum):
    """What an acknowledgement came to."""

    DONE = "done"
    """These items are done, by this record."""
    AGAIN = "again"
    """This worker's last acknowledgement, once more; it counted once."""
    REFUSED = "refused"
    """It never was this worker's lease, or it was taken back: others do these items."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's range: items ``first`` to ``first + items - 1``. number: unique in the job.

    granted_s, until_s: on the clock of who keeps leases.
    """

    number: int
    worker: str
    first: int
    items: int
    granted_s: float
    until_s: float


@dataclass(frozen=True, slots=True)
class Answered:
    """An acknowledgement's answer. lease: that it ended; None unless it is DONE."""

    ack: Ack
    lease: Lease | None = None


Whole = Annotated[int, msgspec.Meta(ge=0, le=MOST_ITEMS)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_NAME_CHARS)]


class _Open(msgspec.Struct):
    number: Whole
    worker: Name
    first: Whole
    items: Annotated[int, msgspec.Meta(ge=1, le=MOST_ITEMS)]


class _Document(msgspec.Struct):
    items: Annotated[int, msgspec.Meta(ge=1, le=MOST_ITEMS)]
    shares: Annotated[int, msgspec.Meta(ge=0, le=MOST_WORKERS)]
    silent: Annotated[list[Whole], msgspec.Meta(max_length=MOST_WORKERS)]
    begun: Whole
    done: Whole
    number: Whole
    back: Annotated[
        list[tuple[Whole, Annotated[int, msgspec.Meta(ge=1, le=MOST_ITEMS)]]],
        msgspec.Meta(max_length=3 * MOST_WORKERS),
    ]
    leases: Annotated[list[_Open], msgspec.Meta(max_length=MOST_WORKERS)]
    last: Annotated[dict[Name, Whole], msgspec.Meta(max_length=MOST_WORKERS)]


def share_of(items: int, shares: int, index: int) -> tuple[int, int]:
    """Return the first item and how many of a worker's share, as it does them on its own.

    A worker computes the same (`items * index // shares`), without asking anybody.
    """
    first = items * index // shares
    return first, items * (index + 1) // shares - first


def check_worker(name: str) -> None:
    """Raise ValueError for a name that no pod has."""
    if not 0 < len(name) <= MOST_NAME_CHARS:
        raise ValueError(f"a worker's name has 1 to {MOST_NAME_CHARS} characters")


class Leases:
    """The ranges of one job. A worker has one lease at a time.

    shares: of how many indexes each has a share until it is heard of; 0 if none works on its own,
    and everything is leased from the beginning.
    """

    def __init__(self, items: int, shares: int = 0) -> None:
        if not 0 < items <= MOST_ITEMS:
            raise ValueError(f"a job of {items!r} items; it has 1 to {MOST_ITEMS}")
        if not 0 <= shares <= MOST_WORKERS:
            raise ValueError(f"a job of {shares!r} shares; it has 0 to {MOST_WORKERS}")
        self._items, self._shares = items, shares
        self._silent = set(range(shares))
        """Indexes that were not heard of."""
        self._reserved = items if shares else 0
        """Items of their shares."""
        self._begun = items if shares else 0
        self._done = self._number = 0
        self._back: list[tuple[int, int]] = []
        """Free once more, by first item and how many."""
        self._open: dict[str, Lease] = {}
        """By worker."""
        self._last: dict[str, int] = {}
        """Worker -> the number of the lease that it acknowledged last; the newest come last."""

    @property
    def items(self) -> int:
        """How many items the job has."""
        return self._items

    @property
    def shares(self) -> int:
        """Of how many indexes each had a share at the beginning."""
        return self._shares

    @property
    def done(self) -> int:
        """How many items are done."""
        return self._done

    @property
    def left(self) -> int:
        """How many items may be leased now."""
        return self._items - self._begun + sum(items for _, items in self._back)

    @property
    def reserved(self) -> int:
        """How many items are in shares of workers that were not heard of."""
        return self._reserved

    @property
    def open(self) -> tuple[Lease, ...]:
        """What workers have now."""
        return tuple(self._open.values())

    def join(self, index: int) -> bool:
        """Hear of an index: its share is leased to all from now on; False if it was before.

        Raises:
            ValueError: for an index that the job does not have.
        """
        if not 0 <= index < self._shares:
            raise ValueError(f"index {index!r} of a job of {self._shares} shares")
        if index not in self._silent:
            return False
        self._silent.discard(index)
        first, items = share_of(self._items, self._shares, index)
        self._reserved -= items
        if items:
            self._back.append((first, items))
        return True

    def next(self, worker: str, now_s: float, next_items: NextItems) -> Lease | NoLease:
        """Lease a range; a worker that asks again has its own again, and longer.

        Raises:
            ValueError: for a worker without a name, or with one that no pod has.
        """
        check_worker(worker)
        if worker in self._open:
            return self._renewed(self._open[worker], now_s)
        self.expire(now_s)
        left = self.left
        if not left:
            return NoLease.WAIT if self._open else NoLease.FINISHED
        if len(self._open) >= MOST_WORKERS:
            return NoLease.CROWDED
        # Who is silent is at work or about to start: a part is one of all that is still to be done.
        first, items = self._take(max(1, min(left, next_items(left + self._reserved))))
        self._number += 1
        lease = Lease(self._number, worker, first, items, now_s, now_s + LEASE_S)
        self._open[worker] = lease
        return lease

    def acknowledge(self, worker: str, number: int) -> Answered:
        """Count a lease as done, once. number: of the lease, as it was granted."""
        lease = self._open.get(worker)
        if lease is not None and lease.number == number:
            del self._open[worker]
            self._remember(worker, number)
            self._done += lease.items
            return Answered(Ack.DONE, lease)
        if self._last.get(worker) == number:
            return Answered(Ack.AGAIN)
        return Answered(Ack.REFUSED)

    def renew(self, worker: str, number: int, now_s: float) -> bool:
        """Keep a lease for longer; False if it is not this worker's any more."""
        lease = self._open.get(worker)
        if lease is None or lease.number != number:
            return False
        self._renewed(lease, now_s)
        return True

    def died(self, worker: str) -> Lease | None:
        """Take back what a worker has, that can no longer do it; None if it has nothing."""
        self._last.pop(worker, None)
        lease = self._open.pop(worker, None)
        if lease is not None:
            self._back.append((lease.first, lease.items))
        return lease

    def expire(self, now_s: float) -> tuple[Lease, ...]:
        """Take back the leases of workers that said nothing for too long."""
        late = tuple(lease for lease in self._open.values() if lease.until_s <= now_s)
        for lease in late:
            self.died(lease.worker)
        return late

    def to_document(self) -> dict[str, Any]:
        """Return it in plain JSON types; without times, since another clock may read it."""
        leases = [_Open(each.number, each.worker, each.first, each.items) for each in self.open]
        document = _Document(
            items=self._items,
            shares=self._shares,
            silent=sorted(self._silent),
            begun=self._begun,
            done=self._done,
            number=self._number,
            back=self._back,
            leases=leases,
            last=self._last,
        )
        written: dict[str, Any] = to_document(document)
        return written

    @classmethod
    def from_document(cls, document: object, now_s: float) -> Leases:
        """Go on where it was written; leases last as if granted now.

        Raises:
            ValueError: if it is no such document, or its items do not add up to the job's.
        """
        read = from_document(_Document, document, "the leases of a job")
        _check(read)
        leases = cls(read.items, read.shares)
        leases._silent = set(read.silent)
        leases._reserved = sum(items for _, items in _shares(read))
        leases._begun, leases._done, leases._number = read.begun, read.done, read.number
        leases._back, leases._last = [*read.back], {**read.last}
        for each in read.leases:
            until_s = now_s + LEASE_S
            lease = Lease(each.number, each.worker, each.first, each.items, now_s, until_s)
            leases._open[each.worker] = lease
        return leases

    def _take(self, items: int) -> tuple[int, int]:
        """What came back goes first, so that what is open stays little."""
        if not self._back:
            first, self._begun = self._begun, self._begun + items
            return first, items
        first, there = self._back.pop()
        if items < there:
            self._back.append((first + items, there - items))
        return first, min(items, there)

    def _remember(self, worker: str, number: int) -> None:
        """Of pods that came and went the oldest is forgotten: it no longer repeats itself."""
        self._last.pop(worker, None)
        if len(self._last) >= MOST_WORKERS:
            del self._last[next(iter(self._last))]
        self._last[worker] = number

    def _renewed(self, lease: Lease, now_s: float) -> Lease:
        longer = Lease(
            lease.number,
            lease.worker,
            lease.first,
            lease.items,
            lease.granted_s,
            max(lease.until_s, now_s + LEASE_S),
        )
        self._open[lease.worker] = longer
        return longer


def _check(read: _Document) -> None:
    """Raise ValueError unless what is open and what is done is what was begun, each item once."""
    if any(index >= read.shares for index in read.silent):
        raise ValueError("the leases of a job: an index that it does not have")
    ranges = sorted(_ranges(read))
    end = 0
    for first, items in ranges:
        if first < end or first + items > read.begun:
            raise ValueError(f"the leases of a job: items from {first} on are there twice")
        end = first + items
    if read.begun > read.items or read.done + sum(items for _, items in ranges) != read.begun:
        raise ValueError("the leases of a job: what is done and open is not what was begun")
    if len({each.worker for each in read.leases}) != len(read.leases):
        raise ValueError("the leases of a job: a worker has two")
    if any(each.number > read.number for each in read.leases):
        raise ValueError("the leases of a job: a lease that was not granted yet")


def _ranges(read: _Document) -> Iterator[tuple[int, int]]:
    yield from read.back
    yield from (share for share in _shares(read) if share[1])
    for each in read.leases:
        yield each.first, each.items


def _shares(read: _Document) -> Iterator[tuple[int, int]]:
    for index in read.silent:
        yield share_of(read.items, read.shares, index)


def lease_seconds(lease: Lease, told_s: float | None, now_s: float) -> float:
    """Return what a lease took. told_s: by its worker, if it said; it cannot be longer than it was.

    Workers' clocks may be apart: only how long they took is asked for, and bounded by this clock.
    """
    most_s = max(0.0, now_s - lease.granted_s)
    if told_s is None or not math.isfinite(told_s) or told_s < 0:
        return most_s
    return min(told_s, most_s)
