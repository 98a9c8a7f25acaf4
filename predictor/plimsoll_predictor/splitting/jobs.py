"""A job whose work can be cut, as its strategies see it."""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_predictor.splitting.costs import MOST_ITEMS, MOST_S

MOST_WORKERS = 100_000
"""Kubernetes' own bound on the parallelism of an Indexed Job with many completions."""


def share_of(items: int, shares: int, index: int) -> tuple[int, int]:
    """Return the first item of a worker's share, and the one after its last.

    A worker computes the same by itself (`items * index // shares`).
    """
    return items * index // shares, items * (index + 1) // shares


@dataclass(frozen=True, slots=True)
class Job:
    """items: how much work. workers: how many work at once.

    start_s: from a worker's creation to its first chunk. wait_s: what one more chunk costs a
    running worker: the request for the next lease, or a pod's start if each chunk is a pod.
    """

    items: int
    workers: int
    start_s: float
    wait_s: float

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, for values that no job can have."""
        if not 0 < self.items <= MOST_ITEMS:
            raise ValueError(f"a job of {self.items!r} items; it has 1 to {MOST_ITEMS}")
        if not 0 < self.workers <= MOST_WORKERS:
            raise ValueError(f"a job of {self.workers!r} workers; it has 1 to {MOST_WORKERS}")
        for name, seconds in (("start", self.start_s), ("wait", self.wait_s)):
            if not 0 <= seconds <= MOST_S:
                raise ValueError(f"a job's {name} of {seconds!r} s; it takes 0 to {MOST_S:g}")

    @property
    def share(self) -> int:
        """A worker's part if all get the same, rounded up: the cut if nothing is known."""
        return -(-self.items // self.workers)

    def bound_s(self, work_s: float) -> float:
        """Return the time that no cut can beat. work_s: all items, one after the other."""
        return self.start_s + work_s / self.workers
