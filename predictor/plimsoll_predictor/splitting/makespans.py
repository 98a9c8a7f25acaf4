"""How long a job takes if it is cut in some way: draws chunks by their costs and plays them."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import numpy as np

from plimsoll_predictor.splitting.costs import Z_90, Costs
from plimsoll_predictor.splitting.drawing import drawn_s
from plimsoll_predictor.splitting.jobs import Job

LEAST_DRAWS: Final = 16
DRAWN: Final = 6_144
"""Chunks that are drawn for a plan. Chunks of few workers are drawn more often, since their
makespan scatters more."""
LAST_A_WORKER: Final = 6
"""Only so many last chunks per worker are played: the earlier ones keep all workers busy."""
MOST_CHUNKS: Final = 100_000
"""Kubernetes allows no more indexes in an Indexed Job."""


@dataclass(frozen=True, slots=True)
class Makespan:
    """Seconds from the first worker's creation to the last chunk's end; nine of ten within."""

    mean_s: float
    low_s: float
    high_s: float


def least_s(chunks: int, job: Job, costs: Costs) -> float:
    """Return the least time of so many chunks, if no worker ever waits for another."""
    work_s = job.items * costs.item_s + chunks * (job.wait_s + costs.chunk_s)
    return job.start_s + work_s / job.workers


@dataclass(frozen=True, slots=True)
class Chunks:
    """Chunks of a job, in the order in which they begin, however many they are.

    count: of all chunks. largest: items of the largest. last: the sizes of the last ones, at most
    LAST_A_WORKER per worker.
    """

    count: int
    largest: int
    last: tuple[int, ...]


def even_chunks(job: Job, items: int) -> Chunks:
    """Return chunks of so many items, without listing them."""
    items = max(1, min(items, job.items))
    count = -(-job.items // items)
    kept = min(count, LAST_A_WORKER * job.workers)
    rest = job.items - (count - 1) * items
    return Chunks(count, items, (*[items] * (kept - 1), rest))


def listed_chunks(job: Job, sizes: Iterator[int]) -> Chunks | None:
    """Return these chunks; None if they are more than MOST_CHUNKS."""
    listed = list(islice(sizes, MOST_CHUNKS + 1))
    if len(listed) > MOST_CHUNKS:
        return None
    return these_chunks(job, listed)


def these_chunks(job: Job, sizes: Sequence[int]) -> Chunks:
    """Return chunks of these sizes, in the order in which they begin."""
    last = tuple(sizes[-LAST_A_WORKER * job.workers :])
    return Chunks(len(sizes), max(sizes), last)


def expected(chunks: Chunks, job: Job, costs: Costs, seed: int) -> Makespan:
    """Play these chunks on the job's workers. Cost: the last chunks × the draws."""
    before = job.items - sum(chunks.last)
    waits = (chunks.count - len(chunks.last)) * (job.wait_s + costs.chunk_s)
    begin_s = job.start_s + (waits + before * costs.item_s) / job.workers
    # All plans of a job get the same number of draws: they are compared draw by draw.
    draws = max(LEAST_DRAWS, DRAWN // (LAST_A_WORKER * job.workers))
    times = drawn_s(np.asarray(chunks.last, dtype=float), costs, draws, seed) + job.wait_s
    found = [played_s(row.tolist(), job.workers, begin_s) for row in times]
    mean = float(np.mean(found))
    wide = Z_90 * math.hypot(float(np.std(found)), (mean - job.start_s) * _unsure(costs))
    # However lucky the draws are, no job ends before its workers have done all items.
    quick = replace(costs, item_s=max(0.0, costs.item_s - Z_90 * costs.item_error_s))
    least = min(mean, least_s(chunks.count, job, quick))
    return Makespan(mean, max(least, mean - wide), mean + wide)


def played_s(times: Sequence[float], workers: int, begin_s: float) -> float:
    """Return when the last of these chunks ends, each taken by the first worker that is free."""
    free = [begin_s] * min(workers, len(times))
    for seconds in times:
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def _unsure(costs: Costs) -> float:
    return costs.item_error_s / costs.item_s if costs.item_s > 0 else 0.0
