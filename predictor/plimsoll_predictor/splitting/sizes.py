"""How large the next chunk is: a worker's part of the rest, but long enough to be worth its wait.

The part is Factoring's (Flynn Hummel, Schonberg, Flynn: Factoring, a method for scheduling parallel
loops, CACM 35(8), 1992): items with similar times are given out almost at once. Items that differ
much are given out in ever smaller chunks, so that no worker is left with a long one at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.splitting.costs import Costs
from plimsoll_predictor.splitting.jobs import Job

LEAST_WAITS: Final = 4.0
"""A chunk takes at least so many times its wait. Chosen from 1, 2 and 4, by simulation with seeds
of its own and a wait of 50 ms."""
TARGET_S: Final = 60.0
"""No lease is meant to be longer: it is lost if its worker dies."""
GROWTH: Final = 8
"""A chunk has at most so many times the items of the largest chunk whose time is known."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """most_items: a chunk's bound, such as by memory. target_s: the longest time meant for one."""

    most_items: int
    target_s: float = TARGET_S
    least_waits: float = LEAST_WAITS


def next_items(left: int, job: Job, costs: Costs | None, bounds: Bounds) -> int:
    """Return how many of the ``left`` items the next chunk has: 1 to ``left``.

    costs: None if nothing is known; then the chunk is a single item.
    """
    if costs is None or costs.item_s <= 0:
        return 1
    part = left / (_rounds(left, job.workers, costs.spread_s / costs.item_s) * job.workers)
    least = bounds.least_waits * (job.wait_s + costs.chunk_s) / costs.item_s
    worth_it = max(part, min(least, job.share))
    most = min(bounds.most_items, max(1.0, bounds.target_s / costs.item_s), left)
    return max(1, min(int(most), math.ceil(worth_it)))


def _rounds(left: int, workers: int, spread: float) -> float:
    """Return the divisor of the rest, in multiples of the workers; 1 without a spread.

    spread: an item's standard deviation, in means.
    """
    half = workers / (2 * math.sqrt(left)) * spread
    return 1 + half * half + half * math.sqrt(half * half + 2)


def leased_sizes(job: Job, costs: Costs, bounds: Bounds) -> Iterator[int]:
    """Return the leases that result if the costs are right."""
    left = job.items
    while left > 0:
        items = next_items(left, job, costs, bounds)
        yield items
        left -= items


def batched_sizes(job: Job, costs: Costs, bounds: Bounds) -> Iterator[int]:
    """Return chunks cut before the job begins: one of each size for every worker.

    Kubernetes starts indexes in their order, so the large ones come first.
    """
    return dealt_sizes(batch_sizes(job, costs, bounds), job.items, job.workers)


def batch_sizes(job: Job, costs: Costs, bounds: Bounds) -> Iterator[int]:
    """Return the size of each batch: a batch has one chunk for every worker."""
    left = job.items
    while left > 0:
        items = next_items(left, job, costs, bounds)
        yield items
        left -= items * job.workers


def dealt_sizes(batches: Iterable[int], items: int, workers: int) -> Iterator[int]:
    """Return the chunks of these batches until all items are dealt; the last has the rest."""
    for each in batches:
        for _ in range(workers):
            if items <= 0:
                return
            yield min(each, items)
            items -= each


def even_sizes(job: Job, items: int) -> Iterator[int]:
    """Return chunks of so many items; the last one has the rest."""
    for first in range(0, job.items, items):
        yield min(items, job.items - first)


def even_candidates(job: Job, chunks_a_worker: int = 1024) -> Iterator[int]:
    """Return sizes of even chunks, from a worker's whole part down to so many chunks a worker."""
    rounds, before = 1.0, 0
    while rounds <= chunks_a_worker:
        items = max(1, -(-job.items // (job.workers * round(rounds))))
        if items != before:
            yield items
        if items == 1:
            return
        before = items
        rounds = max(rounds + 1, rounds * 1.25)
