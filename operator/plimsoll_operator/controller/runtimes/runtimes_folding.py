"""Folds sightings into a forecaster one by one, and remembers the runs under way.

The same sightings give the same state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

import structlog

from plimsoll_operator.attempts.running_long import LEAST_RUNS_TO_WARN, RunForecast
from plimsoll_operator.controller.hub.hub import Hub, RunEnded, RunStarted, RuntimeForecast
from plimsoll_predictor.runtimes.features.asked import NOTHING_ASKED
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.runtimes.forecasting.memory import Unsaved
from plimsoll_predictor.store import (
    ForecastScore,
    OpenForecast,
    Sighting,
    SightingKind,
    UnsavedRuntimes,
)

log = structlog.get_logger()

Rest = Callable[[], Awaitable[None]]

LEAST_RUNS_TO_TELL_SLOWDOWN: Final = 3
"""A forecast by fewer runs of its task cannot tell what slowed a run down."""


class Folding:
    """Holds a forecaster, the runs under way that it forecast, and which parts are unsaved."""

    def __init__(self, hub: Hub) -> None:
        self.forecaster = Forecaster()
        self.under_way: dict[str, RunForecast] = {}
        self.runs_of: Counter[str] = Counter()
        """How many runs of each task are under way."""
        self._hub = hub
        self._tasks: set[str] = set()
        self._owners: set[str] = set()
        self._unsaved_runs: set[str] = set()
        self._announced: set[str] = set()
        """Runs announced since the last save began: the next save has them."""
        self._ended: set[str] = set()
        self._scores: dict[str, ForecastScore] = {}
        self._shared = False

    @property
    def touched(self) -> bool:
        """Whether something about a run under way is unsaved, though nothing was folded since."""
        return bool(self._unsaved_runs or self._announced)

    def fold(self, sighting: Sighting) -> None:
        """Learn a sighting; log one that cannot be learned."""
        try:
            _FOLDS[sighting.kind](self, sighting)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            # The sighting is half learned, but just the same after a restart; stopping is worse.
            log.exception(
                "a sighting could not be learned",
                task=str(sighting.task),
                attempt=sighting.attempt_uid,
            )

    def ran_long(self, uid: str, at_s: float) -> None:
        """Note that the run was announced, so that a restart does not announce it again."""
        made = self.under_way.get(uid)
        if made is not None:
            self.under_way[uid] = replace(made, announced_s=at_s)
            self._announced.add(uid)

    def restore(self, saved: OpenForecast) -> None:
        """Go on with a run that was under way when the state was saved."""
        uid = saved.attempt_uid
        try:
            forecast = Forecast.from_dict(saved.forecast)
            self.forecaster.state.restore_run(uid, saved.state)
        except ValueError as error:
            log.error("what was forecast of a run cannot be read", attempt=uid, error=str(error))
            return
        made = RunForecast(
            saved.task, forecast, saved.submitted_s, saved.started_s, saved.announced_s
        )
        self._begin(uid, made)
        if made.started_s is not None:
            self._hub.publish(RunStarted(uid, made))

    def end_all(self) -> None:
        """Let go of all runs under way, such as when another controller's state is restored."""
        for uid in self.under_way:
            self._hub.publish(RunEnded(uid, None))

    async def changes(self, through: int, rest: Rest) -> UnsavedRuntimes:
        """Return all that is unsaved, as of that sighting; nothing may be folded meanwhile.

        rest: called between tasks and runs, because there may be thousands of them.
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
        for uid in sorted(self._unsaved_runs & self.under_way.keys()):
            made = self.under_way[uid]
            forecasts.append(
                OpenForecast(
                    attempt_uid=uid,
                    task=made.task,
                    submitted_s=made.submitted_s,
                    started_s=made.started_s,
                    announced_s=made.announced_s,
                    forecast=made.forecast.to_dict(),
                    state=state.run(uid) or b"",
                )
            )
            await rest()
        return UnsavedRuntimes(
            through=through,
            tasks=tasks,
            owners={owner: state.owner(owner) for owner in sorted(self._owners)},
            shared=state.shared() if self._shared else None,
            forecasts=forecasts,
            ended=sorted(self._ended - self.under_way.keys()),
            scores=dict(self._scores),
        )

    def saved(self) -> None:
        """Note that all that ``changes`` returned is saved."""
        for unsaved in (self._tasks, self._owners, self._unsaved_runs, self._ended, self._scores):
            unsaved.clear()
        self._shared = False

    def let_go(self, tasks: Collection[str]) -> None:
        """Forget in memory what is saved; none of the tasks has runs under way."""
        for task in tasks:
            self.forget(task)
        self.forecaster.state.take_unsaved()

    def forget(self, task: str) -> None:
        """Forget a task without runs under way."""
        self.forecaster.forget(task)
        del self.runs_of[task]

    def _gather(self, unsaved: Unsaved) -> None:
        self._tasks |= unsaved.tasks
        self._owners |= unsaved.owners
        self._unsaved_runs |= unsaved.runs
        self._shared = self._shared or unsaved.shared
        for uid in unsaved.ended:
            if uid not in unsaved.runs:
                self._end(uid, None)  # the forecaster takes it for a run that never ends

    def _submitted(self, sighting: Sighting) -> None:
        uid, task = sighting.attempt_uid, sighting.task
        if uid in self.under_way:
            return  # seen again, after a restart
        asked = sighting.asked or NOTHING_ASKED
        forecast = self.forecaster.submit(uid, str(task), task.namespace, sighting.at_s, asked)
        made = RunForecast(task, forecast, sighting.at_s)
        self._begin(uid, made)
        self._hub.publish(RuntimeForecast())

    def _started(self, sighting: Sighting) -> None:
        uid = sighting.attempt_uid
        made = self.under_way.get(uid)
        if made is None or made.started_s is not None:
            return
        self.forecaster.start(uid, sighting.at_s)
        self.under_way[uid] = made = replace(made, started_s=sighting.at_s)
        self._unsaved_runs.add(uid)
        self._hub.publish(RunStarted(uid, made))

    def _finished(self, sighting: Sighting) -> None:
        uid, task, at_s = sighting.attempt_uid, sighting.task, sighting.at_s
        runtime_s = sighting.runtime_s if sighting.runtime_s is not None else 0.0
        share = self.forecaster.finish(uid, runtime_s, at_s) if uid in self.under_way else None
        if share is None:
            asked = sighting.asked or NOTHING_ASKED
            self.forecaster.learn(str(task), task.namespace, runtime_s, at_s, asked)
        else:
            forecast = self.under_way[uid].forecast
            known = forecast.known_runs >= LEAST_RUNS_TO_TELL_SLOWDOWN
            forecast_s = forecast.quantile_s(0.5) if known else None
            if forecast.known_runs < LEAST_RUNS_TO_WARN:
                share = None
            self._scores[uid] = ForecastScore(share, forecast_s)
        self._end(uid, share)

    def _gone(self, sighting: Sighting) -> None:
        self.forecaster.drop(sighting.attempt_uid)
        self._end(sighting.attempt_uid, None)

    def _pass_over(self, sighting: Sighting) -> None:
        log.warning("a sighting of a newer version is passed over", task=str(sighting.task))

    def _begin(self, uid: str, made: RunForecast) -> None:
        self.under_way[uid] = made
        self.runs_of[str(made.task)] += 1

    def _end(self, uid: str, share: float | None) -> None:
        made = self.under_way.pop(uid, None)
        if made is not None:
            self.runs_of[str(made.task)] -= 1
            self._ended.add(uid)
            score = self._scores.get(uid)
            self._hub.publish(RunEnded(uid, share, score.forecast_s if score else None))


_FOLDS: Final[Mapping[SightingKind, Callable[[Folding, Sighting], None]]] = {
    SightingKind.SUBMITTED: Folding._submitted,
    SightingKind.STARTED: Folding._started,
    SightingKind.FINISHED: Folding._finished,
    SightingKind.GONE: Folding._gone,
    SightingKind.UNKNOWN: Folding._pass_over,
}
