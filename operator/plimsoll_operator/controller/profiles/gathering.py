"""All that a task's profile is made of, gathered from the store and from memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.profiles.definitions import Definitions
from plimsoll_operator.controller.profiles.measurements import Measured, measurement_of
from plimsoll_operator.controller.profiles.troubles import Troubles
from plimsoll_operator.controller.runtimes.runtimes import Runtimes
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.crowding import Crowding
from plimsoll_operator.controller.tasks.leaking import LeakingTasks
from plimsoll_operator.metrics.runs import RunMetrics
from plimsoll_operator.profile.facts import ProfileFacts, TrainingFact
from plimsoll_operator.profile.runtime_status import RuntimeFacts
from plimsoll_operator.profile.standing_facts import StandingFacts, facts_or_none
from plimsoll_operator.training.when_due import LEAST_NEW_RUNS
from plimsoll_operator.views.training_facts import facts_of
from plimsoll_predictor.core.cpu import use_of
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.store import Store, TaskSummary, Training, Writer

LATEST: Final = 50
"""Attempts looked through for the last success."""
RECENT_RUNTIMES: Final = 200
"""Runs that the status' shape and trend are of."""


class Gathered(NamedTuple):
    """peak_awaited: whether a report may still come that changes what is shown."""

    facts: ProfileFacts
    peak_awaited: bool


class _Stored(NamedTuple):
    """What the store has of a task."""

    tally: TaskSummary
    training: TrainingFact | None
    decisions: list[str]
    measurement: Measured
    runtimes_s: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileGatherer:
    """Reads what every part knows of a task. Changes nothing but the book's CPU use."""

    store: Store
    writer: Writer
    book: TaskBook
    crowding: Crowding
    leaking: LeakingTasks
    standings: Standings
    runtimes: Runtimes
    troubles: Troubles
    definitions: Definitions
    metrics: RunMetrics
    now_s: Callable[[], float]

    async def gather(self, task: TaskId, generation: int | None) -> Gathered:
        """Gather the facts of a task. generation: of its profile, None if there is none."""
        now_s = self.now_s()
        stored = await self.writer.read(_stored, self.store, task, now_s)
        if task in self.book:
            # It is looked up when a profile changes, as often as a run ends but no more than that.
            runs = await self.writer.read(self.store.observations.run_cpus, [task])
            self.book.learn_cpu(task, use_of(runs[task]))
        known, policies = self.book.look(task), self.book.policies
        facts = ProfileFacts(
            knowledge=known,
            tally=stored.tally,
            decisions=stored.decisions,
            training=stored.training,
            standing=await self._standing(task),
            runtime=RuntimeFacts(await self._forecast(task), stored.runtimes_s),
            measurement=stored.measurement.found,
            leaking=self.leaking.why(task),
            paused_by=policies.paused_by(task),
            problems=policies.of_task(task).problems,
            troubles=(
                *self.troubles.now(),
                *self.definitions.troubles(),
                *self.crowding.troubles(task.namespace),
            ),
            trains_from=max(known.policy.min_runs, LEAST_NEW_RUNS),
            generation=generation,
        )
        return Gathered(facts, stored.measurement.awaited)

    async def _standing(self, task: TaskId) -> StandingFacts | None:
        """None of a task of which no run is known."""
        standing = await self.standings.standing(task)
        return facts_or_none(standing, await self.standings.pool(task))

    async def _forecast(self, task: TaskId) -> Forecast | None:
        """None while no run of the task is known."""
        found = await self.runtimes.forecast(task, self.now_s())
        if found is not None:
            self.metrics.forecast(task, found)
        return found


def _stored(store: Store, task: TaskId, now_s: float) -> _Stored:
    decisions = [record.words for record in store.decisions.newest(task, limit=10)]
    return _Stored(
        store.totals.of(task),
        _training(store.trainings.last(task)),
        decisions,
        measurement_of(store.observations.of_task(task, limit=LATEST), now_s),
        store.runtimes.newest(task, limit=RECENT_RUNTIMES),
    )


def _training(last: Training | None) -> TrainingFact | None:
    if last is None:
        return None
    cut = facts_of(last.report or {}).cut_by_budget
    return TrainingFact(
        at_s=last.at_s,
        failure=last.failure or last.damage,
        note="its time budget cut the search short" if cut else None,
    )
