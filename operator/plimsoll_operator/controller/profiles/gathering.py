"""Gathers the facts of a task's profile from the store and from memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.placing.encounters import Encounters
from plimsoll_operator.controller.profiles.splitting_known import SplittingKnown
from plimsoll_operator.controller.profiles.troubles import Troubles
from plimsoll_operator.controller.runtimes.runtimes import Runtimes
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.due_trainings import DueTrainings
from plimsoll_operator.controller.tasks.leaking import LeakingTasks
from plimsoll_operator.metrics.runs import RunMetrics
from plimsoll_operator.names.labels import CHUNK_ITEMS
from plimsoll_operator.profile.facts import Measurement, ProfileFacts, TrainingFact
from plimsoll_operator.profile.runtime_status import SHOWN_RUNS, RuntimeFacts
from plimsoll_operator.profile.standing_facts import standing_facts
from plimsoll_operator.profile.status import SHOWN_DECISIONS
from plimsoll_operator.views.kill_costs import kill_costs_of
from plimsoll_operator.views.left_pods import left_by
from plimsoll_operator.views.report.counting import causes_of
from plimsoll_operator.views.training_facts import facts_of
from plimsoll_operator.wording.asking_words import TooLittle, too_little
from plimsoll_operator.wording.kill_cost_words import words_for_kill_costs
from plimsoll_predictor.core.record import Cause, Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.telling import neighbours_of
from plimsoll_predictor.store import Store, TaskSummary, Training, Writer
from plimsoll_predictor.store.attempts.decisions import DECISIONS_KEPT
from plimsoll_predictor.training.when_due import LEAST_NEW_RUNS

PEAK_DELAY_S: Final = 30.0
"""A pod's last report comes a little after its end: until then, no peak counts as missing."""
LATEST: Final = 50
"""Attempts searched for the last success, the causes of other ends, and the latest requests."""


@dataclass(frozen=True, slots=True)
class Measured:
    """measurement: None before the first success. awaited: a report may still come."""

    measurement: Measurement | None
    awaited: bool = False


def measurement_of(latest: Sequence[Observation], now_s: float) -> Measured:
    """Find where a task's peaks come from. latest: oldest first. now_s: Unix seconds."""
    succeeded = [each for each in reversed(latest) if each.outcome is Outcome.SUCCEEDED]
    old_enough = [each for each in succeeded if not _awaited(each, now_s)]
    awaited = len(old_enough) < len(succeeded)
    if not old_enough:
        return Measured(None, awaited)
    newest = old_enough[0]
    if newest.peak_source is not None:
        return Measured(Measurement(newest.peak_source), awaited)
    measured = next((each for each in old_enough if each.peak_source is not None), None)
    unmeasured = len(old_enough) if measured is None else old_enough.index(measured)
    measured_s = None if measured is None else measured.finished_s
    return Measured(Measurement(None, unmeasured, newest.node, measured_s), awaited)


def _awaited(observation: Observation, now_s: float) -> bool:
    ended_s = observation.finished_s
    return (
        observation.peak_source is None and ended_s is not None and now_s - ended_s < PEAK_DELAY_S
    )


class _Stored(NamedTuple):
    """The store's part of a task's facts."""

    tally: TaskSummary
    training: TrainingFact | None
    decisions: list[str]
    measured: Measured
    too_little: TooLittle | None
    asked_cores: float | None
    runtimes_s: list[float]
    causes: list[Cause]
    costs: str
    left: str | None
    has_chunks: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileGatherer:
    """Reads what every part knows of a task, and teaches none of them anything."""

    store: Store
    writer: Writer
    book: TaskBook
    leaking: LeakingTasks
    standings: Standings
    runtimes: Runtimes
    encounters: Encounters
    splitting: SplittingKnown
    troubles: Troubles
    due: DueTrainings
    metrics: RunMetrics
    now_s: Callable[[], float]

    async def gather(self, task: TaskId, generation: int | None) -> tuple[ProfileFacts, bool]:
        """Gather a task's facts, and say whether they may change within ``PEAK_DELAY_S``.

        generation: the profile's; None if there is none.
        """
        now_s = self.now_s()
        stored = await self.writer.read(_stored, self.store, task, now_s)
        look = functools.partial(
            self.splitting.of,
            has_chunks=stored.has_chunks,
            memory_weight=self.book.look(task).policy.memory_weight,
        )
        splitting, split_awaited = await self.writer.read(look, task, now_s)
        forecast = await self.runtimes.forecast(task, now_s)
        if forecast is not None:
            self.metrics.forecast(task, forecast)
        knowledge, policies = self.book.look(task), self.book.policies
        facts = ProfileFacts(
            knowledge=knowledge,
            tally=stored.tally,
            decisions=stored.decisions,
            causes=stored.causes,
            costs=stored.costs,
            training=stored.training,
            due_since_s=self.due.since_s(task),
            standing=standing_facts(
                await self.standings.standing(task), await self.standings.pool(task)
            ),
            runtime=RuntimeFacts(forecast, stored.runtimes_s),
            neighbours=neighbours_of(self.encounters.matrix, str(task)),
            splitting=splitting,
            measurement=stored.measured.measurement,
            leaking=self.leaking.why(task),
            left=stored.left,
            paused_by=policies.paused_by(task),
            problems=policies.of_task(task).problems,
            troubles=self.troubles.of(task.namespace),
            trains_from=max(knowledge.policy.min_runs, LEAST_NEW_RUNS),
            too_little=stored.too_little,
            asked_cores=stored.asked_cores,
            generation=generation,
        )
        return facts, stored.measured.awaited or split_awaited


def _stored(store: Store, task: TaskId, now_s: float) -> _Stored:
    records = store.decisions.newest(task, limit=DECISIONS_KEPT)
    decisions = [record.words for record in records[:SHOWN_DECISIONS]]
    latest = store.observations.of_task(task, limit=LATEST)
    return _Stored(
        store.totals.of(task),
        _training(store.trainings.last(task)),
        decisions,
        measurement_of(latest, now_s),
        too_little(latest),
        next((each.request_cores for each in reversed(latest) if each.request_cores), None),
        store.runtimes.newest(task, limit=SHOWN_RUNS),
        causes_of(latest),
        words_for_kill_costs(kill_costs_of(latest, records)),
        left_by(records),
        any(CHUNK_ITEMS in each.features for each in latest),
    )


def _training(last: Training | None) -> TrainingFact | None:
    if last is None:
        return None
    cut = facts_of(last.report or {}).cut_by_budget
    return TrainingFact(
        at_s=last.at_s,
        failure=last.failure or last.damage,
        note="its time budget cut the search short" if cut else None,
        has_model=last.has_model,
    )
