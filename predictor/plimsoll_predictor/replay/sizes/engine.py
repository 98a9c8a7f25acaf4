"""The replay: past runs in time order, each decided on what was known by then.

At one instant completions come before failures, and failures before decisions. An attempt that
is given too little fails at its very end, wastes all it was given, teaches ``need > allocation``,
and its run is decided again at that moment. A run that failed k times completes k runtimes later.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from time import perf_counter
from typing import Final

from plimsoll_predictor.core.units import gb_hours
from plimsoll_predictor.replay.sizes.figures import ReplayedRow
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.sizer import CAP_BYTES, Sizer

PROGRESS_EVERY: Final = 200


class DecideAt(StrEnum):
    """The moment when a run's first size is decided."""

    SUBMIT = "submit"
    START = "start"
    """The decision of a queued pod that is resized until it starts."""


class SizerBroken(Exception):
    """A policy answered what no policy may: not more than what has just failed, or nothing."""


class Kind(IntEnum):
    """The kinds of events; at one instant they come in this order."""

    COMPLETION = 0
    FAILURE = 1
    DECISION = 2


@dataclass(frozen=True, slots=True)
class Replayed:
    """A policy's replay of a trace: a record for each run, in the order they ended.

    decisions_s, updates_s: seconds the policy took, one a call.
    """

    rows: list[ReplayedRow] = field(default_factory=list)
    decisions_s: list[float] = field(default_factory=list)
    updates_s: list[float] = field(default_factory=list)


@dataclass(slots=True)
class _Run:
    """A run that has not ended: its attempts so far, and what they have cost in GB·h.

    allocation_bytes: what the present attempt was given.
    optimistic_gb_h: the waste if attempts failed after half their runtime, not at their end.
    """

    row: TraceRow
    cold: bool
    first_bytes: int = 0
    allocation_bytes: int = 0
    attempt: int = 0
    failed_attempts: int = 0
    waste_gb_h: float = 0.0
    optimistic_gb_h: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """The settings of a replay."""

    decide_at: DecideAt = DecideAt.SUBMIT
    cap_bytes: int = CAP_BYTES


def replay(
    rows: Sequence[TraceRow],
    sizer: Sizer,
    settings: ReplaySettings,
    progress: Callable[[int], None] | None = None,
) -> Replayed:
    """Play rows, in any order, through a fresh sizer.

    progress: told the number of runs that have ended, every so often and at the end.
    Raises SizerBroken when the policy does not answer more than what has just failed.
    """
    playing = _Replay(sizer, settings)
    done = 0
    for _ in playing.events(rows):
        done += 1
        if progress is not None and done % PROGRESS_EVERY == 0:
            progress(done)
    if progress is not None:
        progress(done)
    return playing.replayed


class _Replay:
    def __init__(self, sizer: Sizer, settings: ReplaySettings) -> None:
        self._sizer = sizer
        self._settings = settings
        self._warm: set[str] = set()
        self._events: list[tuple[float, Kind, int, _Run]] = []
        self._number = 0
        self.replayed = Replayed()

    def events(self, rows: Sequence[TraceRow]) -> Iterator[None]:
        """Yield once for each run that has ended."""
        at_start = self._settings.decide_at is DecideAt.START
        waiting = sorted(rows, key=lambda row: row.start_s if at_start else row.submit_s)
        for row in waiting:
            due_s = row.start_s if at_start else row.submit_s
            # What ends by now is known to the decision that is due now.
            yield from self._until(due_s)
            run = _Run(row, cold=row.task not in self._warm)
            self._decide(run, due_s)
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

    def _push(self, at_s: float, kind: Kind, run: _Run) -> None:
        self._number += 1
        heapq.heappush(self._events, (at_s, kind, self._number, run))

    def _decide(self, run: _Run, now_s: float) -> None:
        started_s = perf_counter()
        answer = self._sizer.decide(run.row.asked, now_s)
        self.replayed.decisions_s.append(perf_counter() - started_s)
        run.first_bytes = min(answer, self._settings.cap_bytes)
        self._attempt(run, run.first_bytes, run.row.complete_s)

    def _lift(self, run: _Run, now_s: float) -> None:
        failed_bytes = run.allocation_bytes
        answer = self._sizer.lift(run.row.asked, failed_bytes, run.attempt, now_s)
        if answer <= failed_bytes:
            raise SizerBroken(
                f"line {run.row.line} ({run.row.task}): asked for more than {failed_bytes}"
                f" bytes after attempt {run.attempt} failed, the policy answered {answer}"
            )
        allocation_bytes = min(answer, self._settings.cap_bytes)
        self._attempt(run, allocation_bytes, now_s + run.row.runtime_s)

    def _attempt(self, run: _Run, allocation_bytes: int, end_s: float) -> None:
        if allocation_bytes <= 0:
            raise SizerBroken(
                f"line {run.row.line} ({run.row.task}): the policy answered {allocation_bytes}"
                " bytes; answer at least 1"
            )
        run.attempt += 1
        run.allocation_bytes = allocation_bytes
        fits = allocation_bytes >= run.row.peak_bytes
        self._push(end_s, Kind.COMPLETION if fits else Kind.FAILURE, run)

    def _fail(self, run: _Run, now_s: float) -> bool:
        """Teach the failure; whether the run is tried again."""
        held_gb_h = gb_hours(run.allocation_bytes, run.row.runtime_s)
        run.waste_gb_h += held_gb_h
        run.optimistic_gb_h += held_gb_h / 2
        run.failed_attempts += 1
        started_s = perf_counter()
        self._sizer.failed(run.row.asked, run.allocation_bytes, run.attempt, now_s)
        self.replayed.updates_s.append(perf_counter() - started_s)
        if run.allocation_bytes >= self._settings.cap_bytes:
            # Nothing larger may be given: it never completes, and teaches nothing more.
            self._end(run, now_s)
            return False
        self._push(now_s, Kind.DECISION, run)
        return True

    def _complete(self, run: _Run, now_s: float) -> None:
        spare_gb_h = gb_hours(run.allocation_bytes - run.row.peak_bytes, run.row.runtime_s)
        run.waste_gb_h += spare_gb_h
        run.optimistic_gb_h += spare_gb_h
        self._warm.add(run.row.task)
        started_s = perf_counter()
        self._sizer.completed(run.row, run.allocation_bytes, now_s)
        self.replayed.updates_s.append(perf_counter() - started_s)
        self._end(run, now_s)

    def _end(self, run: _Run, now_s: float) -> None:
        self.replayed.rows.append(
            ReplayedRow(
                row=run.row,
                cold=run.cold,
                first_bytes=run.first_bytes,
                last_bytes=run.allocation_bytes,
                ended_s=now_s,
                waste_gb_h=run.waste_gb_h,
                optimistic_gb_h=run.optimistic_gb_h,
                failed_attempts=run.failed_attempts,
            )
        )
