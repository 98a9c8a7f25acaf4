"""Keeps each task's TaskProfile: made when a task is met, its status patched when it changed.

Changes are gathered per task: however many attempts end, a profile is patched at most once in
``QUIET_S``. Cost per patch: the task's kept rows, summed by the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import structlog

from plimsoll_operator import events
from plimsoll_operator.controller.api_server import custom_path
from plimsoll_operator.controller.book import TaskBook
from plimsoll_operator.controller.definitions import Definitions
from plimsoll_operator.controller.kube import Kube
from plimsoll_operator.controller.kube_errors import AlreadyThere, ApiError, NotFound
from plimsoll_operator.controller.measurements import PEAK_DELAY_S, Measured, measurement_of
from plimsoll_operator.podstatus import read_time
from plimsoll_operator.profile_facts import (
    Ailment,
    ProfileFacts,
    TrainingFact,
    Trouble,
)
from plimsoll_operator.profile_names import profile_name
from plimsoll_operator.profile_status import changed, newly_shifted, status_of
from plimsoll_operator.runtime_status import RuntimeFacts
from plimsoll_operator.standing_facts import StandingFacts
from plimsoll_operator.training.when import LEAST_NEW_RUNS
from plimsoll_operator.training_facts import facts_of
from plimsoll_predictor.cpu import use_of
from plimsoll_predictor.forecasting.forecast import Forecast
from plimsoll_predictor.store import Store, StoreError, TaskSummary, Training, Writer
from plimsoll_predictor.task import TaskId

log = structlog.get_logger()

QUIET_S = 2.0
LATEST = 50
"""Attempts looked through for the last success."""
RECENT_RUNTIMES = 200
"""Runs that the status' shape and trend are of."""
MADE_BY_US = {"app.kubernetes.io/managed-by": "plimsoll"}
UNKNOWN_KEPT_S = 24 * 3600.0
"""A profile of which nothing was ever learned is kept this long."""
RETRY_S = 10.0
"""After the API server or the store refused, the profile waits this long."""


API_VERSION = "plimsoll.dev/v1alpha1"


async def _no_forecast(_task: TaskId) -> Forecast | None:
    return None


@dataclass(frozen=True, slots=True)
class Known:
    """What the controller has in memory of its tasks, and where it tells Events.

    standing: None for a task of which no run is known. forecast: of its next run, likewise.
    troubles: of the whole controller.
    """

    book: TaskBook
    standing: Callable[[TaskId], Awaitable[StandingFacts | None]]
    tell: Callable[[events.Happening, events.Regarding, TaskId], None]
    troubles: Callable[[], Sequence[Trouble]] = tuple
    forecast: Callable[[TaskId], Awaitable[Forecast | None]] = _no_forecast


class _Stored(NamedTuple):
    """What the store has of a task."""

    tally: TaskSummary
    training: TrainingFact | None
    decisions: list[str]
    measurement: Measured
    runtimes_s: list[float]


class ProfileKeeper:
    """Writes profiles; ``mark`` is cheap and may be called for every event."""

    def __init__(
        self, kube: Kube, store: Store, writer: Writer, known: Known, now_s: Callable[[], float]
    ) -> None:
        self._kube = kube
        self._store = store
        self._writer = writer
        self._known = known
        self._book = known.book
        self._now_s = now_s
        self._due: dict[TaskId, float] = {}
        self._marked = asyncio.Event()
        self._shown: dict[TaskId, Mapping[str, Any]] = {}
        self._generations: dict[TaskId, int] = {}
        self._leaking: dict[TaskId, str] = {}
        self._definitions = Definitions()

    def mark(self, task: TaskId, *, after_s: float = QUIET_S) -> None:
        """The task's profile may have to change."""
        loop_s = asyncio.get_running_loop().time()
        self._due[task] = min(self._due.get(task, loop_s + after_s), loop_s + after_s)
        self._marked.set()

    @property
    def leaking_tasks(self) -> int:
        """How many tasks are beyond lifting."""
        return len(self._leaking)

    def leaking(self, task: TaskId, why: str | None) -> None:
        """The task is beyond lifting, or (None) a run of it succeeded again."""
        if self._leaking.get(task) != why:
            self._leaking.pop(task, None)
            if why is not None:
                self._leaking[task] = why
            self.mark(task)

    def shown(self, task: TaskId, status: Mapping[str, Any], generation: int | None) -> bool:
        """What the API server has: the base for deciding whether anything changed.

        False if that was known, such as after a patch of our own.
        """
        known = self._shown.get(task) == status and self._generations.get(task) == generation
        self._shown[task] = status
        if generation is not None:
            self._generations[task] = generation
        return not known

    def status(self, task: TaskId) -> Mapping[str, Any]:
        """The status as the API server has it; empty of a task without a profile."""
        return self._shown.get(task, {})

    def deleted(self, task: TaskId) -> None:
        """Its profile was deleted; it is made again when the task is next seen to change."""
        self._shown.pop(task, None)
        self._generations.pop(task, None)

    @property
    def tasks_shown(self) -> Collection[TaskId]:
        """Those that have a profile on the API server."""
        return self._shown.keys()

    def _crowding(self, task: TaskId) -> Sequence[Trouble]:
        if not self._book.is_crowded(task.namespace):
            return ()
        words = (
            f"the namespace has {self._book.most_tasks} tasks or more: no new ones are learned;"
            " give runs of one task the same plimsoll.dev/task"
        )
        return (Trouble(Ailment.CROWDED, words),)

    async def remove(self, task: TaskId) -> None:
        """Delete the profile of a task that is forgotten, if we made it and nobody wrote into it.

        As it was read: what people write into it meanwhile is not lost.
        """
        try:
            profile = await self._kube.api.get(
                custom_path("taskprofiles", task.namespace, profile_name(task))
            )
            meta = profile["metadata"]
            ours = MADE_BY_US.items() <= (meta.get("labels") or {}).items()
            made_s = read_time(meta.get("creationTimestamp")) or 0.0
            written = set(profile.get("spec") or {}) - {"task"}
            if ours and not written and self._now_s() - made_s >= UNKNOWN_KEPT_S:
                await self._kube.delete_profile(profile)
                log.info("profile deleted: nothing is known of its task", task=str(task))
        except NotFound:
            return
        except ApiError as error:
            log.warning("profile not deleted", task=str(task), error=str(error))

    def forget(self, task: TaskId) -> None:
        """The task itself is forgotten. What of its profile is there is still known."""
        for kept in (self._due, self._leaking):
            kept.pop(task, None)

    async def run(self) -> None:
        """Patch what is due, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            now_s = loop.time()
            ready = [task for task, due_s in self._due.items() if due_s <= now_s]
            for task in ready:
                if self._due.pop(task, None) is not None:
                    await self._keep(task)
            if ready:
                continue
            self._marked.clear()
            next_s = min(self._due.values(), default=now_s + 60.0) - now_s
            try:
                await asyncio.wait_for(self._marked.wait(), max(0.05, min(next_s, 60.0)))
            except TimeoutError:
                continue
            await asyncio.sleep(0.05)

    async def _keep(self, task: TaskId) -> None:
        try:
            facts, shown = await self._facts(task), self._shown.get(task)
            status = status_of(facts, previous=shown, now_s=self._now_s())
            if changed(shown, status):
                profile = await self._patch(task, status)
                if facts.standing is not None and newly_shifted(shown, status):
                    self._tell_shift(task, profile, facts.standing)
        except NotFound:
            # Its namespace is gone. The task's next pod, in a new one, marks it again.
            self._shown.pop(task, None)
        except (ApiError, StoreError) as error:
            log.warning("profile not written", task=str(task), error=str(error))
            self.mark(task, after_s=RETRY_S)

    def _tell_shift(
        self, task: TaskId, profile: Mapping[str, Any], standing: StandingFacts
    ) -> None:
        """At most one Event a shift: its name follows from the shift's number."""
        meta = profile["metadata"]
        regarding = events.Regarding(
            kind="TaskProfile",
            namespace=str(meta["namespace"]),
            name=str(meta["name"]),
            uid=str(meta["uid"]),
            api_version=API_VERSION,
        )
        happening = events.drifting(standing.drift.words, standing.drift.shifts)
        self._known.tell(happening, regarding, task)

    async def _patch(self, task: TaskId, status: Mapping[str, Any]) -> Mapping[str, Any]:
        """The profile as it is then."""
        name = profile_name(task)
        try:
            answer = await self._kube.patch_status("taskprofiles", task.namespace, name, status)
        except NotFound:
            await self._create(task, name)
            answer = await self._kube.patch_status("taskprofiles", task.namespace, name, status)
        kept = answer.get("status") or {}
        self.shown(task, kept, answer["metadata"].get("generation"))
        if self._definitions.compare(status, kept):
            for each in self._shown:
                self.mark(each)
        return answer

    async def _create(self, task: TaskId, name: str) -> None:
        spec = {} if name == task.name else {"task": task.name}
        manifest = {
            "apiVersion": API_VERSION,
            "kind": "TaskProfile",
            "metadata": {"namespace": task.namespace, "name": name, "labels": dict(MADE_BY_US)},
            "spec": spec,
        }
        try:
            await self._kube.api.create(custom_path("taskprofiles", task.namespace), manifest)
        except AlreadyThere:
            return

    async def _facts(self, task: TaskId) -> ProfileFacts:
        now_s = self._now_s()
        stored = await self._writer.read(_stored, self._store, task, now_s)
        tally, training, decisions, measurement, runtimes_s = stored
        if task in self._book:
            # It is looked up when a profile changes, as often as a run ends but no more than that.
            runs = await self._writer.read(self._store.observations.run_cpus, [task])
            self._book.learn_cpu(task, use_of(runs[task]))
        if measurement.awaited:
            self.mark(task, after_s=PEAK_DELAY_S)
        policy = self._book.look(task).policy
        return ProfileFacts(
            knowledge=self._book.look(task),
            tally=tally,
            decisions=decisions,
            training=training,
            standing=await self._known.standing(task),
            runtime=RuntimeFacts(await self._known.forecast(task), runtimes_s),
            measurement=measurement.found,
            leaking=self._leaking.get(task),
            paused_by=self._book.paused_by(task),
            problems=self._book.problems.get(task, ()),
            troubles=(
                *self._known.troubles(),
                *self._definitions.troubles(),
                *self._crowding(task),
            ),
            trains_from=max(policy.min_runs, LEAST_NEW_RUNS),
            generation=self._generations.get(task),
        )


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
