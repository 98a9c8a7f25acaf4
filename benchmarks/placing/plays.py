"""One repetition of a world under all policies, and the summary of repetitions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.optimize import linear_sum_assignment

from plimsoll_predictor.placing.chance import random_slowdowns
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
FAIR: Final = 1.02
"""In a fair mix, a kind's slowdown is at most so many times its slowdown by chance."""
ROUNDS: Final = 20
MARGIN: Final = 0.1
"""Of the jobs that come over time, this share at the start and at the end does not count."""


@dataclass(frozen=True, slots=True)
class Play:
    """A repetition. source: a matrix's path, or SYNTHETIC. load: None for a backlog."""

    source: str
    load: float | None
    seed: int
    jobs: int

    def of(self, source: str, load: float | None) -> bool:
        """Say whether it is a repetition of this source and load."""
        return (self.source, self.load) == (source, load)


@dataclass(frozen=True, slots=True)
class Repetition:
    """Each policy's result on the same jobs: mean slowdowns of all and by kind."""

    means: Mapping[str, float]
    by_kind: Mapping[str, Array]
    overtaken: Mapping[str, int]
    best_mix: float
    fair_mix: float
    best_pairs: float


@dataclass(frozen=True, slots=True)
class Figures:
    """A policy in a world. gain: of mean slowdown against the usual, below zero if it is less.

    of_best_mix: as a share of the gain of a mix of pairs that no order can beat
    (placing/pairing.py). of_fair_mix: of the best mix in which no kind is slowed by more than FAIR
    times chance. of_best_pairs: of pairing jobs as if all took equally long; the bars use this one.
    worst_kind: how much more the most slowed kind is slowed than with the usual policy, and its
    standard error by the jackknife over seeds. The maximum of many is biased upwards by chance.
    """

    world: str
    load: float | None
    policy: str
    gain: float
    error: float
    of_best_mix: float
    of_fair_mix: float
    of_best_pairs: float
    worst_kind: float
    worst_kind_error: float
    overtaken: int

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


def world_of(source: str, seed: int) -> World:
    """Read the world, or draw it: another one for each seed."""
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
    busy = float(shares @ (world.work * _slowdowns_for_loads(world, shares)))
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


def _slowdowns_for_loads(world: World, shares: Array) -> Array:
    """Slowdowns by shares of time of kinds alone, up to 8% less than by chance on these matrices.

    Loads were defined by them from the start, so this stays as it was.
    """
    met, slow = shares * world.work, np.ones(len(shares))
    for _ in range(ROUNDS):
        slow = 1 / ((1 / world.slowdowns) @ (met / met.sum()))
        met = shares * world.work * slow
    return np.asarray(slow)


def _repetition(
    world: World, shares: Array, jobs: Sequence[Job], found: Mapping[str, Played]
) -> Repetition:
    kinds = np.array([job.kind for job in jobs])
    some = jobs[-1].comes_at > 0
    first = int(MARGIN * len(jobs)) if some else 0
    counted = np.zeros(len(jobs), dtype=bool)
    counted[first : len(jobs) - first] = True
    numbers = range(len(world.kinds))
    fair = FAIR * random_slowdowns(world.slowdowns, shares, world.work)
    return Repetition(
        {name: float(each.slowdowns[counted].mean()) for name, each in found.items()},
        {
            name: np.array([each.slowdowns[counted & (kinds == kind)].mean() for kind in numbers])
            for name, each in found.items()
        },
        {name: each.most_overtaken for name, each in found.items()},
        best_pairing(world.slowdowns, shares, world.work).mean_slowdown,
        best_pairing(world.slowdowns, shares, world.work, fair).mean_slowdown,
        best_pairs(world.slowdowns),
    )


def best_pairs(slowdowns: Array) -> float:
    """The mean slowdown of the best pairs, over that of random pairs."""
    costs = slowdowns + slowdowns.T
    rows, columns = linear_sum_assignment(costs)
    return float(costs[rows, columns].mean() / costs.mean())


def summed(
    world: World, load: float | None, repetitions: Sequence[Repetition]
) -> Iterator[Figures]:
    """Combine repetitions, each paired with the usual policy's on the same jobs."""
    usual = np.array([each.means[USUAL] for each in repetitions])
    best_mix = float((np.array([each.best_mix for each in repetitions]) / usual - 1).mean())
    fair_mix = float((np.array([each.fair_mix for each in repetitions]) / usual - 1).mean())
    best_pairs = float(np.mean([each.best_pairs for each in repetitions])) - 1
    kinds_usual = np.array([each.by_kind[USUAL] for each in repetitions])
    name = world.name.removeprefix("colocation-").split("-0")[0]
    for policy in repetitions[0].means:
        gains = np.array([each.means[policy] for each in repetitions]) / usual - 1
        gain = float(gains.mean())
        by_kind = np.array([each.by_kind[policy] for each in repetitions])
        worst, worst_error = _worst_kind(by_kind, kinds_usual)
        yield Figures(
            world=name,
            load=load,
            policy=policy,
            gain=gain,
            error=float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else 0.0,
            of_best_mix=gain / best_mix,
            of_fair_mix=gain / fair_mix,
            of_best_pairs=gain / best_pairs,
            worst_kind=worst,
            worst_kind_error=worst_error,
            overtaken=max(each.overtaken[policy] for each in repetitions),
        )


def _worst_kind(slowdowns: Array, usual: Array) -> tuple[float, float]:
    """Return the worst kind's excess and its error. Arrays: a row per seed, a column per kind."""
    excess = slowdowns.mean(axis=0) / usual.mean(axis=0) - 1
    seeds = len(slowdowns)
    if seeds < 2:
        return float(excess.max()), 0.0
    without = (slowdowns.sum(axis=0) - slowdowns) / (usual.sum(axis=0) - usual) - 1
    each = without[:, int(excess.argmax())]
    return float(excess.max()), float(np.sqrt((seeds - 1) * each.var()))
