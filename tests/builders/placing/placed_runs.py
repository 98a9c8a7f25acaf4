"""Finished runs of a world whose kinds slow each other, as the store would give them."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.replay.placing.world import World, synthetic_world
from plimsoll_predictor.store import ForecastScore, Store
from plimsoll_predictor.store.learned.runtimes import UnsavedRuntimes

BEGAN_S = 1_790_000_000.0
MEAN_S = 600.0


def four_kinds() -> World:
    """Two kinds that fight for a core, one that uses it half of the time, and one that waits."""
    kinds = ("team/cpu", "team/mem", "team/mixed", "team/wait")
    slowdowns = [
        [1.92, 1.91, 1.42, 1.1],
        [1.94, 1.91, 1.6, 1.19],
        [1.5, 1.5, 1.2, 1.05],
        [1.03] * 4,
    ]
    return World("four", kinds, np.array([1.0, 1.2, 0.8, 1.0]), np.array(slowdowns))


def a_shop() -> World:
    """Fourteen kinds that use three things, as tasks of a shop may do."""
    verbs = ("train", "join", "score", "clean", "index", "rank", "merge")
    drawn = synthetic_world(seed=1, kinds=2 * len(verbs))
    names = tuple(f"shop/{verb}-{noun}" for noun in ("sales", "clicks") for verb in verbs)
    return World("shop", names, drawn.work, drawn.slowdowns)


@dataclass(slots=True)
class _Running:
    kind: int
    submitted_s: float
    started_s: float
    left_s: float
    noise: float
    beside_s: dict[int, float] = field(default_factory=dict)


@dataclass(slots=True)
class Lived:
    """A world that lives: jobs come in a queue, and the first goes where there is most room.

    load: incoming work divided by all places' time; if all places are always taken, no run is
        ever seen alone, and little can be learned. noise: that of a run's ln runtime.
    """

    world: World
    seed: int
    nodes: int = 4
    places: int = 2
    load: float = 0.6
    noise: float = 0.05

    def runs(self, count: int) -> list[PlacedRun]:
        """The first ``count`` runs that end, in that order."""
        draw = random.Random(self.seed)
        apart_s = MEAN_S / (self.load * self.nodes * self.places)
        coming, now_s = BEGAN_S, BEGAN_S
        queue: deque[tuple[int, float]] = deque()
        running: list[list[_Running]] = [[] for _ in range(self.nodes)]
        ended: list[PlacedRun] = []
        while len(ended) < count:
            ends = [
                (run.left_s * self._slow(node, run), index, place)
                for index, node in enumerate(running)
                for place, run in enumerate(node)
            ]
            until_end = heapq.nsmallest(1, ends)
            passed_s = min([coming - now_s, *(each[0] for each in until_end)])
            for node in running:
                self._go_on(node, passed_s)
            now_s += passed_s
            if now_s >= coming:
                queue.append((draw.randrange(len(self.world.kinds)), coming))
                coming = now_s + draw.expovariate(1 / apart_s)
            else:
                _, index, place = until_end[0]
                ended.append(self._ended(running[index].pop(place), index, now_s))
            free = [node for node in running if len(node) < self.places]
            while queue and free:
                node = min(free, key=lambda each: (len(each), draw.random()))
                kind, submitted_s = queue.popleft()
                noise = draw.gauss(0.0, self.noise)
                work_s = float(self.world.work[kind]) * MEAN_S * float(np.exp(noise))
                node.append(_Running(kind, submitted_s, now_s, work_s, noise))
                free = [each for each in running if len(each) < self.places]
        return ended

    def _slow(self, node: list[_Running], run: _Running) -> float:
        others = [other.kind for other in node if other is not run]
        return float(np.prod(self.world.slowdowns[run.kind, others])) if others else 1.0

    def _go_on(self, node: list[_Running], passed_s: float) -> None:
        for run in node:
            run.left_s -= passed_s / self._slow(node, run)
            for other in node:
                if other is not run:
                    run.beside_s[other.kind] = run.beside_s.get(other.kind, 0.0) + passed_s

    def _ended(self, run: _Running, node: int, now_s: float) -> PlacedRun:
        ran_s = max(now_s - run.started_s, 1e-9)
        return PlacedRun(
            kind=self.world.kinds[run.kind],
            node=f"node-{node}",
            submitted_s=run.submitted_s,
            started_s=run.started_s,
            finished_s=now_s,
            forecast_s=float(self.world.work[run.kind]) * MEAN_S,
            beside={
                self.world.kinds[kind]: beside_s / ran_s for kind, beside_s in run.beside_s.items()
            },
        )


def placed_runs(count: int, seed: int = 0, world: World | None = None) -> list[PlacedRun]:
    """Runs of four kinds on four nodes of two places."""
    return Lived(four_kinds() if world is None else world, seed).runs(count)


def keep(store: Store, runs: Sequence[PlacedRun]) -> None:
    """Store runs as the controller does: first observations, then forecasts."""
    names = [f"placed-{place}" for place in range(len(runs))]
    store.observations.record(
        [
            Observation(
                attempt_uid=name,
                task=TaskId.parse(run.kind),
                run=name,
                outcome=Outcome.SUCCEEDED,
                submitted_s=run.submitted_s,
                started_s=run.started_s,
                finished_s=run.finished_s,
                node=run.node,
                beside=dict(run.beside),
            )
            for name, run in zip(names, runs, strict=True)
        ]
    )
    forecasts = {
        name: ForecastScore(0.5, run.forecast_s) for name, run in zip(names, runs, strict=True)
    }
    through = store.runtimes.through()
    unsaved = UnsavedRuntimes(through=through + len(runs), scores=forecasts)
    assert store.runtimes.save(unsaved, {through})
