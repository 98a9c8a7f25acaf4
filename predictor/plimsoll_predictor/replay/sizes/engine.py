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

from plimsoll_predictor.replay.sizes.outcome import ReplayedRow, RunCost
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.sizer import CAP_BYTES, Sizer

PROGRESS_EVERY: Final = 200


class DecideAt(StrEnum):
    """When a run's first size is decided."""

    SUBMIT = "submit"
    START = "start"
    """What a queued pod gets that is resized until it starts."""


class SizerBroken(Exception):
    """A policy answered what no policy may: not more than what has just failed, or nothing."""


class Kind(IntEnum):
    """What happens; at one instant in this order."""

    COMPLETION = 0
    FAILURE = 1
    DECISION = 2


@dataclass(slots=True)
class Timing:
    """Seconds the policy took, one a call."""

    decisions_s: list[float] = field(default_factory=list)
    updates_s: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """How a policy did on a trace: a record for each run, in the order they ended.

    decisions_s, updates_s: seconds the policy took, one a call.
    """

    rows: Sequence[ReplayedRow]
    decisions_s: Sequence[float]
    updates_s: Sequence[float]


@dataclass(slots=True)
class _Going:
    """A run on its way: its number of attempts so far, what the present one was given."""

    row: TraceRow
    cold: bool
    first_bytes: int = 0
    allocation_bytes: int = 0
    attempt: int = 0
    cost: RunCost = field(default_factory=RunCost)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """How a trace is replayed."""

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
    run = _Replay(sizer, settings)
    done = 0
    for _ in run.events(rows):
        done += 1
        if progress is not None and done % PROGRESS_EVERY == 0:
            progress(done)
    if progress is not None:
        progress(done)
    return Replayed(
        rows=run.ended, decisions_s=run.timing.decisions_s, updates_s=run.timing.updates_s
    )


class _Replay:
    def __init__(self, sizer: Sizer, settings: ReplaySettings) -> None:
        self._sizer = sizer
        self._settings = settings
        self._warm: set[str] = set()
        self._events: list[tuple[float, Kind, int, _Going]] = []
        self._number = 0
        self.timing = Timing()
        self.ended: list[ReplayedRow] = []

    def events(self, rows: Sequence[TraceRow]) -> Iterator[None]:
        """Yield once for each run that has ended."""
        at_start = self._settings.decide_at is DecideAt.START
        waiting = sorted(rows, key=lambda row: row.start_s if at_start else row.submit_s)
        for row in waiting:
            due_s = row.start_s if at_start else row.submit_s
            # What ends by now is known to the decision that is due now.
            yield from self._until(due_s)
            going = _Going(row, cold=row.task not in self._warm)
            self._decide(going, due_s)
        yield from self._until(float("inf"))

    def _until(self, now_s: float) -> Iterator[None]:
        while self._events and self._events[0][0] <= now_s:
            at_s, kind, _, going = heapq.heappop(self._events)
            if kind is Kind.COMPLETION:
                self._complete(going, at_s)
                yield
            elif kind is Kind.FAILURE:
                if not self._fail(going, at_s):
                    yield
            else:
                self._lift(going, at_s)

    def _push(self, at_s: float, kind: Kind, going: _Going) -> None:
        self._number += 1
        heapq.heappush(self._events, (at_s, kind, self._number, going))

    def _decide(self, going: _Going, now_s: float) -> None:
        started_s = perf_counter()
        answer = self._sizer.decide(going.row.asked, now_s)
        self.timing.decisions_s.append(perf_counter() - started_s)
        going.first_bytes = min(answer, self._settings.cap_bytes)
        self._attempt(going, going.first_bytes, going.row.complete_s)

    def _lift(self, going: _Going, now_s: float) -> None:
        failed_bytes = going.allocation_bytes
        answer = self._sizer.lift(going.row.asked, failed_bytes, going.attempt, now_s)
        if answer <= failed_bytes:
            raise SizerBroken(
                f"line {going.row.line} ({going.row.task}): asked for more than {failed_bytes}"
                f" bytes after attempt {going.attempt} failed, the policy answered {answer}"
            )
        allocation_bytes = min(answer, self._settings.cap_bytes)
        self._attempt(going, allocation_bytes, now_s + going.row.runtime_s)

    def _attempt(self, going: _Going, allocation_bytes: int, end_s: float) -> None:
        if allocation_bytes <= 0:
            raise SizerBroken(
                f"line {going.row.line} ({going.row.task}): the policy answered {allocation_bytes}"
                " bytes; answer at least 1"
            )
        going.attempt += 1
        going.allocation_bytes = allocation_bytes
        fits = allocation_bytes >= going.row.peak_bytes
        self._push(end_s, Kind.COMPLETION if fits else Kind.FAILURE, going)

    def _fail(self, going: _Going, now_s: float) -> bool:
        """Teach the failure; whether the run is tried again."""
        going.cost.fail(going.allocation_bytes, going.row.runtime_s)
        started_s = perf_counter()
        self._sizer.failed(going.row.asked, going.allocation_bytes, going.attempt, now_s)
        self.timing.updates_s.append(perf_counter() - started_s)
        if going.allocation_bytes >= self._settings.cap_bytes:
            # Nothing larger may be given: it never completes, and teaches nothing more.
            self._end(going, now_s)
            return False
        self._push(now_s, Kind.DECISION, going)
        return True

    def _complete(self, going: _Going, now_s: float) -> None:
        going.cost.succeed(going.allocation_bytes - going.row.peak_bytes, going.row.runtime_s)
        self._warm.add(going.row.task)
        started_s = perf_counter()
        self._sizer.completed(going.row, going.allocation_bytes, now_s)
        self.timing.updates_s.append(perf_counter() - started_s)
        self._end(going, now_s)

    def _end(self, going: _Going, now_s: float) -> None:
        self.ended.append(
            ReplayedRow(
                row=going.row,
                cold=going.cold,
                first_bytes=going.first_bytes,
                last_bytes=going.allocation_bytes,
                ended_s=now_s,
                waste_gb_h=going.cost.waste_gb_h,
                optimistic_gb_h=going.cost.optimistic_gb_h,
                failed_attempts=going.cost.failed_attempts,
            )
        )
