"""Who does which items of a job: every share stays its worker's, and is helped with from its end.

In: workers that ask, acknowledge, end and die. Out: a range, or why there is none. Who keeps it
writes ``lease_records.to_document`` before an answer leaves; then a restart loses nothing that a
worker was told. What it costs grows with workers and open parts, not with items.

A worker has one *part* of the job at a time, at first its share, and is leased ranges from the
front of it. A worker that has done its part is given a piece from the end of another's. That takes
two steps: the other's end is lowered here, and only when the other has said that it knows
(``Heard``) is the piece free. So a worker that hears nothing may go on to the last end that it
knows of, for as long as it likes: nobody else has an item before it. No clock decides who has what.

What a worker had begun when it died may be what it died of. Only workers of the share in which it
lies are given that again: without leases they would die of it, too, and nobody else would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from plimsoll_predictor.splitting.costs import MOST_ITEMS
from plimsoll_predictor.splitting.jobs import MOST_WORKERS

MOST_NAME_CHARS: Final = 253 + 7
"""Of a worker: a pod's name, and a number where a pod has several."""
PATIENCE_S: Final = 10.0
"""So long a worker waits for a piece of one that says nothing; then it is told to end."""


class NoLease(StrEnum):
    """Why a worker gets no range now."""

    WAIT = "wait"
    """Others have what is left of its share, or are about to give it some of theirs."""
    FINISHED = "finished"
    """Its share is done, and nobody has anything to give."""


class Ack(StrEnum):
    """What an acknowledgement came to."""

    DONE = "done"
    """These items are done, by this record."""
    AGAIN = "again"
    """This worker's last acknowledgement, once more; it counted once."""
    REFUSED = "refused"
    """It never was this worker's lease, or it was taken back: others do these items."""


@dataclass(frozen=True, slots=True)
class Worker:
    """Who asks. index: whose share it does, from 0.

    life: another one each time that it is started under this name. goes_on: it goes on to the end
    of its part where it hears nothing; else it does what it is leased and no more.
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

    leased: up to this item it was told to work; ``first`` if it was told nothing. told: the end
    that it shall have; below ``end`` until it has said that it knows. number: of its newest lease;
    since: of its first one in this part. held: what is before it was begun by one that died, and is
    given to no other.
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
        """The item before which is what its worker may have died of, if it died now.

        If it died of the same as the one before, that is in its lease, and not after it.
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
    """How much is given at once.

    next_items: how many items are left -> how many a lease has. least: of a worker's part, so many
    items are worth being asked for by another.
    """

    next_items: Callable[[int], int]
    least: Callable[[Part], int] = lambda _: 1


def share_of(items: int, shares: int, index: int) -> tuple[int, int]:
    """Return the first item of a worker's share, and the one after its last.

    A worker computes the same (`items * index // shares`), without asking anybody.
    """
    return items * index // shares, items * (index + 1) // shares


class Leases:
    """The items of one job. shares: of how many workers each has one, the index says which."""

    def __init__(self, items: int, shares: int) -> None:
        if not 0 < items <= MOST_ITEMS:
            raise ValueError(f"a job of {items!r} items; it has 1 to {MOST_ITEMS}")
        if not 0 < shares <= MOST_WORKERS:
            raise ValueError(f"a job of {shares!r} shares; it has 1 to {MOST_WORKERS}")
        self.items, self.shares = items, shares
        self.number = 0
        """Of the newest lease."""
        self.silent = set(range(shares))
        """Indexes that were not heard of; their shares are nobody else's."""
        self.free: list[tuple[int, int]] = []
        """What nobody has: first items, and those after the last."""
        self.begun: set[int] = set()
        """First items of those pieces of ``free`` that workers of their share get, and no other."""
        self.parts: dict[str, Part] = {}
        """By the worker's name."""
        self.last: dict[str, int] = {}
        """Worker -> the number of the lease that it acknowledged last; the newest come last."""
        self.changes = 0
        """How often something of it changed that is to be written."""
        self._waits: dict[str, tuple[str, float]] = {}
        """Worker -> of whom it waits for a piece, and since when; not kept over a restart."""

    @property
    def done(self) -> int:
        """How many items are done."""
        return self.items - self.left - self.reserved

    @property
    def left(self) -> int:
        """How many items are to be done of all shares that were heard of."""
        pieces = [*self.free, *((each.first, each.end) for each in self.parts.values())]
        return sum(end - first for first, end in pieces)

    @property
    def reserved(self) -> int:
        """How many items are in shares of workers that were not heard of."""
        return sum(end - first for first, end in map(self.share, self.silent))

    def share(self, index: int) -> tuple[int, int]:
        """Return an index's share as ``share_of`` does. ValueError for one that there is not."""
        if not 0 <= index < self.shares:
            raise ValueError(f"index {index!r} of a job of {self.shares} shares")
        return share_of(self.items, self.shares, index)

    def has_left(self, index: int) -> bool:
        """Say whether an item of an index's share is to be done. Cost: O(pieces)."""
        if index in self.silent:
            return True
        parts = ((each.first, each.end) for each in self.parts.values())
        return any(_within([*self.free, *parts], *self.share(index)))

    def owed(self, worker: Worker) -> list[tuple[int, int]]:
        """Return what is left of a worker's share that it does not have itself."""
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
        """Lease a range; a worker that asks again, because an answer was lost, has its own again.

        now_s: on a clock that cannot jump.

        Raises:
            ValueError: for a worker that the job cannot have.
        """
        self._check(worker)
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

        An older lease of the same part will do: the answer with the newest may have been lost.

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
        self.last.pop(worker.name, None)
        if len(self.last) >= MOST_WORKERS:
            del self.last[next(iter(self.last))]  # of those that came and went, the oldest
        self.last[worker.name] = heard.number
        self.changes += 1
        return Ack.DONE

    def renew(self, worker: Worker, heard: Heard) -> Part | None:
        """Hear that a worker is at work; None if it does not have this lease."""
        part = self.parts.get(worker.name)
        if part is None or part.worker.life != worker.life or part.number != heard.number:
            return None
        return self._hear(part, heard)

    def died(self, name: str) -> Part | None:
        """Free what a worker has, that can no longer do it; None if it has nothing.

        What it had begun is free for workers of the share that it is of, the rest for all.
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
        # A piece lies in one share or in another, never in two.
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
        """Return what a worker has. Another life of its name has ended, or it would be here."""
        part = self.parts.get(worker.name)
        if part is not None and part.worker.life != worker.life:
            self.died(worker.name)
            return None
        return part

    def _hear(self, part: Part, heard: Heard | None) -> Part:
        """Free the end of a part if its worker says that it knows.

        Only by the newest lease: a request that was on its way for long says nothing of this one.
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
        # Who has not heard yet that others wait for its end has nothing else to do: it keeps it.
        end = part.told if part.first < part.told else part.end
        here = end - part.first
        # Half of it can still be given to others, unless that is not worth it.
        most = max(-(-here // 2), min(here, sizing.least(part)))
        if part.held > part.first:
            # Each worker that dies of it tells more of what it is, and the others do the rest.
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
        """Return a piece that nobody has: of the worker's own share, else of another's.

        Its last number is the item before which it was begun already.
        """
        first, end = self.share(worker.index)
        if worker.index in self.silent:
            self.silent.discard(worker.index)
            return (first, end, first) if first < end else self._found(worker)
        own = [piece for piece in self.free if first <= piece[0] < end]
        begun = [piece for piece in own if piece[0] in self.begun]
        others = [piece for piece in self.free if piece[0] not in self.begun]
        # The newest is the smallest, mostly, and its worker waits for it.
        piece = next(iter((begun or own or others)[-1:]), None)
        if piece is None:
            return None
        self.free.remove(piece)
        if not begun:
            return *piece, piece[0]
        self.begun.discard(piece[0])
        # With what comes after it: who is cut off goes on to the end of its part.
        after = [each for each in own if each[0] == piece[1] and each[0] not in self.begun]
        for each in after:
            self.free.remove(each)
        return piece[0], after[0][1] if after else piece[1], piece[1]

    def _asked(self, worker: Worker, now_s: float, sizing: Sizing) -> NoLease:
        """Ask a worker for the end of its part, if nobody does yet. The first one gets it."""
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
