"""Controllers' experts, from their start to their end, and what may happen to them meanwhile."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER, MAX_SEEN
from plimsoll_predictor.store import DecisionRecord, Store, Writer
from plimsoll_predictor.training.out_of_time import OutOfTimeCost
from tests.builders.controller.books import Books, books
from tests.builders.experts.serving import a_model

TRAIN, JOIN = TaskId("shop", "train-demand"), TaskId("shop", "join-sales")
NOON_S = 1_700_000_000.0


@dataclass(slots=True)
class Life:
    """One controller's experts, from its start to its end."""

    standings: Standings
    book: TaskBook
    store: Store
    books: Books

    async def decided(self, uid: str, task: TaskId = TRAIN, **features: float) -> dict[str, float]:
        """See a pod for the first time; returns the bids for it."""
        bids = await self.standings.bids(task, 4 * GIB, features)
        decision = DecisionRecord(
            task=task,
            attempt_uid=uid,
            at_s=NOON_S,
            words="a test",
            allocation_bytes=None,
            request_bytes=4 * GIB,
            reason="kept",
            bids=bids,
        )
        self.store.keep(decided=[decision])
        return dict(bids)

    def state(self) -> dict[str, Any]:
        """The state in memory, as plain JSON types."""
        experts = self.standings._experts
        return {
            "pools": {name: pool.to_dict() for name, pool in experts.pools.items()},
            "standings": {task: experts.standing(task).to_dict() for task in experts},
        }

    async def ended(self, *observations: Observation) -> None:
        self.store.observations.record(observations)
        await self.standings.fold()

    async def ran(self, *needs_mib: float, task: TaskId = TRAIN) -> None:
        """Runs one after another, each decided before it ended."""
        for need_mib in needs_mib:
            uid = f"{task}-{self.standings.through}"
            await self.decided(uid, task)
            await self.ended(a_run(uid, need_mib, task=task))


@asynccontextmanager
async def a_life(folder: Path, **settings: int) -> AsyncIterator[Life]:
    """A life that ends as with kill -9, unless the test closes it: nothing is saved."""
    store = Store.open(f"sqlite:///{folder}/store.db", clock=lambda: NOON_S)
    writer = Writer(store)
    made = books(Policy(mode=Mode.ENFORCE))
    standings = Standings(store, writer, made.book, ControllerMetrics().restart_seconds, **settings)
    await standings.restore()
    try:
        yield Life(standings, made.book, store, made)
    finally:
        await writer.close()
        store.close()


def a_run(uid: str, need_mib: float | None = 300, *, task: TaskId = TRAIN) -> Observation:
    """A run that succeeded after ten minutes."""
    return Observation(
        attempt_uid=uid,
        task=task,
        run=f"run-of-{uid}",
        outcome=Outcome.SUCCEEDED,
        request_bytes=4 * GIB,
        allocation_bytes=4 * GIB,
        peak_bytes=None if need_mib is None else round(need_mib * MIB),
        image="train:1",
        started_s=NOON_S,
        finished_s=NOON_S + 600,
    )


def killed(uid: str, run: str, allocation_mib: float) -> Observation:
    return replace(
        a_run(uid),
        run=run,
        outcome=Outcome.OOM_KILLED,
        peak_bytes=None,
        allocation_bytes=round(allocation_mib * MIB),
    )


def following(attempt: Observation, first: Observation, restart_s: float) -> Observation:
    """The second attempt of a run; it started that long after the first had ended."""
    started_s = (first.finished_s or NOON_S) + restart_s
    return replace(attempt, attempt=2, started_s=started_s, finished_s=started_s + 600)


def failed(attempt: Observation, limit_mib: float) -> Observation:
    """An attempt that failed by itself under that limit; its author wrote 4Gi."""
    return replace(
        attempt,
        outcome=Outcome.FAILED,
        exit_code=1,
        allocation_bytes=round(limit_mib * MIB),
        written_limit_bytes=4 * GIB,
    )


Step = Callable[[Life], object]


def steps(seed: int, n: int = 60, *, trainings: bool = True) -> Iterator[Step]:
    """What may happen to two tasks: runs, kills, peaks that come late or twice, trainings."""
    chance = random.Random(seed)
    late: list[Observation] = []
    for number in range(n):
        task = chance.choice((TRAIN, JOIN))
        rows = chance.uniform(1, 9)
        need_mib = 100 * rows * chance.uniform(0.9, 1.2)
        what = chance.choice(
            ("ends", "ends", "ends", "killed first", "fails first", "unmeasured", "late", "model")
        )
        run = replace(a_run(f"u{number}", need_mib, task=task), features={"rows": rows})
        if what == "unmeasured":
            late.append(run)
            yield _seen_and_recorded(replace(run, peak_bytes=None))
        elif what == "late" and late:
            yield _recorded(late[0], late.pop(0))
        elif what == "killed first":
            first = replace(killed(f"k{number}", run.run, need_mib / 2), task=task)
            yield _seen_and_recorded(replace(first, features=run.features))
            yield _seen_and_recorded(following(run, first, chance.uniform(0, 90)))
        elif what == "fails first":
            first = replace(run, attempt_uid=f"f{number}", peak_bytes=None)
            yield _seen_and_recorded(failed(first, need_mib / 2))
            again = failed(run, 4096) if chance.random() < 0.3 else run
            yield _seen_and_recorded(replace(again, attempt=2, peak_bytes=run.peak_bytes))
        elif what == "model" and trainings:
            yield _trained(task, chance.uniform(0.3, 3.0))
        else:
            yield _seen_and_recorded(run)


def _seen_and_recorded(observation: Observation) -> Step:
    async def step(life: Life) -> None:
        rows = observation.features["rows"]
        assert isinstance(rows, float)
        await life.decided(observation.attempt_uid, observation.task, rows=rows)
        life.store.observations.record([observation])

    return step


def _recorded(*observations: Observation) -> Step:
    return lambda life: life.store.observations.record(observations)


def _trained(task: TaskId, times: float) -> Step:
    costs = costs_of({MAX_SEEN: 1.0, CLASSIFIER: times})
    return lambda life: life.store.models.save(task, a_model(600), {}, out_of_time_costs=costs)


def costs_of(costs_gb_h: Mapping[str, float]) -> dict[str, OutOfTimeCost]:
    """What a training measured."""
    return {
        name: OutOfTimeCost(cost_gb_h=cost_gb_h, failed_attempts=0)
        for name, cost_gb_h in costs_gb_h.items()
    }


async def take(life: Life, happening: Sequence[Step]) -> None:
    """Each is learned before the next happens."""
    for step in happening:
        done = step(life)
        if asyncio.iscoroutine(done):
            await done
        await life.standings.fold()
