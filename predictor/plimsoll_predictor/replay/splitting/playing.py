"""One run of a job whose items' times are drawn: by a strategy, or in even chunks."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.makespans import played_s
from plimsoll_predictor.splitting.sizes import even_candidates
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut, Strategy

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Played:
    """A run's makespan in seconds, and its chunks."""

    makespan_s: float
    chunks: int


def lognormal_items(items: int, median_s: float, sigma: float, seed: int) -> Array:
    """Draw the seconds that each item takes."""
    draw = np.random.default_rng(seed)
    return np.asarray(draw.lognormal(np.log(median_s), sigma, items))


def play(strategy: Strategy, job: Job, times: Array, cut: Cut) -> Played:
    """Play a run and report it to the strategy. times: of each item, in the order given out."""
    strategy.begin(job, cut)
    ends = [0.0, *np.cumsum(times).tolist()]
    play_it = _leased if cut is Cut.LEASED else _cut_before
    played = play_it(strategy, job, ends)
    strategy.ended(played.makespan_s)
    return played


def _cut_before(strategy: Strategy, job: Job, ends: Sequence[float]) -> Played:
    first, chunks = 0, []
    while first < job.items:
        items = strategy.next_items(job.items - first)
        chunks.append(Chunk(items, ends[first + items] - ends[first]))
        first += items
    makespan_s = played_s([job.wait_s + each.seconds for each in chunks], job.workers, job.start_s)
    for each in chunks:
        strategy.done(each)
    return Played(makespan_s, len(chunks))


def _leased(strategy: Strategy, job: Job, ends: Sequence[float]) -> Played:
    """The strategy learns of a chunk when it has finished, not before."""
    running: list[tuple[float, int, Chunk | None]] = [
        (job.start_s, worker, None) for worker in range(job.workers)
    ]
    first = chunks = 0
    last_s = job.start_s
    while running:
        now_s, worker, chunk = heapq.heappop(running)
        if chunk is not None:
            last_s = now_s
            strategy.done(chunk)
        if first < job.items:
            items = strategy.next_items(job.items - first)
            chunk = Chunk(items, ends[first + items] - ends[first])
            first += items
            chunks += 1
            heapq.heappush(running, (now_s + job.wait_s + chunk.seconds, worker, chunk))
    return Played(last_s, chunks)


def even_s(job: Job, times: Array, items: int) -> float:
    """Return the makespan of even chunks of so many items."""
    chunks = np.add.reduceat(times, np.arange(0, job.items, items)) + job.wait_s
    return played_s(chunks.tolist(), job.workers, job.start_s)


def even_all(job: Job, drawn: Sequence[Array]) -> dict[int, list[float]]:
    """Return how long each size of even chunks would have taken in each of the runs.

    Sizes that cannot be the best in any run, since their waits alone take too long, are left out.
    """
    found: dict[int, list[float]] = {}
    best = [float("inf")] * len(drawn)
    for items in even_candidates(job, max(2, job.share)):
        chunks = -(-job.items // items)
        least = [job.start_s + (t.sum() + chunks * job.wait_s) / job.workers for t in drawn]
        if all(now >= ever for now, ever in zip(least, best, strict=True)):
            break
        found[items] = [even_s(job, times, items) for times in drawn]
        best = [min(pair) for pair in zip(best, found[items], strict=True)]
    return found
