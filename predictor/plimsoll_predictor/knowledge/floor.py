"""The least size of a task, below what its author wrote, and why it has one. Pure.

A program may size itself by its limit: a JVM's heap, a cache. Its peak then says what it was given
and not what it needs, so a need that was learned from it may be too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from plimsoll_predictor.core.units import words_for_bytes


class FloorKind(StrEnum):
    """The reason for a floor."""

    FAILED = "failed"
    """A run failed by itself at a lower size than was written, and did not fail as written."""
    ELASTIC = "elastic"
    """The task's peak follows its allocation."""
    CHUNK = "chunk"
    """It holds the largest chunk or lease that a pod has."""


@dataclass(frozen=True, slots=True)
class Floor:
    """The least size that a task's limit may be lowered to.

    size_bytes: None if it may not be lowered at all.
    """

    size_bytes: int | None
    kind: FloorKind

    @property
    def words(self) -> str:
        """Why there is a floor, and where it is; for people."""
        at = "as written" if self.size_bytes is None else words_for_bytes(self.size_bytes)
        if self.kind is FloorKind.ELASTIC:
            return f"elastic: its peak follows its allocation; floor {at}"
        if self.kind is FloorKind.CHUNK:
            return f"its largest chunk may need {at}"
        return f"a run failed by itself at a lower size than was written; floor {at}"

    def forbids(self, limit_bytes: int | None) -> bool:
        """Whether a lowered limit would be below it. limit_bytes: None for no limit."""
        if not limit_bytes:
            return False
        return self.size_bytes is None or limit_bytes < self.size_bytes

    def within(self, written_bytes: int) -> int:
        """The floor, but never above what was written; 0 if nothing was written."""
        return written_bytes if self.size_bytes is None else min(self.size_bytes, written_bytes)
