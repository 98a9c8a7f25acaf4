"""The interface of strategies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from plimsoll_predictor.splitting.jobs import Job


class Cut(StrEnum):
    """When chunk sizes are decided."""

    LEASED = "leased"
    """One by one, while the job runs."""
    BEFORE = "cut"
    """All at the job's creation; each chunk is a pod."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk that finished. seconds: of its work.

    peak_bytes: its worker's until then; largest: the largest chunk that this worker had until then,
    since a process's peak never falls. None if not measured.
    """

    items: int
    seconds: float
    peak_bytes: int | None = None
    largest: int | None = None


class Strategy(Protocol):
    """Chooses sizes. It keeps what it learns over the runs of one task."""

    def begin(self, job: Job, cut: Cut) -> None:
        """Note that a run begins."""

    def next_items(self, left: int) -> int:
        """Choose how many of the items that are left the next chunk has: 1 to ``left``."""

    def done(self, chunk: Chunk) -> None:
        """Learn from a finished chunk; if the job is cut before, after all were chosen."""

    def ended(self, makespan_s: float) -> None:
        """Note that the run has ended."""
