"""The forecasts of every task's runs: learned from sightings, saved and restored.

The store keeps a log of sightings (see its sightings.py); what the forecaster knows is a fold
over it, as the experts' standings are over lessons:

    pod seen, started, ended ─► its sighting committed ─► folded here ─► status, Events, metrics
                                                           └─► now and then: state saved,
                                                               folded sightings forgotten
A crash loses nothing: the next start restores the saved state and folds what follows it, and so
comes to the same state. While it lives, this is the only one that folds. A backlog, such as an
older store's past, is folded beside all else.

Memory: some 4 kB a task and 10 kB a run under way. The tasks that were seen last are held, and
those with runs under way; the others are read again when they are needed.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

import structlog

from plimsoll_operator.attempts.running_long import RunForecast
from plimsoll_operator.controller.hub.habits import SAVE_EVERY_S, Turns, fold_and_save
from plimsoll_operator.controller.hub.hub import Hub, ProfileOutdated, RanLong
from plimsoll_operator.controller.runtimes.runtimes_folding import Folding
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.store import SightingKind, Store, StoreError, Writer
from plimsoll_predictor.store.learned.runtimes import restore_part

log = structlog.get_logger()

HELD_TASKS: Final = 2_000


class Runtimes:
    """One per controller. ``news`` never waits."""

    def __init__(
        self, store: Store, writer: Writer, hub: Hub, *, held_tasks: int = HELD_TASKS
    ) -> None:
        self._records = store.runtimes
        self._writer = writer
        self._hub = hub
        self._held_tasks = held_tasks
        self._folding = Folding(hub)
        self._used: OrderedDict[str, None] = OrderedDict()
        """Held tasks, the one that was seen last at the end."""
        self._owners: set[str] = set()
        """Held; namespaces are few, beside tasks."""
        self._through = 0
        """Serial of the last sighting folded."""
        self._saved_through = {0}
        """Of the last that was saved; and of those that may have been, where nobody heard."""
        self._news = asyncio.Event()
        self._lock = asyncio.Lock()

    @property
    def through(self) -> int:
        """Serial of the last sighting folded."""
        return self._through

    def flying(self, run: str) -> RunForecast | None:
        """Return the forecast of a run under way; None for any other run."""
        return self._folding.flying.get(run)

    def ran_long(self, event: RanLong) -> None:
        """People are told of the run once, and not again after a restart."""
        self._folding.ran_long(event.attempt_uid, event.at_s)

    async def forecast(self, task: TaskId, at_s: float) -> Forecast | None:
        """Forecast a run submitted then; None while no run of the task is known."""
        async with self._lock:
            await self._hold([str(task)])
            found = self._folding.forecaster.forecast(str(task), task.namespace, at_s)
        return found if found.known_runs else None

    def news(self) -> None:
        """Something was committed that may teach."""
        self._news.set()

    async def restore(self) -> None:
        """Take up what was saved; what became known since is folded by ``run``."""
        async with self._lock:
            read = self._writer.read
            shared = await self._shared()
            self._folding.end_all()
            self._folding = Folding(self._hub)
            self._used.clear()
            self._owners.clear()
            self._through = await read(self._records.through)
            self._saved_through = {self._through}
            if shared is not None:
                self._folding.forecaster.state.restore_shared(shared)
            in_flight = await read(self._records.open_forecasts)
            await self._hold({str(each.task) for each in in_flight})
            turns = Turns()
            for each in in_flight:
                self._folding.take_up(each)
                await turns.rest()
        self._news.set()

    async def fold(self) -> None:
        """Learn all that became known."""
        saved_s = time.monotonic()
        while await self._fold_some():
            if time.monotonic() - saved_s > SAVE_EVERY_S:
                # A long backlog is saved in parts, so that tasks can be let go of meanwhile.
                await self.save()
                saved_s = time.monotonic()

    async def save(self) -> None:
        """Save what changed, as of the last sighting folded.

        If another controller saved meanwhile (two led for a moment), its state is restored.
        """
        async with self._lock:
            if self._saved_through == {self._through} and not self._folding.touched:
                return
            follows = frozenset(self._saved_through)
            self._saved_through.add(self._through)
            changes = await self._folding.changes(self._through, Turns().rest)
            if await self._writer.call(self._records.save, changes, follows):
                self._saved_through = {self._through}
                self._folding.saved()
                self._let_go()
                return
        log.warning("another controller saved forecasts meanwhile; taking up what it saved")
        await self.restore()

    async def run(self) -> None:
        """Fold what comes and save it now and then, until cancelled."""
        await fold_and_save(self, self._news)

    async def close(self) -> None:
        """Save what was folded; the rest is folded at the next start."""
        try:
            await self.save()
        except StoreError as error:
            log.warning("forecasts are not saved; the next start learns again", error=str(error))

    async def forget_all_but(self, stored: Collection[TaskId]) -> None:
        """Forget the tasks that the store has forgotten; they are forgotten there already."""
        names = {str(task) for task in stored}
        async with self._lock:
            for task in [each for each in self._used if each not in names]:
                if not self._folding.in_flight[task]:
                    self._folding.forecaster.forget(task)
                    del self._used[task]

    def to_dict(self) -> dict[str, Any]:
        """The state in memory, byte for byte."""
        state = self._folding.forecaster.state
        return {
            "shared": state.shared(),
            "tasks": {task: state.task(task) for task in sorted(self._used)},
            "owners": {owner: state.owner(owner) for owner in sorted(self._owners)},
            "kept": {run: state.run(run) for run in sorted(self._folding.flying)},
        }

    async def _shared(self) -> bytes | None:
        """The shared state; where this version cannot read it, nothing of the state is of use."""
        shared = await self._writer.read(self._records.shared_state)
        if shared is None or restore_part(
            "shared state", shared, Forecaster().state.restore_shared
        ):
            return shared
        log.warning("what was learned of runtimes is learned anew from the observations")
        await self._writer.call(self._records.begin_anew)
        return None

    async def _fold_some(self) -> bool:
        async with self._lock:
            seen = await self._writer.read(self._records.sightings, self._through)
            await self._hold({str(each.task) for each in seen})
            turns = Turns()
            for sighting in seen:
                self._folding.fold(sighting)
                self._through = sighting.serial
                await turns.rest()
        for task in {each.task for each in seen if each.kind is SightingKind.FINISHED}:
            self._hub.publish(ProfileOutdated(task))
        return bool(seen)

    async def _hold(self, tasks: Iterable[str]) -> None:
        """Take up what was saved of tasks and of their owners, unless it is held."""
        names, read, state = sorted(tasks), self._writer.read, self._folding.forecaster.state
        owners = sorted({name.partition("/")[0] for name in names} - self._owners)
        if owners:
            saved = await read(self._records.owner_states, owners)
            for owner, data in saved.items():
                restore_part(f"owner {owner}", data, _taking(state.restore_owner, owner))
            self._owners.update(owners)
        missing = [name for name in names if name not in self._used]
        if missing:
            saved = await read(self._records.task_states, missing)
            for name, data in saved.items():
                restore_part(f"task {name}", data, _taking(state.restore_task, name))
        for name in names:
            self._used[name] = None
            self._used.move_to_end(name)

    def _let_go(self) -> None:
        """Let go of saved tasks beyond the limit, but not of those with runs under way."""
        beyond = max(0, len(self._used) - self._held_tasks)
        idle = [task for task in self._used if not self._folding.in_flight[task]][:beyond]
        self._folding.let_go(idle)
        for task in idle:
            del self._used[task]


def _taking(take_up: Callable[[str, bytes], None], name: str) -> Callable[[bytes], None]:
    return lambda state: take_up(name, state)
