"""Tells a task's own failures from those that its sizes caused: the circuit breaker.

A run that fails by itself at a lower size than its author wrote is suspected to have had too
little memory. Its next attempt is as written. If that succeeds, the size was too small, and the
task gets a floor above it; if that fails as well, the failure was the run's own.

A task that also fails as written is not suspected at each failure: then only proven sizes count,
and only while its lower sizes fail clearly more often than those that were written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from plimsoll_predictor.knowledge.ladder import GEOMETRIC_STEP

FORGETTING: Final = 0.98
"""Each attempt leaves this share of a count, so that about the latest fifty count."""
HARDLY_ANY: Final = 0.5
"""Fewer failures than this count as none: one failure is remembered for 35 attempts."""
OFTEN: Final = 5.0
"""So many of the latest fifty attempts, a tenth, also failed as written. A retry after each failure
at a lower size would then cost as much as a tenth of the task's runs."""
CLEARLY: Final = 2.0
"""How many times as often lower sizes must fail, beyond one failure, which may be by chance."""
MOST_SUSPECTED: Final = 64
"""The most runs whose next attempt is awaited."""


@dataclass(frozen=True, slots=True)
class AttemptAt:
    """An attempt that succeeded, or failed by itself.

    run: its key. allocation_bytes: the limit it ran under; None if it had none, or is unknown.
    lowered: whether its limit was lower than was written.
    """

    run: str
    allocation_bytes: float | None
    lowered: bool


@dataclass(slots=True)
class Failures:
    """What a task's failures say about its sizes; the counts fade.

    lowered, lowered_failed: attempts at lower sizes than were written, without those failures that
        turned out to be a run's own.
    written, written_failed: attempts as written, without those after a failure at a lower size.
    own: failures as written, whatever came before.
    suspected: run -> the size at which it failed, until an attempt as written ends.
    proven_bytes: the largest size at which a run failed that succeeded as written; 0 if none did.
    """

    lowered: float = 0.0
    lowered_failed: float = 0.0
    written: float = 0.0
    written_failed: float = 0.0
    own: float = 0.0
    suspected: dict[str, float] = field(default_factory=dict)
    proven_bytes: float = 0.0

    @property
    def fails_as_written(self) -> bool:
        """Whether it failed by itself lately, at the size that was written."""
        return self.own >= HARDLY_ANY

    @property
    def fails_often(self) -> bool:
        """Whether a retry after each failure would cost more than lower sizes save."""
        return self.own >= OFTEN

    @property
    def floor_bytes(self) -> int | None:
        """The least size to be tried; None if no size is known to be too small.

        It is a step above the size that failed, so that few more runs fail on the way up.
        """
        too_small_bytes = 0.0 if self._explained else self.proven_bytes
        if not self.fails_as_written:
            too_small_bytes = max(too_small_bytes, *self.suspected.values(), 0.0)
        return round(too_small_bytes * GEOMETRIC_STEP) or None

    @property
    def _explained(self) -> bool:
        """Whether lower sizes fail about as often as the task does as written."""
        if self.written_failed < HARDLY_ANY:
            return False
        usual = self.written_failed / self.written
        return self.lowered_failed <= 1 + CLEARLY * usual * self.lowered

    def succeeded(self, attempt: AttemptAt) -> None:
        """Learn from an attempt that succeeded."""
        self.own *= FORGETTING
        if attempt.lowered:
            self._count_lowered(failed=0)
            return
        size_bytes = self.suspected.pop(attempt.run, None)
        if size_bytes is None:
            self._count_written(failed=0)
        else:
            self.proven_bytes = max(self.proven_bytes, size_bytes)

    def failed(self, attempt: AttemptAt) -> None:
        """Learn from an attempt that failed by itself."""
        if attempt.lowered:
            self._count_lowered(failed=1)
            self._suspect(attempt.run, attempt.allocation_bytes or 0.0)
            return
        self.own = self.own * FORGETTING + 1
        if self.suspected.pop(attempt.run, None) is None:
            self._count_written(failed=1)
        else:
            self.lowered_failed = max(0.0, self.lowered_failed - 1)

    def _suspect(self, run: str, size_bytes: float) -> None:
        self.suspected[run] = max(size_bytes, self.suspected.pop(run, 0.0))
        while len(self.suspected) > MOST_SUSPECTED:
            # Nobody made its next attempt, so nothing disproves that the size was too small.
            oldest = next(iter(self.suspected))
            self.proven_bytes = max(self.proven_bytes, self.suspected.pop(oldest))

    def _count_lowered(self, *, failed: int) -> None:
        self.lowered = self.lowered * FORGETTING + 1
        self.lowered_failed = self.lowered_failed * FORGETTING + failed

    def _count_written(self, *, failed: int) -> None:
        self.written = self.written * FORGETTING + 1
        self.written_failed = self.written_failed * FORGETTING + failed
