"""Keeps each task's TaskProfile: made when a task is met, its status patched when it changed.

Changes are gathered per task: however many attempts end, a profile is patched at most once in
``QUIET_S``. Cost per patch: the task's kept rows, summed by the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Any

import structlog

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.hub.habits import FirstTimes
from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    ObservationAmended,
    PolicyChanged,
    ProfileOutdated,
)
from plimsoll_operator.controller.profiles.gathering import PEAK_DELAY_S, ProfileGatherer
from plimsoll_operator.controller.profiles.troubles import Crowding, Definitions
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.kube.api_server import custom_path
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import REFUSED_PAUSE_S, AlreadyThere, ApiError, NotFound
from plimsoll_operator.names.profile_names import profile_name
from plimsoll_operator.pods.spec import Pod, metadata_of
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.profile import events
from plimsoll_operator.profile.standing_facts import StandingFacts
from plimsoll_operator.profile.status import changed, newly_shifted, status_of
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import StoreError

log = structlog.get_logger()

QUIET_S = 2.0
MADE_BY_US = {"app.kubernetes.io/managed-by": "plimsoll"}
UNKNOWN_KEPT_S = 24 * 3600.0
"""A profile of which nothing was ever learned is kept this long."""
API_VERSION = "plimsoll.dev/v1alpha1"


class ProfileKeeper:
    """Writes profiles; ``mark`` is cheap and may be called for every event."""

    def __init__(
        self,
        kube: Kube,
        gatherer: ProfileGatherer,
        definitions: Definitions,
        announcer: Announcer,
        now_s: Callable[[], float],
    ) -> None:
        self._kube = kube
        self._gatherer = gatherer
        self._definitions = definitions
        self._announcer = announcer
        self._now_s = now_s
        self._due: dict[TaskId, float] = {}
        self._marked = asyncio.Event()
        self._shown: dict[TaskId, Mapping[str, Any]] = {}
        self._generations: dict[TaskId, int] = {}

    def mark(self, task: TaskId, *, after_s: float = QUIET_S) -> None:
        """The task's profile may have to change."""
        loop_s = asyncio.get_running_loop().time()
        self._due[task] = min(self._due.get(task, loop_s + after_s), loop_s + after_s)
        self._marked.set()

    def profile_outdated(self, event: ProfileOutdated) -> None:
        """The profile of the task, or of every task, may have to change."""
        for task in self._gatherer.book if event.task is None else (event.task,):
            self.mark(task)

    def observed(self, event: AttemptEnded | ObservationAmended) -> None:
        """An attempt of the task was recorded."""
        self.mark(event.observation.task)

    def namespace_policy_changed(self, event: PolicyChanged) -> None:
        """Mark a namespace's tasks. ``ClusterWatch`` marks the whole cluster's, in slices."""
        for task in self._gatherer.book:
            if task.namespace == event.namespace:
                self.mark(task)

    def shown(self, task: TaskId, status: Mapping[str, Any], generation: int | None) -> bool:
        """Note what the API server has: by it we decide whether anything changed.

        False if that is nothing new, such as after a patch of our own.
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
        """The tasks that have a profile on the API server."""
        return self._shown.keys()

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
        """Forget what is due for the task. Its status on the API server is still known."""
        self._due.pop(task, None)

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
            gathered = await self._gatherer.gather(task, self._generations.get(task))
            if gathered.peak_awaited:
                self.mark(task, after_s=PEAK_DELAY_S)
            facts, shown = gathered.facts, self._shown.get(task)
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
            self.mark(task, after_s=REFUSED_PAUSE_S)

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
        self._announcer.tell(happening, regarding, task)

    async def _patch(self, task: TaskId, status: Mapping[str, Any]) -> Mapping[str, Any]:
        """The profile as it is then."""
        name = profile_name(task)
        try:
            answer = await self._kube.patch_status("taskprofiles", task.namespace, name, status)
        except NotFound:
            await self._create(task, name)
            answer = await self._kube.patch_status("taskprofiles", task.namespace, name, status)
        written = answer.get("status") or {}
        self.shown(task, written, answer["metadata"].get("generation"))
        if self._definitions.compare(status, written):
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


class MetTasks:
    """Meets the tasks of pods that are seen."""

    def __init__(
        self, book: TaskBook, crowding: Crowding, profiles: ProfileKeeper, announcer: Announcer
    ) -> None:
        self._book = book
        self.crowding = crowding
        self._profiles = profiles
        self._announcer = announcer
        self._met: set[TaskId] = set()
        self._turned_away = FirstTimes()

    def meet(self, pod: Pod, task: TaskId) -> bool:
        """A pod of the task was seen; the first time, the task's profile is made.

        False if the task is not taken in, because its namespace has as many as it may.
        """
        if task not in self._book:
            if self.crowding.is_crowded(task.namespace):
                if self._turned_away.add(str(metadata_of(pod)["uid"])):
                    self._announcer.announce(events.crowded(self.crowding.most_tasks), pod)
                return False
            self._book.get(task)
            self._profiles.mark(task, after_s=0.0)
        self._met.add(task)
        return True

    def idle(self, stored: Collection[TaskId]) -> list[TaskId]:
        """Tasks that nothing keeps: not stored, and no pod of them seen since the last call.

        Also those of which only a profile is left, as after a restart.
        """
        wanted = {*stored, *self._met}
        self._met.clear()
        tasks = dict.fromkeys([*self._book, *self._profiles.tasks_shown])
        return [t for t in tasks if t not in wanted and not self._book.policies.has_own(t)]
