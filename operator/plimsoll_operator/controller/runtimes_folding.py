"""Sightings folded into a forecaster, one by one, and what is kept of the runs in flight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Final, Protocol

import structlog

from plimsoll_operator.running_long import RunForecast
from plimsoll_predictor.forecasting.forecast import Forecast
from plimsoll_predictor.forecasting.forecaster import Changes, Forecaster
from plimsoll_predictor.store import KeptForecast, RuntimeChanges, Sighting, SightingKind
from plimsoll_predictor.task import TaskId

log = structlog.get_logger()

Rest = Callable[[], Awaitable[None]]
"""Gives others their turn, where the event loop was held for long enough."""


class Listener(Protocol):
    """Who is told what follows from what was seen; nothing of it may wait or fail."""

    def served(self) -> None:
        """A forecast was made of a run when it was submitted."""

    def started(self, run: str, made: RunForecast) -> None:
        """The run of a forecast began, maybe before a restart."""

    def ended(self, run: str, share: float | None) -> None:
        """A run ended; share: of its forecast below its runtime, None if it left none."""

    def learned(self, task: TaskId) -> None:
        """More is known of the task's runtimes."""


class Folding:
    """A forecaster, the runs in flight that it forecast, and what of all that is not saved.

    The same sightings give the same state.
    """

    def __init__(self, listener: Listener) -> None:
        self.forecaster = Forecaster()
        self.flying: dict[str, RunForecast] = {}
        self.in_flight: Counter[str] = Counter()
        """By task."""
        self._listener = listener
        self._tasks: set[str] = set()
        self._owners: set[str] = set()
        self._kept: set[str] = set()
        self._told: set[str] = set()
        """Told while a save may be under way: the next one has them."""
        self._landed: set[str] = set()
        self._shares: dict[str, float] = {}
        self._shared = False

    @property
    def touched(self) -> bool:
        """Whether something of a run in flight is unsaved, though nothing was folded since."""
        return bool(self._kept or self._told)

    def fold(self, sighting: Sighting) -> None:
        """Learn what was seen; what cannot be learned is logged."""
        try:
            _FOLDS[sighting.kind](self, sighting)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            # Learned by halves, but alike after a restart; not to go on would be worse.
            log.exception(
                "a sighting could not be learned",
                task=str(sighting.task),
                attempt=sighting.attempt_uid,
            )

    def told(self, run: str, at_s: float) -> None:
        """The run was told to be running long: not again, not after a restart either."""
        made = self.flying.get(run)
        if made is not None:
            self.flying[run] = replace(made, told_s=at_s)
            self._told.add(run)

    def take_up(self, kept: KeptForecast) -> None:
        """Go on with a run that was in flight when the state was saved."""
        run = kept.attempt_uid
        try:
            forecast = Forecast.from_dict(kept.forecast)
            self.forecaster.take_up_kept(run, kept.state)
        except ValueError as error:
            log.error("what was forecast of a run cannot be read", run=run, error=str(error))
            return
        made = RunForecast(kept.task, forecast, kept.submitted_s, kept.started_s, kept.told_s)
        self._fly(run, made)
        if made.started_s is not None:
            self._listener.started(run, made)

    def end_all(self) -> None:
        """All runs in flight are let go of, such as when another's state is taken up."""
        for run in self.flying:
            self._listener.ended(run, None)

    async def changes(self, through: int, rest: Rest) -> RuntimeChanges:
        """All that is unsaved, to be saved as of that sighting; nothing may be folded meanwhile.

        Thousands of runs may have been submitted at once, and each takes a fraction of a
        millisecond to write down.
        """
        self._gather(self.forecaster.take_changes())
        self._kept |= self._told
        self._told.clear()
        state = self.forecaster
        tasks: dict[str, bytes | None] = {}
        for task in sorted(self._tasks):
            tasks[task] = state.task_state(task)
            await rest()
        kept: list[KeptForecast] = []
        for run in sorted(self._kept & self.flying.keys()):
            kept.append(self._record(run, self.flying[run]))
            await rest()
        return RuntimeChanges(
            through=through,
            tasks=tasks,
            owners={owner: state.owner_state(owner) for owner in sorted(self._owners)},
            shared=state.shared_state() if self._shared else None,
            kept=kept,
            ended=sorted(self._landed - self.flying.keys()),
            shares=dict(self._shares),
        )

    def saved(self) -> None:
        """What ``changes`` said is saved."""
        for unsaved in (self._tasks, self._owners, self._kept, self._landed, self._shares):
            unsaved.clear()
        self._shared = False

    def let_go(self, tasks: Collection[str]) -> None:
        """Forget in memory what is saved; none of the tasks has runs in flight."""
        for task in tasks:
            self.forecaster.forget(task)
            del self.in_flight[task]
        self.forecaster.take_changes()

    def _gather(self, changes: Changes) -> None:
        self._tasks |= changes.tasks
        self._owners |= changes.owners
        self._kept |= changes.kept
        self._shared = self._shared or changes.shared
        for run in changes.gone:
            if run not in changes.kept:
                self._land(run, None)  # the forecaster holds it for one that never ends

    def _record(self, run: str, made: RunForecast) -> KeptForecast:
        return KeptForecast(
            attempt_uid=run,
            task=made.task,
            submitted_s=made.submitted_s,
            started_s=made.started_s,
            told_s=made.told_s,
            forecast=made.forecast.to_dict(),
            state=self.forecaster.kept_state(run) or b"",
        )

    def _submitted(self, sighting: Sighting) -> None:
        run, task = sighting.attempt_uid, sighting.task
        if run in self.flying:
            return  # seen again, after a restart
        forecast = self.forecaster.submit(run, str(task), task.namespace, sighting.at_s)
        made = RunForecast(task, forecast, sighting.at_s)
        self._fly(run, made)
        self._listener.served()

    def _started(self, sighting: Sighting) -> None:
        run = sighting.attempt_uid
        made = self.flying.get(run)
        if made is None or made.started_s is not None:
            return
        self.forecaster.start(run, sighting.at_s)
        self.flying[run] = made = replace(made, started_s=sighting.at_s)
        self._kept.add(run)
        self._listener.started(run, made)

    def _finished(self, sighting: Sighting) -> None:
        run, task, at_s = sighting.attempt_uid, sighting.task, sighting.at_s
        runtime_s = sighting.runtime_s if sighting.runtime_s is not None else 0.0
        share = self.forecaster.finish(run, runtime_s, at_s) if run in self.flying else None
        if share is None:
            self.forecaster.learn(str(task), task.namespace, runtime_s, at_s)
        else:
            self._shares[run] = share
        self._land(run, share)

    def _gone(self, sighting: Sighting) -> None:
        self.forecaster.drop(sighting.attempt_uid)
        self._land(sighting.attempt_uid, None)

    def _fly(self, run: str, made: RunForecast) -> None:
        self.flying[run] = made
        self.in_flight[str(made.task)] += 1

    def _land(self, run: str, share: float | None) -> None:
        made = self.flying.pop(run, None)
        if made is not None:
            self.in_flight[str(made.task)] -= 1
            self._landed.add(run)
            self._listener.ended(run, share)


_FOLDS: Final[Mapping[SightingKind, Callable[[Folding, Sighting], None]]] = {
    SightingKind.SUBMITTED: Folding._submitted,
    SightingKind.STARTED: Folding._started,
    SightingKind.FINISHED: Folding._finished,
    SightingKind.GONE: Folding._gone,
}
