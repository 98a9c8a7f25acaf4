"""Keeps the record of each job's leases, and writes it before an answer may leave."""

from __future__ import annotations

import asyncio
import hmac
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar

from plimsoll_operator.splitting.job_tokens import JobName, digest_of
from plimsoll_operator.splitting.leased_job import START_S, WAIT_S, LeasedJob
from plimsoll_operator.wording.splitting_words import words_for_leased
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting import lease_records
from plimsoll_predictor.splitting.jobs import MOST_WORKERS, Job
from plimsoll_predictor.splitting.leases import (
    Ack,
    Heard,
    Lease,
    Leases,
    NoLease,
    Part,
    Sizing,
    Worker,
)
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.leased_task import LastLeased, taught_document
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut

MOST_JOBS: Final = 10_000
HANDED_S: Final = 0.5
"""How long it takes until a worker hears that another waits for the end of its part: items that the
worker does itself in that time are not worth handing over."""
WRITTEN_WITHIN_S: Final = 5.0
"""A worker waits twice as long before it goes on by itself."""

T = TypeVar("T")


class UnknownJob(LookupError):
    """The job is not known to lease its items."""


class TooManyJobs(RuntimeError):
    """The maximum number of jobs lease already; this one works by its shares."""


class NotWritten(OSError):
    """The record could not be written, so there is no answer now; ask again."""


class Shelf(Protocol):
    """Where records outlive the process."""

    def write(self, job: JobName, document: Mapping[str, Any]) -> Awaitable[None]:
        """Replace the earlier record; when this returns, the new one outlives a crash."""


class Count(StrEnum):
    """What is counted, of all jobs together."""

    GIVEN = "given"
    DONE = "done"
    TAKEN_BACK = "taken-back"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What a worker tells of itself; None for what it does not know.

    seconds: for its range. peak_bytes: of its process so far. limit_bytes: of its container.
    """

    seconds: float | None = None
    peak_bytes: int | None = None
    limit_bytes: int | None = None


@dataclass(slots=True)
class OpenJob:
    """A job that is open: which worker has what, and what its chunks took.

    workers: how many at once. largest: the largest chunk that each worker did, by its name.
    task: None if not told. token: the digest of the job's token, once its pods have shown it.
    """

    leases: Leases
    guided: Guided
    workers: int = 1
    uid: str = ""
    task: TaskId | None = None
    token: str | None = None
    largest: dict[str, int] = field(default_factory=dict)
    granted_s: dict[str, float] = field(default_factory=dict)
    item_s: dict[str, float] = field(default_factory=dict)
    """Worker -> time for an item of its last range."""
    spared: set[str] = field(default_factory=set)
    """Workers that were killed for memory, whose next attempt does smaller chunks in the same
    memory; lost at a restart."""
    counts: Counter[Count] = field(default_factory=Counter)
    written: int = -1
    """How many of the record's changes the shelf has."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def to_document(self) -> dict[str, Any]:
        """Return it in plain JSON types."""
        return {
            "uid": self.uid,
            "task": None if self.task is None else str(self.task),
            "workers": self.workers,
            "token": self.token,
            "leases": lease_records.to_document(self.leases),
            "learned": self.guided.to_record(),
            "counts": {each.value: number for each, number in self.counts.items()},
        }

    def taught(self, stored: object) -> dict[str, Any]:
        """Return what remains when it has ended. stored: what is kept of its task until then."""
        return taught_document(self.guided, self._went(), stored)

    def words(self) -> str:
        """Return how it went, in a sentence."""
        costs = self.guided.costs
        took = "" if costs is None else f"; an item took {words_for_duration(costs.item_s)}"
        return f"{words_for_leased(self._went())}{took}"

    def _went(self) -> LastLeased:
        return LastLeased(
            items=self.leases.items,
            workers=self.workers,
            shares=self.leases.shares,
            done=self.leases.done,
            leases=self.counts[Count.DONE],
            taken_back=self.counts[Count.TAKEN_BACK],
            refused=self.counts[Count.REFUSED],
            limit_bytes=self.guided.most_bytes,
        )


class Keeper:
    """All jobs whose items are leased. monotonic: seconds, of a clock that cannot jump.

    counted: called with each event of a lease.

    Methods that change a record return when it is written. NotWritten: if it could not be.
    """

    def __init__(
        self,
        shelf: Shelf,
        monotonic: Callable[[], float],
        counted: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._shelf, self._monotonic, self._counted = shelf, monotonic, counted
        self.jobs: dict[JobName, OpenJob] = {}

    def open(self, leased: LeasedJob, document: object = None, taught: object = None) -> OpenJob:
        """Lease a job's items from now on. document: its record, to go on; None to begin.

        If a job of this name is open, it is returned as it is. taught: what an earlier job of its
        task left; None if there was none.

        Raises:
            TooManyJobs: if no more are kept. ValueError: if the document is no record of this job.
        """
        name, job = leased.name, leased.job
        if name in self.jobs:
            return self.jobs[name]
        if len(self.jobs) >= MOST_JOBS:
            raise TooManyJobs(f"{name}: {MOST_JOBS} jobs lease already")
        guided = Guided(most_items=leased.most_items, surely=not leased.retries)
        if document is None:
            leases, counts = Leases(job.items, leased.shares), Counter[Count]()
            guided.remember(taught)
        else:
            leases, counts = self._read(name, document, guided)
            if (leases.items, leases.shares) != (job.items, leased.shares):
                raise ValueError(f"{name}: its record is of {leases.items} items, not {job.items}")
        guided.begin(job, Cut.LEASED, anew=document is None)
        whose = job.workers, leased.uid, leased.task
        token = document.get("token") if isinstance(document, Mapping) else None
        token = token if isinstance(token, str) else None
        kept = self.jobs[name] = OpenJob(leases, guided, *whose, token, counts=counts)
        return kept

    def trust(self, name: JobName, token: str) -> None:
        """Note an open job's token: it stays the job's, whatever key Plimsoll has later."""
        self.find(name).token = digest_of(token)

    def trusts(self, name: JobName, token: str) -> bool:
        """Say whether it is the token that an open job had before."""
        kept = self.jobs.get(name)
        noted = None if kept is None else kept.token
        return noted is not None and hmac.compare_digest(noted, digest_of(token))

    def close(self, name: JobName) -> None:
        """Forget a job that has ended."""
        self.jobs.pop(name, None)

    def find(self, name: JobName) -> OpenJob:
        """Return a job's record. UnknownJob if it is not open."""
        kept = self.jobs.get(name)
        if kept is None:
            raise UnknownJob(f"{name} leases no items")
        return kept

    async def next(
        self, name: JobName, worker: Worker, heard: Heard | None, report: WorkerReport
    ) -> Lease | NoLease:
        """Lease a range.

        Raises:
            UnknownJob, NotWritten, and ValueError for a worker that the job cannot have.
        """
        kept = self.find(name)
        kept.guided.bound(report.limit_bytes)
        before = kept.leases.number
        found = kept.leases.next(worker, heard, self._monotonic(), self._sizing(kept))
        if kept.leases.number > before:
            self._count(kept, Count.GIVEN)
            kept.granted_s[worker.name] = self._monotonic()
        return await self._written(name, kept, found)

    async def done(
        self, name: JobName, worker: Worker, heard: Heard, to: int | None, report: WorkerReport
    ) -> Ack:
        """Acknowledge all items of a lease as done, or those before ``to``.

        Raises:
            UnknownJob, NotWritten, and ValueError for a worker that the job cannot have.
        """
        kept = self.find(name)
        part = kept.leases.parts.get(worker.name)
        ack = kept.leases.acknowledge(worker, heard, _up_to(part, heard) if to is None else to)
        if ack is Ack.DONE and part is not None:
            self._learn(kept, part, to, report)
        if ack is not Ack.AGAIN:
            self._count(kept, Count.DONE if ack is Ack.DONE else Count.REFUSED)
        # Earlier acknowledged changes that could not be written then are written now.
        return await self._written(name, kept, ack)

    async def renew(self, name: JobName, worker: Worker, heard: Heard) -> Part | None:
        """Note that a worker is at work; None if it no longer has that lease."""
        kept = self.find(name)
        return await self._written(name, kept, kept.leases.renew(worker, heard))

    async def died(self, name: JobName, worker: str, killed_bytes: int | None = None) -> None:
        """Take back what a worker had whose pod is over. killed_bytes: its limit if that killed it.

        If it had more than one item when it was killed for memory, the next chunks become smaller.
        """
        kept = self.find(name)
        part = kept.leases.died(worker)
        kept.largest.pop(worker, None)
        kept.granted_s.pop(worker, None)
        kept.item_s.pop(worker, None)
        if part is None:
            return
        self._count(kept, Count.TAKEN_BACK)
        if killed_bytes is not None and part.leased > part.first:
            smaller = kept.guided.killed(part.leased - part.first, killed_bytes)
            if smaller and len(kept.spared) < MOST_WORKERS:
                kept.spared.add(worker)
        await self._written(name, kept, None)

    async def ended(self, name: JobName, index: int) -> None:
        """Count the share of an index as done: its pod has succeeded."""
        kept = self.find(name)
        kept.leases.ended(index)
        await self._written(name, kept, None)

    async def written(self, name: JobName) -> None:
        """Write a record that was just opened, unless it is written already."""
        await self._written(name, self.find(name), None)

    def _read(
        self, name: JobName, document: object, guided: Guided
    ) -> tuple[Leases, Counter[Count]]:
        if not isinstance(document, Mapping):
            raise ValueError(f"{name}: its record is no object")
        guided.remember(document.get("learned"))
        found = document.get("counts")
        counts = found if isinstance(found, Mapping) else {}
        known = {each: counts.get(each) for each in Count}
        return lease_records.from_document(document.get("leases")), Counter(
            {each: number for each, number in known.items() if isinstance(number, int)}
        )

    def _sizing(self, kept: OpenJob) -> Sizing:
        costs, now_s = kept.guided.costs, self._monotonic()

        def least(part: Part) -> int:
            # A worker may be slower than the others.
            item_s = max(
                0.0 if costs is None else costs.item_s, kept.item_s.get(part.worker.name, 0)
            )
            granted_s = kept.granted_s.get(part.worker.name)
            if granted_s is not None and part.leased > part.first:
                # Its range is still not done after all that time.
                item_s = max(item_s, (now_s - granted_s) / (part.leased - part.first))
            return math.ceil(HANDED_S / item_s) if item_s > 0 else 1

        return Sizing(kept.guided.next_items, least)

    def _learn(self, kept: OpenJob, part: Part, to: int | None, report: WorkerReport) -> None:
        """Learn from a range; not from what a worker did on its own, in steps of unknown size."""
        name, items = part.worker.name, part.leased - part.first
        granted_s = kept.granted_s.pop(name, None)
        if items < 1 or granted_s is None or to not in (None, part.leased):
            return
        kept.guided.bound(report.limit_bytes)
        kept.largest[name] = largest = max(items, kept.largest.get(name, 0))
        # Workers' clocks may be wrong: only their durations are used, and bounded by our clock.
        most_s = max(0.0, self._monotonic() - granted_s)
        seconds = report.seconds if report.seconds is not None else most_s
        kept.item_s[name] = min(seconds, most_s) / items
        kept.guided.done(Chunk(items, min(seconds, most_s), report.peak_bytes, largest))

    def _count(self, kept: OpenJob, what: Count) -> None:
        kept.counts[what] += 1
        self._counted(what.value)

    async def _written(self, name: JobName, kept: OpenJob, answer: T) -> T:
        """Return the answer once all its changes are written; others' changes share the write."""
        mine = kept.leases.changes
        if kept.written >= mine:
            return answer
        try:
            async with asyncio.timeout(WRITTEN_WITHIN_S), kept.turn:
                if self.jobs.get(name) is not kept:
                    # Closed meanwhile: a next job of this name may have its own record.
                    raise UnknownJob(f"{name} leases no items any more")
                if kept.written < mine:
                    changes = kept.leases.changes
                    await self._shelf.write(name, kept.to_document())
                    kept.written = changes
        except (OSError, TimeoutError) as error:
            raise NotWritten(f"{name}: the record could not be written; ask again") from error
        return answer


def recorded_job(name: JobName, document: object) -> LeasedJob:
    """Return a job as its record has it, for one that is gone.

    Raises:
        ValueError: if it cannot be read, or an older version wrote it, without its task.
    """
    if not isinstance(document, Mapping):
        raise ValueError(f"{name}: its record is no object")
    leases = lease_records.from_document(document.get("leases"))
    task, workers = document.get("task"), document.get("workers")
    if not isinstance(task, str) or not isinstance(workers, int):
        raise ValueError(f"{name}: its record names no task, or no number of workers")
    job = Job(leases.items, workers, START_S, WAIT_S)
    uid = str(document.get("uid"))
    return LeasedJob(name, uid, job, leases.shares, task=TaskId.parse(task))


def _up_to(part: Part | None, heard: Heard) -> int:
    """Return the end of a lease; 0 if the lease is not this worker's."""
    return part.leased if part is not None and part.number == heard.number else 0
