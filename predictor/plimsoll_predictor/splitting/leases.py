"""Says who does which items of a job: a worker keeps its share; others help from its end.

In: workers that ask, acknowledge, end and die. Out: a range, or why there is none. The caller
writes ``lease_records.to_document`` before an answer leaves; then a restart loses nothing that a
worker was told. The cost grows with workers and open parts, not with items.

A worker has one *part* of the job at a time, at first its share, and leases ranges from the front
of it. A worker that has finished its part gets a piece from the end of another's. That takes two
steps: this module lowers the other's end, and the piece is free only when the other has said that
it knows (``Heard``). So a worker that hears nothing may go on to the last end that it knows, for as
long as it likes: nobody else has an item before it. No clock decides who has what.

The items that a worker had begun when it died may have killed it. Only workers of the same share
get them again: without leases they would die of them, too, and nobody else would.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from plimsoll_predictor.splitting.costs import MOST_ITEMS
from plimsoll_predictor.splitting.jobs import MOST_WORKERS, share_of

MOST_NAME_CHARS: Final = 253
"""The longest name of a worker, which is its pod's."""
WORKERS_A_SHARE: Final = 4
"""Known at once, at most, and 12 more: a share has one pod, and rarely some that do not go."""
PATIENCE_S: Final = 10.0
"""How long a worker waits for a piece from a silent one; then it is told to end."""


class NoLease(StrEnum):
    """Why a worker gets no range now."""

    WAIT = "wait"
    """Others have the rest of its share, or are about to give it some of theirs."""
    FINISHED = "finished"
    """Its share is done, and nobody has anything to give."""


class Ack(StrEnum):
    """The result of an acknowledgement."""

    DONE = "done"
    """The record counts these items as done."""
    AGAIN = "again"
    """It repeats this worker's last acknowledgement; it counted once."""
    REFUSED = "refused"
    """It never was this worker's lease, or it was taken back: others do these items."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that asks. index: the share that it does, from 0.

    life: differs each time the worker is started under this name. goes_on: it goes on to the end of
    its part if it hears nothing; else it does its lease and no more.
    """

    name: str
    index: int
    life: str = ""
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Heard:
    """The newest answer that a worker has read: its lease, and the end of the part in it."""

    number: int
    end: int


@dataclass(frozen=True, slots=True)
class Part:
    """Items ``first`` to ``end - 1`` that a worker has, none of them done.

    leased: it was told to work up to this item; ``first`` if it was told nothing. told: the end
    that it was told last. It is below ``end`` until the worker has said that it knows. number: of
    its newest lease. since: the number of its first lease in this part. held: a worker that died
    had begun the items before this one; they are given to no other.
    """

    worker: Worker
    number: int
    since: int
    first: int
    leased: int
    end: int
    told: int
    held: int = 0

    def has(self, heard: Heard) -> bool:
        """Say whether a lease is, or was, of this part."""
        return self.since <= heard.number <= self.number

    @property
    def to_give(self) -> int:
        """How many items others may be given, if it is not asked already."""
        after = max(self.first, self.leased, self.held)
        return self.told - after if self.told == self.end else 0

    @property
    def begun(self) -> int:
        """Items before this one may be what kills the worker, if it dies now.

        If it dies of the same as the worker before, the cause lies in its lease, and not after it.
        """
        return self.leased if self.leased > self.first else max(self.first, self.held)


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's range: items ``first`` to ``first + items - 1``; its part goes up to ``end``."""

    number: int
    worker: str
    first: int
    items: int
    end: int


@dataclass(frozen=True, slots=True)
class Sizing:
    """How much is given out at once.

    next_items: how many items are left -> how many a lease has. least: a worker's part -> how many
    items make it worth asking for some of them.
    """

    next_items: Callable[[int], int]
    least: Callable[[Part], int] = lambda _: 1


class Leases:
    """The items of one job. shares: how many workers have one each; the index says which."""

    def __init__(self, items: int, shares: int) -> None:
        if not 0 < items <= MOST_ITEMS:
            raise ValueError(f"a job of {items!r} items; it has 1 to {MOST_ITEMS}")
        if not 0 < shares <= MOST_WORKERS:
            raise ValueError(f"a job of {shares!r} shares; it has 1 to {MOST_WORKERS}")
        self.items, self.shares = items, shares
        self.number = 0
        """The newest lease's number."""
        self.silent = set(range(shares))
        """Indexes whose workers have not asked yet; nobody else gets their shares."""
        self.free: list[tuple[int, int]] = []
        """Pieces that nobody has: their first items, and those after the last."""
        self.begun: set[int] = set()
        """First items of those pieces of ``free`` that only workers of their own share get."""
        self.parts: dict[str, Part] = {}
        """By the worker's name."""
        self.last: dict[str, int] = {}
        """Worker -> the number of the lease that it acknowledged last."""
        self.changes = 0
        """How often something changed that must be written."""
        self._waits: dict[str, tuple[str, float]] = {}
        """Worker -> whose piece it waits for, and since when; not kept over a restart."""

    @property
    def done(self) -> int:
        """How many items are done."""
        return self.items - self.left - self.reserved

    @property
    def known(self) -> Collection[str]:
        """Names of the workers that have items, had some, or wait for some."""
        return ChainMap[str, Any](self.parts, self.last, self._waits)

    @property
    def left(self) -> int:
        """How many items are still to be done in shares whose workers have asked."""
        pieces = [*self.free, *((each.first, each.end) for each in self.parts.values())]
        return sum(end - first for first, end in pieces)

    @property
    def reserved(self) -> int:
        """How many items are in shares whose workers have not asked yet."""
        return sum(end - first for first, end in map(self.share, self.silent))

    def share(self, index: int) -> tuple[int, int]:
        """Return an index's share as ``share_of`` does. ValueError for an unknown index."""
        if not 0 <= index < self.shares:
            raise ValueError(f"index {index!r} of a job of {self.shares} shares")
        return share_of(self.items, self.shares, index)

    def has_left(self, index: int) -> bool:
        """Say whether an item of an index's share is still to be done. Cost: O(pieces)."""
        if index in self.silent:
            return True
        parts = ((each.first, each.end) for each in self.parts.values())
        return any(_within([*self.free, *parts], *self.share(index)))

    def owed(self, worker: Worker) -> list[tuple[int, int]]:
        """Return the rest of a worker's share that it does not have itself."""
        first, end = self.share(worker.index)
        others = (each for name, each in self.parts.items() if name != worker.name)
        pieces = [*self.free, *((each.first, each.end) for each in others)]
        mine = self.parts.get(worker.name)
        if mine is not None and mine.told < mine.end:
            pieces.append((mine.told, mine.end))
        return sorted(_within(pieces, first, end))

    def next(
        self, worker: Worker, heard: Heard | None, now_s: float, sizing: Sizing
    ) -> Lease | NoLease:
        """Lease a range; a worker that asks again, because an answer was lost, gets its own again.

        now_s: on a clock that cannot jump.

        Raises:
            ValueError: for a worker that the job cannot have.
        """
        self._check(worker)
        known, most = self.known, min(WORKERS_A_SHARE * (self.shares + 3), MOST_WORKERS)
        if worker.name not in known and len(known) >= most:
            raise ValueError(f"a job of {self.shares} shares; it has {most} workers at most")
        part = self._mine(worker)
        if part is not None:
            part = self._hear(part, heard)
            if part.leased > part.first:
                return _lease(part)
        if part is None or part.first == part.end:
            self.parts.pop(worker.name, None)
            found = self._found(worker)
            if found is None:
                return self._asked(worker, now_s, sizing)
            first, end, held = found
            part = Part(worker, 0, self.number + 1, first, first, end, end, held)
        return self._leased(part, sizing)

    def acknowledge(self, worker: Worker, heard: Heard, to: int) -> Ack:
        """Count items as done, once. to: all before it are done; it may be beyond the lease.

        An older lease of the same part is valid: the answer with the newest may have been lost.

        Raises:
            ValueError: for a worker that the job cannot have.
        """
        self._check(worker)
        part = self.parts.get(worker.name)
        if part is not None and part.worker.life != worker.life:
            return Ack.REFUSED
        of_part = part is not None and part.has(heard)
        if part is None or not of_part or to <= part.first:
            again = of_part or self.last.get(worker.name) == heard.number
            return Ack.AGAIN if again else Ack.REFUSED
        part = self._hear(part, heard)
        if to > part.end:
            return Ack.REFUSED
        self.parts[worker.name] = replace(part, first=to, leased=to, told=max(part.told, to))
        self.last[worker.name] = heard.number
        self.changes += 1
        return Ack.DONE

    def renew(self, worker: Worker, heard: Heard) -> Part | None:
        """Note that a worker is at work; None if it does not have this lease."""
        part = self.parts.get(worker.name)
        if part is None or part.worker.life != worker.life or part.number != heard.number:
            return None
        return self._hear(part, heard)

    def died(self, name: str) -> Part | None:
        """Free the items of a worker that can no longer do them; None if it has nothing.

        Items that it had begun are free for workers of the same share, the rest for all.
        """
        self.last.pop(name, None)
        self._waits.pop(name, None)
        part = self.parts.pop(name, None)
        self.changes += 1
        if part is not None and part.first < part.begun:
            self.begun.add(part.first)
            self.free.append((part.first, part.begun))
        if part is not None and part.begun < part.end:
            self.free.append((part.begun, part.end))
        return part

    def ended(self, index: int) -> None:
        """Count a share as done: its pod has succeeded, and Kubernetes makes no other."""
        first, end = self.share(index)
        self.silent.discard(index)
        self.changes += 1
        # A piece lies in one share, never in two.
        self.free = [piece for piece in self.free if not first <= piece[0] < end]
        self.begun -= {each for each in self.begun if first <= each < end}
        for name, part in list(self.parts.items()):
            if first <= part.first < end:
                del self.parts[name]

    def _check(self, worker: Worker) -> None:
        self.share(worker.index)
        if not 0 < len(worker.name) <= MOST_NAME_CHARS:
            raise ValueError(f"a worker's name has 1 to {MOST_NAME_CHARS} characters")

    def _mine(self, worker: Worker) -> Part | None:
        """Return a worker's part. A part of another life is freed first: that life has ended."""
        part = self.parts.get(worker.name)
        if part is not None and part.worker.life != worker.life:
            self.died(worker.name)
            return None
        return part

    def _hear(self, part: Part, heard: Heard | None) -> Part:
        """Free the end of a part if its worker says that it knows.

        Only the newest lease counts: a request that was delayed says nothing about this one.
        """
        knows = heard is not None and heard.number == part.number and heard.end <= part.told
        if part.told < part.end and (knows or not part.worker.goes_on):
            self.free.append((part.told, part.end))
            part = replace(part, end=part.told)
            self.parts[part.worker.name] = part
            self.changes += 1
        return part

    def _leased(self, part: Part, sizing: Sizing) -> Lease:
        self.parts[part.worker.name] = part
        # A worker that has not heard that others wait for its end, and has nothing else, keeps it.
        end = part.told if part.first < part.told else part.end
        here = end - part.first
        # Half of it can still be given to others, unless that is not worth it.
        most = max(-(-here // 2), min(here, sizing.least(part)))
        if part.held > part.first:
            # Each worker that dies narrows down the cause, and the others do the rest.
            most = -(-(part.held - part.first) // 2)
        items = max(1, min(most, sizing.next_items(self.left + self.reserved)))
        self.number += 1
        self.changes += 1
        part = replace(
            part,
            number=self.number,
            leased=part.first + items,
            told=max(end, part.first + items),
        )
        self.parts[part.worker.name] = part
        self._waits.pop(part.worker.name, None)
        return _lease(part)

    def _found(self, worker: Worker) -> tuple[int, int, int] | None:
        """Return a piece that nobody has: from the worker's own share, else from another's.

        The last number is an item: a worker that died had begun the items before it.
        """
        first, end = self.share(worker.index)
        if worker.index in self.silent:
            self.silent.discard(worker.index)
            return (first, end, first) if first < end else self._found(worker)
        own = [piece for piece in self.free if first <= piece[0] < end]
        begun = [piece for piece in own if piece[0] in self.begun]
        others = [piece for piece in self.free if piece[0] not in self.begun]
        # The newest is mostly the smallest, and its worker waits for it.
        piece = next(iter((begun or own or others)[-1:]), None)
        if piece is None:
            return None
        self.free.remove(piece)
        if not begun:
            return *piece, piece[0]
        self.begun.discard(piece[0])
        # It includes what comes after: a worker that is cut off goes on to the end of its part.
        after = [each for each in own if each[0] == piece[1] and each[0] not in self.begun]
        for each in after:
            self.free.remove(each)
        return piece[0], after[0][1] if after else piece[1], piece[1]

    def _asked(self, worker: Worker, now_s: float, sizing: Sizing) -> NoLease:
        """Ask a worker for the end of its part, unless one did already. The first one gets it."""
        whom, since_s = self._waits.get(worker.name, ("", now_s))
        part = self.parts.get(whom)
        waits = part is not None and part.told < part.end
        if not waits:
            giver = max(self.parts.values(), key=lambda each: each.to_give, default=None)
            if giver is not None and giver.to_give >= max(1, sizing.least(giver)):
                waits, since_s = True, now_s
                lowered = replace(giver, told=giver.told - -(-giver.to_give // 2))
                self.parts[giver.worker.name] = lowered
                self.changes += 1
                self._hear(lowered, None)
                self._waits[worker.name] = giver.worker.name, now_s
        if (waits and now_s - since_s < PATIENCE_S) or self.owed(worker):
            return NoLease.WAIT
        self._waits.pop(worker.name, None)
        return NoLease.FINISHED


def _lease(part: Part) -> Lease:
    return Lease(part.number, part.worker.name, part.first, part.leased - part.first, part.told)


def _within(pieces: Iterable[tuple[int, int]], first: int, end: int) -> Iterable[tuple[int, int]]:
    cut = ((max(first, one), min(end, other)) for one, other in pieces)
    return (piece for piece in cut if piece[0] < piece[1])
