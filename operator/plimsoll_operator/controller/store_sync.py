"""Keeps the controller's memory equal to the store, which other processes write to as well.

``plimsoll import`` and ``plimsoll forget`` leave a mark for each task that they touch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from plimsoll_operator.controller.hub.habits import read_patiently
from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.profiles.profiles import MetTasks, TaskProfiles
from plimsoll_operator.controller.restoring import Remembered, remember_all
from plimsoll_operator.controller.runtimes.runtimes import Runtimes
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.publishing_item_needs import ItemNeeds
from plimsoll_operator.controller.trainings import Trainings
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, StoreError, Writer

log = structlog.get_logger()

PRUNE_EVERY_S: Final = 3600.0
REFRESH_EVERY_S: Final = 10.0
"""How often the store is asked for tasks that another process (an import) has written to."""
FIRST_PRUNED_AFTER_S: Final = 600.0
"""How long after its start a controller prunes first: all pods were seen by then, and one that is
started again every hour prunes, too."""


@dataclass(slots=True, kw_only=True)
class StoreSync:
    """Belongs to one event loop. now_s: Unix seconds."""

    store: Store
    writer: Writer
    book: TaskBook
    items: ItemNeeds
    profiles: TaskProfiles
    met_tasks: MetTasks
    trainings: Trainings
    standings: Standings
    runtimes: Runtimes
    now_s: Callable[[], float]
    _imported: int = field(init=False, default=0)
    """The latest mark that was looked at."""
    _items_due: bool = field(init=False, default=False)
    """Whether the needs of items could not be read when they were to be."""
    _prune_at_s: float | None = field(init=False, default=None)
    """When it prunes next, by the loop's clock; None before its start."""

    async def begin(self) -> dict[TaskId, Remembered]:
        """Forget what people had the store forget, and return what it knows of the other tasks."""
        # Read first: an import that comes meanwhile is then read twice, but never missed.
        imported = await self.writer.read(self.store.observations.imported, 0)
        self._imported = imported.serial
        await self.writer.call(_mend, self.store)
        for task in imported.forgotten:
            await self.writer.call(self.store.unlearn, task)
        known = await self.writer.read(remember_all, self.store)
        await self._erase_again([task for task in imported.tasks if task not in known])
        return known

    async def run(self) -> None:
        """Learn what imports put into the store, and prune old rows, until cancelled."""
        loop = asyncio.get_running_loop()
        # Kept from before an interruption: a store in trouble must not put it off again and again.
        if self._prune_at_s is None:
            self._prune_at_s = loop.time() + FIRST_PRUNED_AFTER_S
        while True:
            await asyncio.sleep(REFRESH_EVERY_S)
            if loop.time() >= self._prune_at_s:
                self._prune_at_s = loop.time() + PRUNE_EVERY_S
                await self.prune()
            await self.look_for_imports()

    async def look_for_imports(self) -> None:
        """Learn, or forget, what other processes have written since the latest look."""
        look = self.store.observations.imported
        imported = await read_patiently(self.writer, look, self._imported)
        for task in imported.forgotten:
            # It may have run, or been given a past, since people forgot it.
            # Forecasts come first: a save of theirs that began earlier must not come after the
            # rest, which deletes what is saved, and then the mark.
            await self.runtimes.forget(task)
            await self.standings.forget(task)
            self.book.forget(task)
            await self._lift_again(task)
        if imported.tasks or self._items_due:
            await self.look_for_items()
        if imported.tasks:
            await self.standings.fold()
        for task in imported.tasks:
            if self.book.policies.leave_alone(task.namespace):
                continue
            # The call queues behind all writes, so all that was recorded before is in the sum.
            summary = await self.writer.call(self.store.totals.of, task)
            if not summary.observations:
                await self._forget(task)
                continue
            # The book counts all runs, and the store forgets the oldest.
            forgotten = max(0, self.book.look(task).runs - summary.runs_known)
            self.book.add_up(task, summary.runs_known, summary.max_need_bytes)
            self.trainings.runs_forgotten(task, forgotten)
            self.trainings.consider(task)
            self.profiles.mark(task)
        if imported.tasks:
            self.standings.news()
            self.runtimes.news()
        self._imported = imported.serial

    async def look_for_items(self) -> None:
        """Learn the needs of items from the store, or at the next look if they cannot be read."""
        read = partial(self.writer.read, self.store.observations.item_needs)
        self._items_due = True
        try:
            await self.items.read_anew(read)
        except StoreError as error:
            log.warning("needs of items cannot be read, trying again later", error=str(error))
        else:
            self._items_due = False

    async def prune(self) -> None:
        """Delete old rows, and forget the tasks that are idle."""
        steps = self.store.prune_steps(self.now_s(), noticed=self._imported)
        # Each step is its own call, so that other writes come in between.
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

    async def _lift_again(self, task: TaskId) -> None:
        """Note the lifts made since people forgot the task: the attempts that they are for come."""
        lifts = await self.writer.call(self.store.lifts.of_task, task)
        if not self.book.policies.leave_alone(task.namespace):
            for run, lift in lifts.items():
                self.book.lift(task, run, lift)

    async def _forget(self, task: TaskId) -> None:
        """Forget a task at people's request; what they wrote into its profile still holds."""
        stored = await self.writer.call(self.store.totals.tasks)
        self.standings.forget_all_but(stored)
        await self.runtimes.forget(task)
        self.book.forget(task)
        self.profiles.forget(task)
        # What was still in memory may have been saved meanwhile, so it is erased again.
        await self.writer.call(self.store.erase, task)
        if self.book.policies.has_own(task):
            self.book.get(task)
            self.profiles.mark(task)
        else:
            await self.profiles.remove(task, least_age_s=0.0)
        log.info("forgotten, as people asked", task=str(task))

    async def _erase_again(self, forgotten: list[TaskId]) -> None:
        """Erase what another controller, which ended before it noticed, saved of these tasks."""
        names = [str(task) for task in forgotten]
        saved = {
            *await self.writer.read(self.store.experts.standings_of, names),
            *await self.writer.read(self.store.runtimes.task_states, names),
        }
        for name in sorted(saved):
            await self.writer.call(self.store.erase, TaskId.parse(name))


def _mend(store: Store) -> None:
    """Mend sums if the store can do it now: a writer that tried again would wait without end."""
    try:
        store.totals.mend()
    except StoreError as error:
        log.warning("the sums that an older version wrote stay as they are", error=str(error))
