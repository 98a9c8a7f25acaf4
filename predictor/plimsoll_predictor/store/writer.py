"""The store on an event loop: one thread writes, others read, the loop never waits for a disk."""

from __future__ import annotations

import asyncio
import functools
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, ParamSpec, TypeVar, cast

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.store.attempts.decisions import DecisionRecord
from plimsoll_predictor.store.attempts.peaks import Report
from plimsoll_predictor.store.attempts.sightings import NewSighting
from plimsoll_predictor.store.database.errors import StoreError
from plimsoll_predictor.store.store import Store

log: Final = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

MAX_QUEUED: Final = 10_000
_BATCH: Final = 512
_REPORTS: Final = 2_000
"""The most reports of peaks in a group, unless one call brings more. After an outage agents have
many thousands, and an observation in the same group waits for all of them."""
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 5.0
_READERS: Final = 2
_LOOK_S: Final = 0.5
_GIVEN_UP_S: Final = 2.0
"""So long a writer that closes waits for a write that it has told to give up."""


@dataclass(frozen=True, slots=True)
class Novelty:
    """The news that one observation brought to the store.

    new: its uid was not seen before. learned: its run's need became known by it for the first
    time, whether it is new or amended. revised: it turned out to be a kill, after another end of it
    was known.
    """

    new: bool
    learned: bool
    revised: bool = False


@dataclass(slots=True, eq=False)
class _Job:
    """One write: what it has is kept together with others'; ``call``, if any, is run alone."""

    future: asyncio.Future[Any]
    observation: Observation | None = None
    decision: DecisionRecord | None = None
    seen: tuple[NewSighting, ...] = ()
    reports: tuple[Report, ...] = ()
    call: Callable[[], Any] | None = None
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        """Tell the caller; on the event loop's thread. A caller that left hears nothing."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Writer:
    """Serialises writes in one thread; commits observations, decisions and reports in groups.

    While the store is in trouble (locked, full disk) what is queued stays queued and is tried again
    with growing pauses; ``trouble`` says why. When the queue is full, callers wait: nothing is
    dropped. A record that no store could hold fails alone, with BadRecordError.

    Make it on the event loop that uses it. Close it before the loop ends.
    """

    def __init__(
        self, store: Store, *, max_queued: int = MAX_QUEUED, close_timeout_s: float = 10.0
    ) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._slots = asyncio.Semaphore(max_queued)
        self._close_timeout_s = close_timeout_s
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._unsettled: set[_Job] = set()
        """On the event loop's thread: those whose callers have not been told yet."""
        self._closing = False
        self._give_up = threading.Event()
        self._left = threading.Event()
        """Set once nobody waits for the thread any more."""
        self._trouble: str | None = None
        self._began_s: float | None = None
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="plimsoll-store-read")
        self._thread = threading.Thread(target=self._work, name="plimsoll-store-write", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str | None:
        """The reason why nothing can be written now, as a sentence; None if all is well."""
        return self._trouble or self._store.trouble

    @property
    def busy_s(self) -> float:
        """How long the present write has taken so far, in seconds; 0 if none is under way."""
        began_s = self._began_s
        return 0.0 if began_s is None else time.monotonic() - began_s

    @property
    def queued(self) -> int:
        """Writes not yet committed."""
        return len(self._unsettled)

    async def record(self, observation: Observation) -> Novelty:
        """Keep an observation; returns what that changed, after the commit."""
        return cast(Novelty, await self._enqueue(_Job(self._loop.create_future(), observation)))

    async def decide(self, decision: DecisionRecord) -> None:
        """Keep a decision, as ``Store.keep`` does; returns after the commit."""
        await self._enqueue(_Job(self._loop.create_future(), decision=decision))

    async def sight(self, seen: Sequence[NewSighting]) -> None:
        """Keep what was seen of a run that has not ended; returns after the commit."""
        await self._enqueue(_Job(self._loop.create_future(), seen=tuple(seen)))

    async def report(self, reports: Sequence[Report]) -> None:
        """Keep an agent's reports, as ``PeakRecords.put`` does; returns after the commit."""
        await self._enqueue(_Job(self._loop.create_future(), reports=tuple(reports)))

    async def call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a writing method of the store, in order with all other writes."""
        call = functools.partial(method, *args, **kwargs)
        return cast(T, await self._enqueue(_Job(self._loop.create_future(), call=call)))

    async def read(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a reading method of the store, beside the writes. StoreError is not tried again."""
        work = functools.partial(method, *args, **kwargs)
        return await self._loop.run_in_executor(self._readers, work)

    async def close(self) -> None:
        """Write what is queued, then stop. The store itself stays open.

        It waits as long as writes go well. While the store is in trouble, or a single write goes
        on, it waits for ``close_timeout_s`` at most; after that, all callers that wait for a write
        get the StoreError. A write that hangs even then is left to its thread, which begins no
        other and ends with the process: what is written may be written again, because each row has
        a key.
        """
        if not self._closing:
            self._closing = True
            self._jobs.put(None)
        join = functools.partial(self._thread.join, self._close_timeout_s)
        await self._loop.run_in_executor(None, join)
        while self._thread.is_alive() and self._goes_well:
            await self._loop.run_in_executor(None, self._thread.join, _LOOK_S)
        self._give_up.set()
        self._store.give_up()
        await self._loop.run_in_executor(None, self._thread.join, _GIVEN_UP_S)
        if self._thread.is_alive():
            self._leave()
        self._readers.shutdown(wait=False, cancel_futures=True)

    @property
    def _goes_well(self) -> bool:
        return self.trouble is None and self.busy_s < self._close_timeout_s

    async def _enqueue(self, job: _Job) -> object:
        await self._slots.acquire()
        if self._closing:
            self._slots.release()
            raise StoreError(f"store {self._store.where}: its writer is closed; start it again")
        self._unsettled.add(job)
        self._jobs.put(job)
        done: object = await job.future
        return done

    def _work(self) -> None:
        stop = False
        while not stop:
            waiting = [self._jobs.get()]
            while len(waiting) < _BATCH and not self._jobs.empty():
                waiting.append(self._jobs.get())
            stop = waiting[-1] is None
            for batch in _batches(job for job in waiting if job is not None):
                if self._left.is_set():
                    return
                self._began_s = time.monotonic()
                self._commit(batch)
                self._began_s = None
                self._settle(batch)

    def _commit(self, batch: list[_Job]) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                self._write(batch)
            except StoreError as error:
                self._note(str(error))
                if self._give_up.wait(pause_s):
                    _fail(batch, error)
                    return
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            except Exception as error:
                self._note(None)  # the store has answered
                self._write_apart(batch, error)
                return
            else:
                self._note(None)
                return

    def _write(self, batch: list[_Job]) -> None:
        if batch[0].call is not None:
            batch[0].result = batch[0].call()
            return
        new = [job.observation for job in batch if job.observation is not None]
        decided = [job.decision for job in batch if job.decision is not None]
        seen = [sighting for job in batch for sighting in job.seen]
        reports = [report for job in batch for report in job.reports]
        recorded = self._store.keep(new, decided, seen, reports)
        uids, learned = set(recorded.new), set(recorded.learned)
        for job in batch:
            if job.observation is not None:
                uid, need = job.observation.attempt_uid, job.observation.need
                # If two have one uid, the first is the new one, and the first measured one teaches.
                teaches = uid in learned and need is not None
                job.result = Novelty(uid in uids, teaches, uid in recorded.revised)
                uids.discard(uid)
                if teaches:
                    learned.discard(uid)

    def _write_apart(self, batch: list[_Job], error: Exception) -> None:
        """Find the record that no store can hold, and keep the others."""
        if len(batch) == 1:
            _fail(batch, error)
            return
        for job in batch:
            self._commit([job])

    def _note(self, trouble: str | None) -> None:
        if trouble is not None and self._trouble is None:
            log.error("cannot write, keeping what is queued: %s", trouble)
        if trouble is None and self._trouble is not None:
            log.warning("writing again to store %s", self._store.where)
        self._trouble = trouble

    def _settle(self, batch: list[_Job]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._settled, batch)
        except RuntimeError:
            log.warning("the event loop ended before %d writes were confirmed", len(batch))

    def _settled(self, batch: list[_Job]) -> None:
        for job in batch:
            if job not in self._unsettled:
                continue  # its caller was told that the write hangs
            job.settle()
            self._unsettled.discard(job)
            self._slots.release()

    def _leave(self) -> None:
        """Tell all that wait for a write that it hangs."""
        self._left.set()
        words = f"store {self._store.where}: a write hangs; it may be kept, or not"
        log.error("%s; it is left, with %d unconfirmed", words, self.queued)
        left = list(self._unsettled)
        _fail(left, StoreError(words))
        self._settled(left)


def _fail(batch: list[_Job], error: BaseException) -> None:
    for job in batch:
        job.error = error


def _batches(jobs: Iterable[_Job]) -> list[list[_Job]]:
    """Split jobs in order: neighbours share a batch, a call has its own."""
    groups: list[list[_Job]] = []
    reports = 0
    for job in jobs:
        reports += len(job.reports)
        grouped = job.call is None and groups and groups[-1][-1].call is None
        if grouped and reports <= _REPORTS:
            groups[-1].append(job)
        else:
            groups.append([job])
            reports = len(job.reports)
    return groups
