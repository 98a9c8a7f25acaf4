"""Plays the recorded past again: how much placing would have saved on the runs that came.

Jobs come as they were submitted, on as many nodes as there were. The fitted slowdowns are not the
truth, so each play draws another truth around them, and the policy knows only the fitted ones. The
usual policy plays against the same truth on the same nodes.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import Array, Matrix
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.placing.policies.getting_along import GettingAlong
from plimsoll_predictor.placing.policies.policy import Policy
from plimsoll_predictor.placing.policies.simple import LeastLoaded
from plimsoll_predictor.replay.placing.knowing import Truth
from plimsoll_predictor.replay.placing.playing import Chooser, Stage, play
from plimsoll_predictor.replay.placing.world import Job, World

MOST_RUNS: Final = 2_000
PLAYS: Final = 10
LEAST_PLACES: Final = 2
MOST_PLACES: Final = 8
LEAST_SLOWDOWN: Final = 0.5
MOST_SLOWDOWN: Final = 20.0
"""Bounds of the factor by which one neighbour lengthens a run."""
LEAST_KINDS: Final = 2
LEAST_KNOWN: Final = 0.5
"""The share of meetings whose slowdown must be known before a saving is reported."""


@dataclass(frozen=True, slots=True, eq=False)
class PastQueue:
    """The past as a game. Arrays are by the kinds of ``world``, which holds the fitted slowdowns.

    theta, deviation: of the ln of the slowdowns. shares: of jobs. places: of each node. unit_s:
    seconds of a mean job alone, the unit of ``world.work`` and of the times of jobs.
    """

    world: World
    theta: Array
    deviation: Array
    shares: Array
    jobs: tuple[Job, ...]
    nodes: int
    places: int
    unit_s: float


@dataclass(frozen=True, slots=True)
class Gain:
    """How much a policy would have gained over the usual one.

    mean_slowdown: of a run, over all plays. saved: share of the usual policy's mean slowdown, mean
    over the plays; low, high: in the worst and the best of them.
    """

    mean_slowdown: float
    saved: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether all plays agree: on a gain, or on a loss."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PastGains:
    """The results for the past, in mean slowdowns of a run.

    usual_slowdown: the first job goes to the node with the most room. nodes_chosen: the first job
    goes to the best node. ordered: the best job goes first, too. known: the share of meetings whose
    slowdown is known.
    """

    runs: int
    nodes: int
    places: int
    plays: int
    known: float
    usual_slowdown: float
    nodes_chosen: Gain
    ordered: Gain


def known_share(matrix: Matrix) -> float:
    """The share of meetings of two runs whose slowdown is known, if all meet as often as they run.

    Zero while fewer than LEAST_KINDS are separated.
    """
    apart = np.array([kind != OTHERS for kind in matrix.kinds])
    if apart.sum() < LEAST_KINDS:
        return 0.0
    met = np.outer(matrix.shares, matrix.shares)
    return float(met[matrix.known].sum() / met.sum())


def gains_of_past(
    runs: Sequence[PlacedRun], matrix: Matrix, plays: int = PLAYS
) -> PastGains | None:
    """Play the newest MOST_RUNS of runs, oldest first; None if the data cannot tell.

    Cost: three times ``plays`` plays of as many jobs.
    """
    known = known_share(matrix)
    queue = past_queue(runs, matrix)
    if known < LEAST_KNOWN or queue is None:
        return None
    slowdowns = [_mean_slowdowns(queue, seed) for seed in range(plays)]
    usual = [each[0] for each in slowdowns]
    return PastGains(
        runs=len(queue.jobs),
        nodes=queue.nodes,
        places=queue.places,
        plays=plays,
        known=known,
        usual_slowdown=statistics.fmean(usual),
        nodes_chosen=_gain(usual, [each[1] for each in slowdowns]),
        ordered=_gain(usual, [each[2] for each in slowdowns]),
    )


def past_queue(runs: Sequence[PlacedRun], matrix: Matrix) -> PastQueue | None:
    """The newest MOST_RUNS as a game; None if none of them ran long enough to tell."""
    told = [run for run in runs[-MOST_RUNS:] if run.encounter is not None]
    if not told:
        return None
    told.sort(key=_submitted_s)
    alone_s = defaultdict(list)
    for run in told:
        alone_s[matrix.place(run.kind)].append(_alone_s(run, matrix))
    kinds = range(len(matrix.kinds))
    counts = np.array([float(len(alone_s[kind])) for kind in kinds])
    unit_s = sum(statistics.median(each) * len(each) for each in alone_s.values() if each)
    unit_s /= len(told)
    work = [statistics.median(alone_s[kind]) / unit_s if alone_s[kind] else 1.0 for kind in kinds]
    first_s = _submitted_s(told[0])
    return PastQueue(
        world=World("the past", matrix.kinds, np.array(work), _bounded(matrix.believed)),
        theta=matrix.believed,
        deviation=matrix.deviation,
        shares=counts / counts.sum(),
        jobs=tuple(
            Job(matrix.place(run.kind), (_submitted_s(run) - first_s) / unit_s) for run in told
        ),
        nodes=_most_at_once(_stays_of_nodes(told)),
        places=min(MOST_PLACES, max(LEAST_PLACES, _most_on_a_node(told))),
        unit_s=unit_s,
    )


def _submitted_s(run: PlacedRun) -> float:
    return run.started_s if run.submitted_s is None else min(run.submitted_s, run.started_s)


def _alone_s(run: PlacedRun, matrix: Matrix) -> float:
    """Seconds that it would have taken alone, by the fitted slowdowns of its neighbours."""
    row = matrix.believed[matrix.place(run.kind)]
    slower = sum(count * float(row[matrix.place(kind)]) for kind, count in run.beside.items())
    bound = math.log(MOST_SLOWDOWN)
    return run.runtime_s / math.exp(max(-bound, min(bound, slower)))


def _stays_of_nodes(runs: Iterable[PlacedRun]) -> list[tuple[float, float]]:
    """From each node's first start to its last end: nodes of an autoscaler come and go."""
    stays: dict[str, tuple[float, float]] = {}
    for run in runs:
        first_s, last_s = stays.get(run.node, (math.inf, -math.inf))
        stays[run.node] = (min(first_s, run.started_s), max(last_s, run.finished_s))
    return list(stays.values())


def _most_on_a_node(runs: Iterable[PlacedRun]) -> int:
    by_node: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for run in runs:
        by_node[run.node].append((run.started_s, run.finished_s))
    return max(map(_most_at_once, by_node.values()))


def _most_at_once(stays: Iterable[tuple[float, float]]) -> int:
    """The most that overlap; one that begins as another ends does not overlap it."""
    steps = [step for start_s, end_s in stays for step in ((start_s, 1), (end_s, -1))]
    now = most = 0
    for _, step in sorted(steps):
        now += step
        most = max(most, now)
    return max(1, most)


def _bounded(theta: Array) -> Array:
    return np.clip(np.exp(theta), LEAST_SLOWDOWN, MOST_SLOWDOWN)


def _mean_slowdowns(queue: PastQueue, seed: int) -> tuple[float, float, float]:
    """For the usual policy, for choosing nodes, and for choosing the order, too."""
    drawn = np.random.default_rng(seed).normal(queue.theta, queue.deviation)
    world = World(queue.world.name, queue.world.kinds, queue.world.work, _bounded(drawn))
    believed = Truth(queue.world, queue.shares)

    def mean(policy: Policy, *, orders: bool) -> float:
        stage = Stage(queue.nodes, queue.places, orders=orders)
        played = play(world, queue.jobs, Chooser(policy, believed), stage, seed)
        return float(played.slowdowns.mean())

    return (
        mean(LeastLoaded(), orders=False),
        mean(GettingAlong(), orders=False),
        mean(GettingAlong(), orders=True),
    )


def _gain(usual: Sequence[float], other: Sequence[float]) -> Gain:
    saved = [1 - after / before for before, after in zip(usual, other, strict=True)]
    return Gain(statistics.fmean(other), statistics.fmean(saved), min(saved), max(saved))
