"""One repetition of a world under all policies, and what repetitions come to."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.optimize import linear_sum_assignment

from plimsoll_predictor.placing.fairness import random_slowdowns
from plimsoll_predictor.placing.matrix import Array
from plimsoll_predictor.placing.pairing import best_pairing
from plimsoll_predictor.placing.policies.catalogue import OWN, POLICIES
from plimsoll_predictor.replay.placing.knowing import Knowing, Learned, Truth
from plimsoll_predictor.replay.placing.playing import Chooser, Played, Stage, play
from plimsoll_predictor.replay.placing.world import Job, World, read_world, synthetic_world

SYNTHETIC: Final = "synthetic"
LOADS: Final = (0.85, 0.95)
BACKLOG_NODES: Final = 20
NODES: Final = 100
USUAL: Final = "least-loaded"
LEARNED: Final = f"{OWN}, learned"
NOISE: Final = 0.1
LEARNS_FROM: Final = 1000
MARGIN: Final = 0.1
"""Of the jobs that come over time, the first and last of this share do not count."""


@dataclass(frozen=True, slots=True)
class Play:
    """A repetition. source: a matrix's path, or SYNTHETIC. load: None for a backlog."""

    source: str
    load: float | None
    seed: int
    jobs: int

    def of(self, source: str, load: float | None) -> bool:
        """Say whether it is a repetition of that."""
        return (self.source, self.load) == (source, load)


@dataclass(frozen=True, slots=True)
class Repetition:
    """What each policy made of the same jobs: mean slowdowns of all and by kind."""

    means: Mapping[str, float]
    by_kind: Mapping[str, Array]
    overtaken: Mapping[str, int]
    best_mix: float
    best_pairs: float


@dataclass(frozen=True, slots=True)
class Figures:
    """A policy in a world. gain: of mean slowdown against the usual, below zero if less.

    of_best_mix: of the gain of a mix of pairs that no order can beat (placing/pairing.py).
    of_best_pairs: of pairing jobs as if all took as long, which is asked for in places.
    """

    world: str
    load: float | None
    policy: str
    gain: float
    error: float
    of_best_mix: float
    of_best_pairs: float
    worst_kind: float
    overtaken: int

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


def world_of(source: str, seed: int) -> World:
    """Read the world, or draw it: each seed another."""
    return synthetic_world(seed) if source == SYNTHETIC else read_world(Path(source))


def played(job: Play) -> Repetition:
    """Play one repetition under all policies."""
    world = world_of(job.source, job.seed)
    shares = np.full(len(world.kinds), 1 / len(world.kinds))
    draw = random.Random(job.seed)
    if job.load is None:
        return _backlog(world, shares, job, draw)
    return _arrivals(world, shares, job, draw)


def _backlog(world: World, shares: Array, job: Play, draw: random.Random) -> Repetition:
    stage = Stage(BACKLOG_NODES)
    before = [Job(draw.randrange(len(shares))) for _ in range(LEARNS_FROM)]
    jobs = [Job(draw.randrange(len(shares))) for _ in range(job.jobs)]
    truth = Truth(world, shares)
    found = {
        name: play(world, jobs, Chooser(make(), truth), stage, job.seed)
        for name, make in POLICIES.items()
    }
    learned = Learned(world, NOISE, job.seed, LEARNS_FROM)
    play(world, before, Chooser(POLICIES[OWN](), learned), stage, job.seed)
    found[LEARNED] = play(world, jobs, Chooser(POLICIES[OWN](), learned), stage, job.seed)
    return _repetition(world, shares, jobs, found)


def _arrivals(world: World, shares: Array, job: Play, draw: random.Random) -> Repetition:
    at_random = random_slowdowns(world.slowdowns, shares, world.work)
    busy = float(shares @ (world.work * at_random))
    rate = (job.load or 0.0) * 2 * NODES / busy
    now, jobs = 0.0, []
    for _ in range(3 * job.jobs):
        now += draw.expovariate(rate)
        jobs.append(Job(draw.randrange(len(shares)), now))
    stage = Stage(NODES, orders=False)
    truth: Knowing = Truth(world, shares)
    found = {
        name: play(world, jobs, Chooser(make(), truth), stage, job.seed)
        for name, make in POLICIES.items()
    }
    return _repetition(world, shares, jobs, found)


def _repetition(
    world: World, shares: Array, jobs: Sequence[Job], found: Mapping[str, Played]
) -> Repetition:
    kinds = np.array([job.kind for job in jobs])
    some = jobs[-1].comes_at > 0
    first = int(MARGIN * len(jobs)) if some else 0
    counted = np.zeros(len(jobs), dtype=bool)
    counted[first : len(jobs) - first] = True
    numbers = range(len(world.kinds))
    return Repetition(
        {name: float(each.slowdowns[counted].mean()) for name, each in found.items()},
        {
            name: np.array([each.slowdowns[counted & (kinds == kind)].mean() for kind in numbers])
            for name, each in found.items()
        },
        {name: each.most_overtaken for name, each in found.items()},
        best_pairing(world.slowdowns, shares, world.work).mean_slowdown,
        _best_pairs(world.slowdowns),
    )


def _best_pairs(slowdowns: Array) -> float:
    """The mean slowdown of pairs that are best together, over that of pairs as they come."""
    costs = slowdowns + slowdowns.T
    rows, columns = linear_sum_assignment(costs)
    return float(costs[rows, columns].mean() / costs.mean())


def summed(
    world: World, load: float | None, repetitions: Sequence[Repetition]
) -> Iterator[Figures]:
    """Bring repetitions together, each paired with the usual policy's on the same jobs."""
    usual = np.array([each.means[USUAL] for each in repetitions])
    best_mix = float((np.array([each.best_mix for each in repetitions]) / usual - 1).mean())
    best_pairs = float(np.mean([each.best_pairs for each in repetitions])) - 1
    kinds_usual = np.mean([each.by_kind[USUAL] for each in repetitions], axis=0)
    name = world.name.removeprefix("colocation-").split("-0")[0]
    for policy in repetitions[0].means:
        gains = np.array([each.means[policy] for each in repetitions]) / usual - 1
        gain = float(gains.mean())
        by_kind = np.mean([each.by_kind[policy] for each in repetitions], axis=0)
        yield Figures(
            world=name,
            load=load,
            policy=policy,
            gain=gain,
            error=float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else 0.0,
            of_best_mix=gain / best_mix,
            of_best_pairs=gain / best_pairs,
            worst_kind=float((by_kind / kinds_usual).max() - 1),
            overtaken=max(each.overtaken[policy] for each in repetitions),
        )
