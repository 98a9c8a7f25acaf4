"""Folds sightings into a forecaster one by one, and remembers the runs under way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

import structlog

from plimsoll_operator.attempts.running_long import RunForecast
from plimsoll_operator.controller.hub.hub import Hub, RunEnded, RunStarted, RuntimeForecast
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.runtimes.forecasting.memory import Unsaved
from plimsoll_predictor.store import OpenForecast, Sighting, SightingKind, UnsavedRuntimes

log = structlog.get_logger()

Rest = Callable[[], Awaitable[None]]
"""Gives others their turn, where the event loop was held for long enough."""


class Folding:
    """Holds a forecaster, the runs under way that it forecast, and which parts are unsaved.

    The same sightings give the same state.
    """

    def __init__(self, hub: Hub) -> None:
        self.forecaster = Forecaster()
        self.flying: dict[str, RunForecast] = {}
        self.in_flight: Counter[str] = Counter()
        """By task."""
        self._hub = hub
        self._tasks: set[str] = set()
        self._owners: set[str] = set()
        self._unsaved_runs: set[str] = set()
        self._announced: set[str] = set()
        """Runs that people were told of while a save may be under way: the next save has them."""
        self._landed: set[str] = set()
        self._shares: dict[str, float] = {}
        self._shared = False

    @property
    def touched(self) -> bool:
        """Whether something about a run under way is unsaved, though nothing was folded since."""
        return bool(self._unsaved_runs or self._announced)

    def fold(self, sighting: Sighting) -> None:
        """Learn what was seen; what cannot be learned is logged."""
        try:
            _FOLDS[sighting.kind](self, sighting)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            # The sighting is half learned, but equally so after a restart; stopping would be worse.
            log.exception(
                "a sighting could not be learned",
                task=str(sighting.task),
                attempt=sighting.attempt_uid,
            )

    def ran_long(self, run: str, at_s: float) -> None:
        """People are told of the run once, and not again after a restart."""
        made = self.flying.get(run)
        if made is not None:
            self.flying[run] = replace(made, announced_s=at_s)
            self._announced.add(run)

    def take_up(self, saved: OpenForecast) -> None:
        """Go on with a run that was under way when the state was saved."""
        run = saved.attempt_uid
        try:
            forecast = Forecast.from_dict(saved.forecast)
            self.forecaster.state.restore_run(run, saved.state)
        except ValueError as error:
            log.error("what was forecast of a run cannot be read", run=run, error=str(error))
            return
        made = RunForecast(
            saved.task, forecast, saved.submitted_s, saved.started_s, saved.announced_s
        )
        self._fly(run, made)
        if made.started_s is not None:
            self._hub.publish(RunStarted(run, made))

    def end_all(self) -> None:
        """Let go of all runs under way, such as when another controller's state is restored."""
        for run in self.flying:
            self._hub.publish(RunEnded(run, None))

    async def changes(self, through: int, rest: Rest) -> UnsavedRuntimes:
        """All that is unsaved, to be saved as of that sighting; nothing may be folded meanwhile.

        Thousands of runs may have been submitted at once, and each takes a fraction of a
        millisecond to write down.
        """
        self._gather(self.forecaster.state.take_unsaved())
        self._unsaved_runs |= self._announced
        self._announced.clear()
        state = self.forecaster.state
        tasks: dict[str, bytes | None] = {}
        for task in sorted(self._tasks):
            tasks[task] = state.task(task)
            await rest()
        forecasts: list[OpenForecast] = []
        for run in sorted(self._unsaved_runs & self.flying.keys()):
            forecasts.append(self._record(run, self.flying[run]))
            await rest()
        return UnsavedRuntimes(
            through=through,
            tasks=tasks,
            owners={owner: state.owner(owner) for owner in sorted(self._owners)},
            shared=state.shared() if self._shared else None,
            forecasts=forecasts,
            ended=sorted(self._landed - self.flying.keys()),
            shares=dict(self._shares),
        )

    def saved(self) -> None:
        """What ``changes`` said is saved."""
        for unsaved in (self._tasks, self._owners, self._unsaved_runs, self._landed, self._shares):
            unsaved.clear()
        self._shared = False

    def let_go(self, tasks: Collection[str]) -> None:
        """Forget in memory what is saved; none of the tasks has runs under way."""
        for task in tasks:
            self.forecaster.forget(task)
            del self.in_flight[task]
        self.forecaster.state.take_unsaved()

    def _gather(self, unsaved: Unsaved) -> None:
        self._tasks |= unsaved.tasks
        self._owners |= unsaved.owners
        self._unsaved_runs |= unsaved.runs
        self._shared = self._shared or unsaved.shared
        for run in unsaved.ended:
            if run not in unsaved.runs:
                self._land(run, None)  # the forecaster holds it for one that never ends

    def _record(self, run: str, made: RunForecast) -> OpenForecast:
        return OpenForecast(
            attempt_uid=run,
            task=made.task,
            submitted_s=made.submitted_s,
            started_s=made.started_s,
            announced_s=made.announced_s,
            forecast=made.forecast.to_dict(),
            state=self.forecaster.state.run(run) or b"",
        )

    def _submitted(self, sighting: Sighting) -> None:
        run, task = sighting.attempt_uid, sighting.task
        if run in self.flying:
            return  # seen again, after a restart
        forecast = self.forecaster.submit(run, str(task), task.namespace, sighting.at_s)
        made = RunForecast(task, forecast, sighting.at_s)
        self._fly(run, made)
        self._hub.publish(RuntimeForecast())

    def _started(self, sighting: Sighting) -> None:
        run = sighting.attempt_uid
        made = self.flying.get(run)
        if made is None or made.started_s is not None:
            return
        self.forecaster.start(run, sighting.at_s)
        self.flying[run] = made = replace(made, started_s=sighting.at_s)
        self._unsaved_runs.add(run)
        self._hub.publish(RunStarted(run, made))

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
            self._hub.publish(RunEnded(run, share))


_FOLDS: Final[Mapping[SightingKind, Callable[[Folding, Sighting], None]]] = {
    SightingKind.SUBMITTED: Folding._submitted,
    SightingKind.STARTED: Folding._started,
    SightingKind.FINISHED: Folding._finished,
    SightingKind.GONE: Folding._gone,
}
