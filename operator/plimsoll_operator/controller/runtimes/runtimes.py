"""Forecasts every task's runs: the forecaster learns from sightings, and is saved and restored.

The store keeps a log of sightings (see its sightings.py); what the forecaster knows is a fold over
it (see ``learning/log_fold``), and shows in profiles' statuses, Events and metrics. A backlog, such
as an older store's past, is folded in the background.

Memory: some 4 kB a task and 10 kB a run under way. Tasks with runs under way are always held.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from plimsoll_operator.attempts.running_long import RunForecast
from plimsoll_operator.controller.hub.habits import Turns
from plimsoll_operator.controller.hub.hub import Hub, ProfileOutdated, RanLong
from plimsoll_operator.controller.learning.log_fold import LogFold
from plimsoll_operator.controller.runtimes.runtimes_folding import Folding
from plimsoll_predictor.core.task import TaskId, namespace_of
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.store import SightingKind, Store, Writer
from plimsoll_predictor.store.learned.feature_experts import read_expert
from plimsoll_predictor.store.learned.runtimes import restore_part

log = structlog.get_logger()

HELD_TASKS: Final = 2_000


class Runtimes(LogFold):
    """The forecaster of one controller, as a fold over the log of sightings."""

    of = "forecasts"

    def __init__(
        self, store: Store, writer: Writer, hub: Hub, *, held_tasks: int = HELD_TASKS
    ) -> None:
        super().__init__(writer, held_tasks)
        self._records = store.runtimes
        self._features = store.features
        self._hub = hub
        self._folding = Folding(hub)
        self._newly_fitted = False
        """Whether an expert was fitted that does not serve yet."""
        self._owners: set[str] = set()
        """Namespaces that are held; they are few, beside tasks."""

    def under_way(self, attempt_uid: str) -> RunForecast | None:
        """Return the forecast of a run under way; None for any other run."""
        return self._folding.under_way.get(attempt_uid)

    def all_under_way(self) -> Mapping[str, RunForecast]:
        """Return a copy of the runs under way, by their attempts."""
        return dict(self._folding.under_way)

    def ran_long(self, event: RanLong) -> None:
        """Note that the run was announced."""
        self._folding.ran_long(event.attempt_uid, event.at_s)

    def expert_fitted(self) -> None:
        """Note that a feature expert was fitted: it serves from the next save on."""
        self._newly_fitted = True

    async def forecast(self, task: TaskId, at_s: float) -> Forecast | None:
        """Forecast a run submitted then; None while no run of the task is known."""
        async with self._lock:
            await self._hold([str(task)])
            forecast = self._folding.forecaster.forecast(str(task), task.namespace, at_s)
        return forecast if forecast.known_runs else None

    async def restore(self) -> None:
        """Restore what was saved; ``run`` folds what became known since."""
        async with self._lock:
            read = self._writer.read
            shared = await self._shared()
            self._folding.end_all()
            self._folding = Folding(self._hub)
            self._used.clear()
            self._owners.clear()
            self.through = await read(self._records.through)
            self._saved_through = {self.through}
            if shared is not None:
                self._folding.forecaster.state.restore_shared(shared)
            self._folding.forecaster.expert = await read(self._features.serving)
            self._newly_fitted = True
            saved = await read(self._records.open_forecasts)
            await self._hold({str(forecast.task) for forecast in saved})
            turns = Turns()
            for forecast in saved:
                self._folding.restore(forecast)
                await turns.rest()
        self._news.set()

    def _is_touched(self) -> bool:
        return self._folding.touched or self._newly_fitted

    async def _write(self, follows: frozenset[int]) -> bool:
        # The expert changes with the save: runs folded before it are forecast with the old expert,
        # runs folded after it, here or after a restart, with the new one.
        # Another expert may be fitted during the save: that one serves from the next.
        newly_fitted, self._newly_fitted = self._newly_fitted, False
        saved = False
        try:
            expert = await self._new_expert() if newly_fitted else None
            changes = await self._folding.changes(self.through, Turns().rest)
            changes = replace(changes, expert=expert)
            saved = await self._writer.call(self._records.save, changes, follows)
        finally:
            self._newly_fitted |= newly_fitted and not saved
        if saved:
            self._folding.saved()
            if expert is not None:
                self._folding.forecaster.expert = read_expert(expert)
        return saved

    async def _new_expert(self) -> bytes | None:
        """Return the expert fitted last; None if it cannot be read, or serves already."""
        fitted = await self._writer.read(self._features.fitted)
        expert, serving = read_expert(fitted), self._folding.forecaster.expert
        same = serving is not None and expert is not None and serving.made_s == expert.made_s
        return None if expert is None or same else fitted

    async def forget(self, task: TaskId) -> None:
        """Forget a task's past at people's request, even while runs of it are under way."""
        async with self._lock:
            self._folding.forecaster.forget_past(str(task))

    async def forget_all_but(self, stored: Collection[TaskId]) -> None:
        """Forget the tasks that the store has pruned, except for those with runs under way."""
        names = {str(task) for task in stored}
        async with self._lock:
            for task in [task for task in self._used if task not in names]:
                if not self._folding.runs_of[task]:
                    self._folding.forget(task)
                    del self._used[task]

    async def _shared(self) -> bytes | None:
        """Return the shared state. If this version cannot read it, begin anew."""
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
            sightings = await self._writer.read(self._records.sightings, self.through)
            await self._hold({str(sighting.task) for sighting in sightings})
            turns = Turns()
            for sighting in sightings:
                self._folding.fold(sighting)
                self.through = sighting.serial
                await turns.rest()
        for task in {one.task for one in sightings if one.kind is SightingKind.FINISHED}:
            self._hub.publish(ProfileOutdated(task))
        return bool(sightings)

    async def _hold(self, tasks: Iterable[str]) -> None:
        """Restore the saved state of tasks and of their owners, unless it is held."""
        names, read, state = sorted(tasks), self._writer.read, self._folding.forecaster.state
        owners = sorted({namespace_of(name) for name in names} - self._owners)
        if owners:
            saved = await read(self._records.owner_states, owners)
            for owner, data in saved.items():
                restore_part(f"owner {owner}", data, partial(state.restore_owner, owner))
            self._owners.update(owners)
        missing = [name for name in names if name not in self._used]
        if missing:
            saved = await read(self._records.task_states, missing)
            for name, data in saved.items():
                restore_part(f"task {name}", data, partial(state.restore_task, name))
        for name in names:
            self._used[name] = None
            self._used.move_to_end(name)

    def _let_go(self) -> None:
        """Let go of saved tasks beyond the limit, but not of those with runs under way."""
        beyond = max(0, len(self._used) - self._held_tasks)
        idle = [task for task in self._used if not self._folding.runs_of[task]][:beyond]
        self._folding.let_go(idle)
        for task in idle:
            del self._used[task]
