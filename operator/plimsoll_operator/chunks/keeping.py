"""Keeps the record of each job's leases, and writes it before an answer may leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from plimsoll_operator.chunks.job_tokens import JobName
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.leases import (
    Ack,
    Answered,
    Lease,
    Leases,
    NoLease,
    check_worker,
    lease_seconds,
)
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut

MOST_JOBS: Final = 10_000


class UnknownJob(LookupError):
    """Nobody said that this job leases its items."""


class TooManyJobs(RuntimeError):
    """As many jobs as are kept lease already; this one works by its shares."""


class Shelf(Protocol):
    """Where documents outlive the process."""

    def write(self, job: JobName, document: Mapping[str, Any]) -> None:
        """Keep it in the place of the one before; when this returns, it outlives a crash.

        Raises:
            OSError: if it could not; then the one before is still there.
        """

    def read(self, job: JobName) -> Any | None:
        """Return what was written last; None if nothing was."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a worker tells with an acknowledgement; None for what it does not know."""

    seconds: float | None = None
    peak_bytes: int | None = None


@dataclass(slots=True)
class _Kept:
    leases: Leases
    guided: Guided
    largest: dict[str, int] = field(default_factory=dict)
    """The largest lease that each worker has acknowledged."""
    written: bool = False
    """Whether the shelf has it as it is."""


class Keeper:
    """All jobs whose items are leased. monotonic: seconds, of a clock that cannot jump."""

    def __init__(self, shelf: Shelf, monotonic: Callable[[], float]) -> None:
        self._shelf, self._monotonic = shelf, monotonic
        self._kept: dict[JobName, _Kept] = {}

    def open(self, name: JobName, job: Job, shares: int) -> None:
        """Lease a job's items from now on, or go on where the shelf has it.

        Raises:
            TooManyJobs: if no more are kept. ValueError: if the shelf has what is no record.
            OSError: from the shelf.
        """
        if name in self._kept:
            return
        if len(self._kept) >= MOST_JOBS:
            raise TooManyJobs(f"{name}: {MOST_JOBS} jobs lease already")
        document = self._shelf.read(name)
        if document is None:
            leases = Leases(job.items, shares)
        else:
            leases = Leases.from_document(document, self._monotonic())
            if (leases.items, leases.shares) != (job.items, shares):
                raise ValueError(f"{name}: its record is of {leases.items} items, not {job.items}")
        guided = Guided()
        guided.begin(job, Cut.LEASED)
        kept = _Kept(leases, guided)
        self._write(name, kept)
        self._kept[name] = kept

    def close(self, name: JobName) -> None:
        """Forget a job that has ended; its document stays with the shelf."""
        self._kept.pop(name, None)

    def next(self, name: JobName, worker: str, index: int | None) -> Lease | NoLease:
        """Lease a range. index: of a worker that has a share, which is leased to all from now on.

        Raises:
            UnknownJob, ValueError: for what is asked. OSError: if it could not be written.
        """
        kept = self._find(name)
        # Before the share is given to all: a worker that is refused does it on its own.
        check_worker(worker)
        if index is not None:
            kept.leases.join(index)
        found = kept.leases.next(worker, self._monotonic(), kept.guided.next_items)
        kept.written = False
        self._write(name, kept)
        return found

    def done(self, name: JobName, worker: str, number: int, told: Told) -> Answered:
        """Acknowledge a lease.

        Raises:
            UnknownJob: for a job that leases nothing. OSError: if it could not be written.
        """
        kept = self._find(name)
        answered = kept.leases.acknowledge(worker, number)
        if answered.ack is Ack.DONE and answered.lease is not None:
            kept.written = False
            self._learn(kept, answered.lease, told)
        # What was acknowledged before and could not be written then is written now.
        self._write(name, kept)
        return answered

    def renew(self, name: JobName, worker: str, number: int) -> bool:
        """Keep a lease for longer; False if it is no longer this worker's."""
        return self._find(name).leases.renew(worker, number, self._monotonic())

    def died(self, name: JobName, worker: str) -> Lease | None:
        """Take back what a worker had whose pod has ended."""
        kept = self._find(name)
        lease = kept.leases.died(worker)
        kept.largest.pop(worker, None)
        kept.written = False
        self._write(name, kept)
        return lease

    def progress(self, name: JobName) -> tuple[int, int, int]:
        """Return how many items are done, open, and in shares of workers that were not heard of."""
        leases = self._find(name).leases
        return leases.done, sum(each.items for each in leases.open), leases.reserved

    def _find(self, name: JobName) -> _Kept:
        kept = self._kept.get(name)
        if kept is None:
            raise UnknownJob(f"{name} leases no items")
        return kept

    def _learn(self, kept: _Kept, lease: Lease, told: Told) -> None:
        largest = max(lease.items, kept.largest.get(lease.worker, 0))
        kept.largest[lease.worker] = largest
        seconds = lease_seconds(lease, told.seconds, self._monotonic())
        kept.guided.done(Chunk(lease.items, seconds, told.peak_bytes, largest))

    def _write(self, name: JobName, kept: _Kept) -> None:
        if not kept.written:
            self._shelf.write(name, kept.leases.to_document())
            kept.written = True
