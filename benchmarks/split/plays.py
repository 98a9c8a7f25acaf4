"""One task's runs under one strategy, and the summary over the runs of all seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from benchmarks.split.as_cut import AsCut
from plimsoll_operator.pods.chunk_starts import most_listed
from plimsoll_predictor.replay.splitting.playing import (
    Array,
    even_all,
    even_s,
    lognormal_items,
    play,
)
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.strategies.catalogue import STRATEGIES
from plimsoll_predictor.splitting.strategies.gaussian import Gaussian
from plimsoll_predictor.splitting.strategies.strategy import Cut, Strategy

POD_START_S: Final = 1.5
LEASE_S: Final = 0.05
"""Both are as measured: docs/splitting.md."""
FIRST_JUDGED: Final = 50_000
"""Seeds from here on judge; constants were chosen with seeds of 1,000 to 2,000."""
APART: Final = 100
"""The distance of tasks in seeds; seeds of a task's runs follow each other."""


AS_ADMITTED: Final = ("even cut", "by a list")
"""Names for what admission does to cut Jobs: to those that read no list, and to those that do."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A job: its items' median in seconds, the spread of their logarithm, items and workers."""

    median_s: float
    sigma: float
    items: int
    workers: int

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.items:,} × {self.median_s:g} s, σ {self.sigma:g}, {self.workers} workers"

    def job(self, cut: Cut) -> Job:
        """A lease costs a request, and a pod starts once; if cut before, each chunk is a pod."""
        if cut is Cut.LEASED:
            return Job(self.items, self.workers, POD_START_S, LEASE_S)
        return Job(self.items, self.workers, 0.0, POD_START_S)


SIZES: Final = (
    (0.01, 20_000, 16),
    (0.2, 20_000, 16),
    (5.0, 2_000, 16),
    (0.01, 640_000, 512),
    (0.2, 128_000, 512),
    (5.0, 16_000, 512),
)
KINDS: Final = tuple(
    Kind(median_s, sigma, items, workers)
    for median_s, items, workers in SIZES
    for sigma in (0.5, 1.5)
)


@dataclass(frozen=True, slots=True)
class Play:
    """A task: its kind, how it is cut, how many runs it has, and a seed."""

    kind: Kind
    cut: Cut
    runs: int
    seed: int


@dataclass(frozen=True, slots=True)
class Task:
    """A task's times under each strategy, one per run, and in even chunks by size."""

    taken_s: Mapping[str, Sequence[float]]
    even_s: Mapping[int, Sequence[float]]
    bound_s: Sequence[float]
    one_s: float


@dataclass(frozen=True, slots=True)
class Figures:
    """A strategy on a kind of job, over all seeds. Seconds are means of a run.

    mode: how it is cut. default_s, tuned_s, bound_s: a worker's share; the strategy, from its
    second run on; all work shared evenly, plus one start. one_s: one item per chunk, of one run.
    best_items, best_s: the even chunk that is best over all these runs. first, later: the
    strategy's time over that, in its first run and from the second on. lucky: the same, if each run
    has its own best even chunk. worst_learning: the worst run's time over the share's. Peaks are
    None if memory does not matter.
    """

    job: str
    mode: str
    strategy: str
    runs: int
    default_s: float
    tuned_s: float
    bound_s: float
    one_s: float
    best_items: int
    best_s: float
    first: float
    later: float
    lucky: float
    worst_learning: float
    peak_default_mb: float | None = None
    peak_tuned_mb: float | None = None

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


def strategies(play_of: Play) -> Mapping[str, Callable[[], Strategy]]:
    """Return all strategies; the random one uses the task's seed.

    For Jobs that are cut before, they include what admission does: even chunks, and a list of them.
    """
    found: dict[str, Callable[[], Strategy]] = {
        **STRATEGIES,
        "gaussian": partial(Gaussian, play_of.seed % 2**31),
    }
    if play_of.cut is Cut.BEFORE:
        listed = most_listed(play_of.kind.items, variables=1)
        found |= {
            name: partial(AsCut, most) for name, most in zip(AS_ADMITTED, (0, listed), strict=True)
        }
    return MappingProxyType(found)


def played(play_of: Play) -> Task:
    """Play a task's runs under each strategy, all on the same draws."""
    job = play_of.kind.job(play_of.cut)
    drawn = list(_draws(play_of))
    taken = {}
    for name, make in strategies(play_of).items():
        strategy = make()
        taken[name] = [play(strategy, job, times, play_of.cut).makespan_s for times in drawn]
    bound = [POD_START_S + float(times.sum()) / job.workers for times in drawn]
    return Task(taken, even_all(job, drawn), bound, even_s(job, drawn[0], 1))


def _draws(play_of: Play) -> Iterator[Array]:
    kind = play_of.kind
    for run in range(play_of.runs):
        seed = FIRST_JUDGED + APART * play_of.seed + run
        yield lognormal_items(kind.items, kind.median_s, kind.sigma, seed)


def summed(kind: Kind, cut: Cut, tasks: Sequence[Task]) -> Iterator[Figures]:
    """Sum up the tasks of one kind, a row per strategy."""
    job = kind.job(cut)
    sizes = set.intersection(*(set(task.even_s) for task in tasks))
    even = {items: _runs(task.even_s[items] for task in tasks) for items in sizes}
    best_items = min(even, key=lambda items: float(even[items].mean()))
    best, share = even[best_items], even[job.share]
    lucky = np.minimum.reduce(list(even.values()))
    bound = _runs(task.bound_s for task in tasks)
    for name in tasks[0].taken_s:
        taken = _runs(task.taken_s[name] for task in tasks)
        yield Figures(
            job=kind.name,
            mode=cut.value,
            strategy=name,
            runs=taken.shape[1],
            default_s=float(share.mean()),
            tuned_s=float(taken[:, 1:].mean()),
            bound_s=float(bound.mean()),
            one_s=float(np.mean([task.one_s for task in tasks])),
            best_items=best_items,
            best_s=float(best.mean()),
            first=_over(taken[:, :1], best[:, :1]),
            later=_over(taken[:, 1:], best[:, 1:]),
            lucky=_over(taken[:, 1:], lucky[:, 1:]),
            worst_learning=max(
                _over(taken[:, run], share[:, run]) for run in range(taken.shape[1])
            ),
        )


def _runs(rows: Iterator[Sequence[float]]) -> Array:
    """Return an array of seeds by runs."""
    return np.array(list(rows), dtype=float)


def _over(one: Array, other: Array) -> float:
    return float(one.mean() / other.mean())
