"""Controllers' forecasts, from their start to their end, and what may happen to runs meanwhile."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from plimsoll_operator.controller.hub.hub import Hub, ProfileOutdated, RanLong, RunEnded, RunStarted
from plimsoll_operator.controller.runtimes.runtimes import Runtimes
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import NewSighting, SightingKind, Store, Writer

TRAIN, JOIN, LAB = TaskId("shop", "train"), TaskId("shop", "join"), TaskId("lab", "train")
NOON_S = 1_700_000_000.0


@dataclass(slots=True)
class Heard:
    """What the hub published, in order."""

    began: list[str] = field(default_factory=list)
    shares: dict[str, float | None] = field(default_factory=dict)
    tasks: list[TaskId | None] = field(default_factory=list)

    def listen(self, hub: Hub) -> None:
        hub.subscribe(RunStarted, lambda event: self.began.append(event.attempt_uid))
        hub.subscribe(RunEnded, self._ended)
        hub.subscribe(ProfileOutdated, lambda event: self.tasks.append(event.task))

    def _ended(self, event: RunEnded) -> None:
        self.shares[event.attempt_uid] = event.share


@dataclass(slots=True)
class Life:
    """One controller's forecasts, from its start to its end."""

    runtimes: Runtimes
    store: Store
    heard: Heard
    hub: Hub

    def submitted(self, uid: str, task: TaskId = TRAIN, at_s: float = NOON_S) -> None:
        self._saw(uid, task, SightingKind.SUBMITTED, at_s)

    def started(self, uid: str, task: TaskId = TRAIN, at_s: float = NOON_S) -> None:
        self._saw(uid, task, SightingKind.STARTED, at_s)

    def state(self) -> dict[str, Any]:
        """The state in memory, byte for byte."""
        folding = self.runtimes._folding
        state = folding.forecaster.state
        return {
            "shared": state.shared(),
            "tasks": {task: state.task(task) for task in sorted(self.runtimes._used)},
            "owners": {owner: state.owner(owner) for owner in sorted(self.runtimes._owners)},
            "runs": {uid: state.run(uid) for uid in sorted(folding.under_way)},
        }

    def _saw(self, uid: str, task: TaskId, kind: SightingKind, at_s: float) -> None:
        seen = NewSighting(task=task, kind=kind, attempt_uid=uid, at_s=at_s)
        self.store.keep(seen=[seen])

    def ended(self, *observations: Observation) -> None:
        self.store.observations.record(observations)

    async def ran(self, runs: int, runtime_s: float = 60.0, task: TaskId = TRAIN) -> None:
        """Runs one after another, each seen from its submission to its end."""
        first = self.runtimes.through
        for number in range(runs):
            uid, at_s = f"{task}-{first}-{number}", NOON_S + first + 100 * number
            self.submitted(uid, task, at_s)
            self.started(uid, task, at_s + 1)
            self.ended(a_run(uid, runtime_s + number % 5, task=task, at_s=at_s + 1))
        await self.runtimes.fold()


@asynccontextmanager
async def a_life(folder: Path, **settings: int) -> AsyncIterator[Life]:
    """A life that ends as with kill -9, unless the test closes it: nothing is saved."""
    store = Store.open(f"sqlite:///{folder}/store.db", clock=lambda: NOON_S)
    writer, heard, hub = Writer(store), Heard(), Hub()
    heard.listen(hub)
    runtimes = Runtimes(store, writer, hub, **settings)
    hub.subscribe(RanLong, runtimes.ran_long)
    await runtimes.restore()
    try:
        yield Life(runtimes, store, heard, hub)
    finally:
        await writer.close()
        store.close()


def a_run(
    uid: str, runtime_s: float = 60.0, *, task: TaskId = TRAIN, at_s: float = NOON_S
) -> Observation:
    """A run that succeeded. at_s: when it started."""
    return Observation(
        attempt_uid=uid,
        task=task,
        run=f"run-of-{uid}",
        outcome=Outcome.SUCCEEDED,
        started_s=at_s,
        finished_s=at_s + runtime_s,
    )


Step = Callable[[Life], None]


def steps(seed: int, n: int = 80) -> Iterator[Step]:
    """What may happen to three tasks' runs: they wait, run, end, are killed, are seen twice."""
    chance = random.Random(seed)
    waiting: list[tuple[str, TaskId]] = []
    running: list[tuple[str, TaskId]] = []
    for number in range(n):
        at_s = NOON_S + 40.0 * number + chance.uniform(0, 30)
        what = chance.choice(("submit", "submit", "start", "start", "end", "end", "kill", "odd"))
        task = chance.choice((TRAIN, JOIN, LAB))
        if what == "start" and waiting:
            running.append(waiting.pop(0))
            yield _step(Life.started, *running[-1], at_s)
        elif what == "end" and running:
            uid, task = running.pop(chance.randrange(len(running)))
            yield _end(a_run(uid, chance.lognormvariate(4, 0.5), task=task, at_s=at_s))
        elif what == "kill" and (waiting or running):
            uid, task = (running or waiting).pop()
            gone = replace(a_run(uid, task=task, at_s=at_s), outcome=Outcome.OOM_KILLED)
            yield _end(gone)
        elif what == "odd":
            yield _odd(chance, number, at_s, waiting + running)
        else:
            waiting.append((f"u{number}", task))
            yield _step(Life.submitted, *waiting[-1], at_s)


def _odd(
    chance: random.Random, number: int, at_s: float, under_way: Sequence[tuple[str, TaskId]]
) -> Step:
    """A run seen only at its end, an amended end, or one seen again as after a restart."""
    if under_way and chance.random() < 0.5:
        return _step(Life.submitted, *chance.choice(under_way), at_s)
    run = a_run(f"odd{number}", 50.0, at_s=at_s)
    if chance.random() < 0.5:
        return _twice(replace(run, outcome=Outcome.DELETED), run)
    return _end(run, run)


def _twice(before: Observation, after: Observation) -> Step:
    def step(life: Life) -> None:
        life.ended(before)
        life.ended(after)

    return step


def _step(method: Callable[[Life, str, TaskId, float], None], *args: object) -> Step:
    return lambda life: method(life, *args)  # type: ignore[arg-type]


def _end(*observations: Observation) -> Step:
    return lambda life: life.ended(*observations)


async def take(life: Life, happening: Sequence[Step]) -> None:
    """Each is folded before the next happens."""
    for step in happening:
        step(life)
        await life.runtimes.fold()


async def state_of(life: Life) -> dict[str, Any]:
    """All knowledge, byte for byte, in memory or not."""
    for task in life.store.totals.tasks():
        await life.runtimes.forecast(task, NOON_S)
    return life.state()
