"""The replay: past runs in time order, each decided on what was known by then.

At one instant completions come before failures, and failures before decisions. An attempt with too
little memory fails at its very end, wastes all it was given, teaches ``need > allocation``, and its
run is decided again at that moment. A run that failed k times completes k runtimes later.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from operator import attrgetter
from time import perf_counter
from typing import Final

from plimsoll_predictor.core.units import gb_hours
from plimsoll_predictor.replay.sizes.figures import ReplayedRow
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.running import RunningAttempts
from plimsoll_predictor.replay.sizes.sizer import CAP_BYTES, SeesRunning, Sizer

PROGRESS_EVERY: Final = 200


class DecideAt(StrEnum):
    """The moment when a run's first size is decided."""

    SUBMIT = "submit"
    START = "start"
    """The decision of a queued pod that is resized until it starts."""


class SizerBroken(Exception):
    """A policy gave a forbidden answer: nothing, or no more than what has just failed."""


class Kind(IntEnum):
    """The kinds of events; at one instant they come in this order."""

    COMPLETION = 0
    FAILURE = 1
    DECISION = 2


@dataclass(frozen=True, slots=True)
class Replayed:
    """A policy's replay of a trace: a record for each run, in the order they ended.

    decisions_s, updates_s: seconds that the policy took, one per call.
    """

    rows: list[ReplayedRow] = field(default_factory=list)
    decisions_s: list[float] = field(default_factory=list)
    updates_s: list[float] = field(default_factory=list)


def replay(
    rows: Sequence[TraceRow],
    sizer: Sizer,
    *,
    decide_at: DecideAt = DecideAt.SUBMIT,
    cap_bytes: int = CAP_BYTES,
    progress: Callable[[int], None] = lambda _: None,
) -> Replayed:
    """Play rows, in any order, through a fresh sizer.

    progress: gets the number of runs that have ended, every so often and at the end. Raises
    SizerBroken if the policy does not answer more than what has just failed.
    """
    playing = _Replay(sizer, decide_at, cap_bytes)
    done = 0
    for done, _ in enumerate(playing.events(rows), start=1):
        if done % PROGRESS_EVERY == 0:
            progress(done)
    progress(done)
    return playing.replayed


class _Replay:
    def __init__(self, sizer: Sizer, decide_at: DecideAt, cap_bytes: int) -> None:
        self._sizer, self._decide_at, self._cap_bytes = sizer, decide_at, cap_bytes
        self._sees = sizer if isinstance(sizer, SeesRunning) else None
        self._running = RunningAttempts(self._sees.growth) if self._sees else None
        self._warm: set[str] = set()
        self._events: list[tuple[float, Kind, int, ReplayedRow]] = []
        self._number = 0
        self.replayed = Replayed()

    def events(self, rows: Sequence[TraceRow]) -> Iterator[None]:
        """Yield once for each run that has ended."""
        due_s = attrgetter("start_s" if self._decide_at is DecideAt.START else "submit_s")
        for row in sorted(rows, key=due_s):
            # The decision that is due now knows all runs that have ended by now.
            yield from self._until(due_s(row))
            self._decide(ReplayedRow(row=row, cold=row.task not in self._warm), due_s(row))
        yield from self._until(float("inf"))

    def _until(self, now_s: float) -> Iterator[None]:
        while self._events and self._events[0][0] <= now_s:
            at_s, kind, _, run = heapq.heappop(self._events)
            if kind is Kind.COMPLETION:
                self._complete(run, at_s)
                yield
            elif kind is Kind.FAILURE:
                if not self._fail(run, at_s):
                    yield
            else:
                self._lift(run, at_s)

    def _push(self, at_s: float, kind: Kind, run: ReplayedRow) -> None:
        self._number += 1
        heapq.heappush(self._events, (at_s, kind, self._number, run))

    def _decide(self, run: ReplayedRow, now_s: float) -> None:
        self._show(run, now_s)
        started_s = perf_counter()
        answer = self._sizer.decide(run.row.asked, now_s)
        self.replayed.decisions_s.append(perf_counter() - started_s)
        run.first_bytes = min(answer, self._cap_bytes)
        self._attempt(run, run.first_bytes, run.row.start_s, run.row.complete_s)

    def _lift(self, run: ReplayedRow, now_s: float) -> None:
        failed_bytes, attempt = run.last_bytes, run.failed_attempts
        self._show(run, now_s)
        answer = self._sizer.lift(run.row.asked, failed_bytes, attempt, now_s)
        if answer <= failed_bytes:
            raise SizerBroken(
                f"line {run.row.line} ({run.row.task}): asked for more than {failed_bytes}"
                f" bytes after attempt {attempt} failed, the policy answered {answer}"
            )
        self._attempt(run, min(answer, self._cap_bytes), now_s, now_s + run.row.runtime_s)

    def _show(self, run: ReplayedRow, now_s: float) -> None:
        """Show the task's running attempts to a policy that may see them."""
        if self._running is not None and self._sees is not None:
            self._sees.see_running(run.row.task, self._running.of(run.row.task, now_s))

    def _attempt(
        self, run: ReplayedRow, allocation_bytes: int, start_s: float, end_s: float
    ) -> None:
        if allocation_bytes <= 0:
            raise SizerBroken(
                f"line {run.row.line} ({run.row.task}): the policy answered {allocation_bytes}"
                " bytes; answer at least 1"
            )
        run.last_bytes = allocation_bytes
        if self._running is not None:
            self._running.start(run, start_s)
        fits = allocation_bytes >= run.row.peak_bytes
        self._push(end_s, Kind.COMPLETION if fits else Kind.FAILURE, run)

    def _fail(self, run: ReplayedRow, now_s: float) -> bool:
        """Teach the failure; return whether the run is tried again."""
        if self._running is not None:
            self._running.end(run)
        held_gb_h = gb_hours(run.last_bytes, run.row.runtime_s)
        run.waste_gb_h += held_gb_h
        run.optimistic_gb_h += held_gb_h / 2
        run.failed_attempts += 1
        started_s = perf_counter()
        self._sizer.failed(run.row.asked, run.last_bytes, run.failed_attempts, now_s)
        self.replayed.updates_s.append(perf_counter() - started_s)
        if run.last_bytes >= self._cap_bytes:
            # Nothing larger may be given: it never completes, and teaches nothing more.
            self._end(run, now_s)
            return False
        self._push(now_s, Kind.DECISION, run)
        return True

    def _complete(self, run: ReplayedRow, now_s: float) -> None:
        if self._running is not None:
            self._running.end(run)
        spare_gb_h = gb_hours(run.last_bytes - run.row.peak_bytes, run.row.runtime_s)
        run.waste_gb_h += spare_gb_h
        run.optimistic_gb_h += spare_gb_h
        self._warm.add(run.row.task)
        started_s = perf_counter()
        self._sizer.completed(run.row, run.last_bytes, now_s)
        self.replayed.updates_s.append(perf_counter() - started_s)
        self._end(run, now_s)

    def _end(self, run: ReplayedRow, now_s: float) -> None:
        run.ended_s = now_s
        self.replayed.rows.append(run)
