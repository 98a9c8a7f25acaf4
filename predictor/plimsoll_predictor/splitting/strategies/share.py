"""A worker's share in one chunk: the cut if nothing is known. It learns nothing."""

from __future__ import annotations

from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut


class Share:
    """As many chunks as workers, all of the same size."""

    def __init__(self) -> None:
        self._items = 1

    def begin(self, job: Job, cut: Cut) -> None:  # noqa: ARG002 (of the interface)
        """Take the share."""
        self._items = job.share

    def next_items(self, left: int) -> int:
        """Return the share, or the rest if it is smaller."""
        return min(left, self._items)

    def done(self, chunk: Chunk) -> None:
        """Learn nothing."""

    def ended(self, makespan_s: float) -> None:
        """Learn nothing."""
