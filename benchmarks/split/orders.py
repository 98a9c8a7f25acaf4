"""What the order of a leased Job's items decides: without knowing the long ones, it takes luck.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.split.orders [--draws 100]

The record of leases is the controller's own; workers and their clocks are simulated. Items are
lognormal with a mean of 5 s. In the first table, items come in random order. It has the makespan
over the bound, and how many orders miss the bound by more than a tenth: with items taken one at
a time by any free worker, which is the best without knowing the long ones, and by leases. In the
second table, each item's time is guessed, with a correlation to its logarithm, and the items are
dealt so that each share begins with the longest (``plimsoll_chunks.dealt``).
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import math
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import plimsoll_chunks
from plimsoll_operator.chunks.lease_keeper import Keeper, WorkerReport
from plimsoll_operator.splitting.job_tokens import JobName
from plimsoll_operator.splitting.leased_job import START_S, WAIT_S, LeasedJob
from plimsoll_predictor.splitting.jobs import Job, share_of
from plimsoll_predictor.splitting.leases import Heard, Lease, NoLease, Worker
from plimsoll_predictor.splitting.makespans import played_s

Array = NDArray[np.float64]

MEAN_S: Final = 5.0
POD_S: Final = 3.0
"""A pod's start and end, as on the real node."""
AGAIN_S: Final = 0.25
"""How often a worker says that it is at work, or asks again."""
CALL_S: Final = 0.01
MISSED: Final = 1.10
SIGMAS: Final = (0.5, 1.5)
COUNTS: Final = (12, 16, 32, 48, 64, 96)
GUESSED: Final = ((32, 2, 0.5), (64, 2, 1.5), (2000, 16, 0.5), (2000, 16, 1.5))
"""Items, workers, σ."""
CORRELATIONS: Final = (0.5, 0.8, 1.0)
FEWER: Final = 4
"""Large Jobs get so many times fewer draws."""
_JOB: Final = JobName("bench", "orders", "run")


class _Unkept:
    """A shelf that keeps nothing: no controller starts again here."""

    async def write(self, job: JobName, document: Mapping[str, Any]) -> None:
        """Forget it."""


@dataclass(slots=True)
class _At:
    """A worker: what it knows of its lease, and the item up to which it works now."""

    worker: Worker
    heard: Heard | None = None
    first: int = 0
    goal: int = 0
    ended: bool = False


_Call = Callable[[_At], Awaitable["_Next"]]
_Next = list[tuple[float, _Call]]
"""What a worker does next, and at what second."""


class LeasedPlay:
    """One leased Job. each_s: the time of each item, in their order."""

    def __init__(self, each_s: Sequence[float], workers: int) -> None:
        self._before_s = [0.0, *accumulate(each_s)]
        self._now_s = self._last_s = 0.0
        self._keeper = Keeper(_Unkept(), lambda: self._now_s)
        job = Job(len(each_s), workers, START_S, WAIT_S)
        self._keeper.open(LeasedJob(_JOB, "uid", job, workers))
        self._at = [_At(Worker(f"w-{at}", at, "life", True)) for at in range(workers)]

    async def makespan_s(self) -> float:
        """Play it; return the seconds until its last item is done."""
        numbers = count()
        heap: list[tuple[float, int, _At, _Call]] = []
        for at in self._at:
            heap += [(POD_S, next(numbers), at, self._asks)]
            heap += [(POD_S + AGAIN_S, next(numbers), at, self._renews)]
        heapq.heapify(heap)
        while heap:
            self._now_s, _, at, call = heapq.heappop(heap)
            for when_s, then in await call(at):
                heapq.heappush(heap, (when_s, next(numbers), at, then))
        return self._last_s

    async def _asks(self, at: _At) -> _Next:
        lease = await self._keeper.next(_JOB, at.worker, at.heard, WorkerReport())
        if isinstance(lease, Lease):
            at.heard = Heard(lease.number, lease.end)
            at.first, at.goal = lease.first, lease.first + lease.items
            return [(self._now_s + CALL_S + self._takes_s(at), self._done)]
        at.ended = lease is NoLease.FINISHED
        return [] if at.ended else [(self._now_s + AGAIN_S, self._asks)]

    async def _done(self, at: _At) -> _Next:
        assert at.heard is not None
        told = WorkerReport(seconds=self._takes_s(at))
        await self._keeper.done(_JOB, at.worker, at.heard, at.goal, told)
        at.first, self._last_s = at.goal, self._now_s
        return [(self._now_s + CALL_S, self._asks)]

    async def _renews(self, at: _At) -> _Next:
        """Say that it is at work; repeat that at once if its part became smaller by it."""
        for _ in range(2 if at.first < at.goal else 0):
            assert at.heard is not None
            part = await self._keeper.renew(_JOB, at.worker, at.heard)
            end = at.heard.end if part is None else max(part.told, at.goal)
            lowered, at.heard = end < at.heard.end, Heard(at.heard.number, end)
            if not lowered:
                break
        return [] if at.ended else [(self._now_s + AGAIN_S, self._renews)]

    def _takes_s(self, at: _At) -> float:
        return self._before_s[at.goal] - self._before_s[at.first]


def leased_s(each_s: Array, workers: int) -> float:
    """Return the time of a leased Job of an unknown task."""
    return asyncio.run(LeasedPlay(each_s.tolist(), workers).makespan_s())


def singly_s(each_s: Array, workers: int) -> float:
    """Return the time if each free worker does the next item, and asking costs nothing."""
    return played_s(each_s.tolist(), workers, POD_S)


def shares_s(each_s: Array, workers: int) -> float:
    """Return the time if each worker does its share."""
    spans = (share_of(len(each_s), workers, index) for index in range(workers))
    return POD_S + max(float(each_s[first:end].sum()) for first, end in spans)


def drawn(items: int, sigma: float, seed: int) -> tuple[Array, Array]:
    """Draw items: their times, and the normal variates behind them."""
    normal = np.random.default_rng(seed).standard_normal(items)
    return MEAN_S * np.exp(sigma * normal - sigma**2 / 2), normal


def bound_s(each_s: Array, workers: int) -> float:
    """Return the time that no order beats: all work shared evenly, or the longest item."""
    return POD_S + max(float(each_s.sum()) / workers, float(each_s.max()))


def _random_rows(draws: int) -> Iterator[tuple[str, ...]]:
    for sigma, items in product(SIGMAS, COUNTS):
        times = [drawn(items, sigma, seed)[0] for seed in range(draws)]
        row = [f"{items} × 5 s, σ {sigma:g}"]
        for play in (singly_s, leased_s):
            over = np.array([play(each_s, 2) / bound_s(each_s, 2) for each_s in times])
            row += [f"{over.mean():.3f}", f"{(over > MISSED).mean():.0%}"]
        yield tuple(row)


def _guessed_rows(draws: int) -> Iterator[tuple[str, ...]]:
    for (items, workers, sigma), play in product(GUESSED, (leased_s, shares_s)):
        seeds = range(draws if workers == GUESSED[0][1] else max(1, draws // FEWER))
        over: dict[float, list[float]] = {}
        for seed in seeds:
            each_s, normal = drawn(items, sigma, seed)
            bound, other = bound_s(each_s, workers), drawn(items, sigma, seed + draws)[1]
            over.setdefault(0.0, []).append(play(each_s, workers) / bound)
            for likeness in CORRELATIONS:
                guess = likeness * normal + math.sqrt(1 - likeness**2) * other
                order = plimsoll_chunks.dealt(np.argsort(-guess).tolist(), workers)
                over.setdefault(likeness, []).append(play(each_s[order], workers) / bound)
        means = (f"{np.mean(found):.3f}" for found in over.values())
        how = "leased" if play is leased_s else "in shares"
        yield f"{items:,} × 5 s, σ {sigma:g}, {workers} workers", how, *means


def _table(title: str, names: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for at, name in enumerate(names):
        table.add_column(name, justify="right" if at else "left")
    for row in rows:
        table.add_row(*row)
    return table


def main() -> int:
    """Play and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--draws", type=int, default=100)
    draws = options.parse_args().draws
    singly = ("items, 2 workers", "one at a time", "missed", "leased", "missed")
    guessed = ("items", "", "as it comes", *(f"guess {each:g}" for each in CORRELATIONS))
    Console(width=110).print(
        _table("Over the bound, in random order", singly, _random_rows(draws)),
        _table("Over the bound, the longest first in each share", guessed, _guessed_rows(draws)),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
