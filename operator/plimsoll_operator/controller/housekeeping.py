"""Keeps store and memory equal: at a start, after an import, and when old rows go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.profiles.profiles import MetTasks, ProfileKeeper
from plimsoll_operator.controller.runtimes.runtimes import Runtimes
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.item_needs import ItemNeeds
from plimsoll_operator.controller.trainings import Learning
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.store import SavedModel, Store, TaskSummary, Writer

PRUNE_EVERY_S: Final = 3600.0
REFRESH_EVERY_S: Final = 10.0
"""How often the store is asked for tasks that others (an import) put something into."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The store's knowledge of one task at the start."""

    summary: TaskSummary
    saved: SavedModel | None
    lifts: Mapping[str, Lift]
    cpu: CpuUse | None


def remember_all(store: Store) -> dict[TaskId, Remembered]:
    """Read what the store knows of all tasks, in a handful of queries, whatever their number."""
    lifts, cpus, saved = (
        store.lifts.waiting(),
        store.totals.cpu_uses(),
        dict(store.models.serving()),
    )
    return {
        task: Remembered(summary, saved.get(task), lifts.get(task, {}), cpus.get(task))
        for task, summary in store.totals.by_task().items()
    }


@dataclass(slots=True, kw_only=True)
class Housekeeping:
    """Restores what the store knows, and forgets what the store has forgotten."""

    store: Store
    writer: Writer
    book: TaskBook
    items: ItemNeeds
    standings: Standings
    runtimes: Runtimes
    learning: Learning
    met_tasks: MetTasks
    profiles: ProfileKeeper
    now_s: Callable[[], float]
    _imported: int = field(init=False, default=0)

    async def take_up(self) -> None:
        """Know what the store knows, as at a start."""
        # This is asked first: an import that comes meanwhile is read twice then, but never missed.
        self._imported = (await self.writer.read(self.store.observations.imported, 0)).serial
        await self.writer.call(self.store.totals.mend)
        for task, remembered in (await self.writer.read(remember_all, self.store)).items():
            self._take_up(task, remembered)
        self.items.restore(await self.writer.read(self.store.observations.item_needs))
        await self.standings.restore()
        await self.runtimes.restore()

    async def run(self) -> None:
        """Meet without a restart what an import put into the store; let old rows go."""
        loop = asyncio.get_running_loop()
        pruned_s = loop.time()
        while True:
            await asyncio.sleep(REFRESH_EVERY_S)
            await self._look_for_imports()
            if loop.time() - pruned_s > PRUNE_EVERY_S:
                pruned_s = loop.time()
                await self._prune()

    def _take_up(self, task: TaskId, remembered: Remembered) -> None:
        saved = remembered.saved
        self.book.restore(
            Knowledge(
                task=task,
                policy=Policy(),
                runs=remembered.summary.runs_known,
                max_need_bytes=remembered.summary.max_need_bytes,
                model=saved.model if saved else None,
                lifts=remembered.lifts,
                cpu=remembered.cpu,
            )
        )
        self.learning.restore(remembered.summary, saved)
        self.learning.consider(task)
        self.profiles.mark(task, after_s=0.0)

    async def _look_for_imports(self) -> None:
        imported = await self.writer.read(self.store.observations.imported, self._imported)
        if imported.tasks:
            # The call queues behind all writes: no need that is learned meanwhile is lost.
            self.items.restore(await self.writer.call(self.store.observations.item_needs))
            await self.standings.fold()
        for task in imported.tasks:
            # The call queues behind all writes: whatever was recorded before it is in the sum.
            summary = await self.writer.call(self.store.totals.of, task)
            self.book.add_up(task, summary.runs_known, summary.max_need_bytes)
            self.learning.consider(task)
            self.profiles.mark(task)
        if imported.tasks:
            self.standings.news()
            self.runtimes.news()
        self._imported = imported.serial

    async def _prune(self) -> None:
        steps = self.store.prune_steps(self.now_s())
        # Steps run one by one, so that other writes come in between.
        while await self.writer.call(next, steps, None) is not None:
            continue
        self.book.drop_lifts_except(await self.writer.call(self.store.lifts.waiting))
        stored = await self.writer.call(self.store.totals.tasks)
        self.standings.forget_all_but(stored)
        await self.runtimes.forget_all_but(stored)
        for task in self.met_tasks.idle(stored):
            self.book.forget(task)
            self.profiles.forget(task)
            await self.profiles.remove(task)
