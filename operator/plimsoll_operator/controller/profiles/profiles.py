"""Makes each task's TaskProfile when the task is met, and patches its status when it changed.

Changes are gathered per task: however many attempts end, a profile is patched at most once in
``QUIET_S``. Cost per patch: the task's kept rows, summed by the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
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
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.cpu_uses import CpuUses
from plimsoll_operator.kube.api_server import custom_path
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import (
    REFUSED_PAUSE_S,
    AlreadyThere,
    ApiError,
    NotFound,
    Refused,
)
from plimsoll_operator.names.profile_names import profile_name
from plimsoll_operator.pods.spec import Pod, metadata_of
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.profile.standing_facts import StandingFacts
from plimsoll_operator.profile.status import changed, newly_shifted, status_of
from plimsoll_operator.wording import event_words
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import StoreError

log = structlog.get_logger()

QUIET_S = 2.0
MADE_BY_US = {"app.kubernetes.io/managed-by": "plimsoll"}
UNKNOWN_KEPT_S = 24 * 3600.0
"""A profile is kept this long if nothing was ever learned for it."""
API_VERSION = "plimsoll.dev/v1alpha1"
NAMESPACE_ENDS = "because it is being terminated"
"""The API server's words for what is created in a namespace that is being deleted."""


class TaskProfiles:
    """Writes profiles; ``mark`` is cheap and may be called for every event."""

    def __init__(
        self,
        kube: Kube,
        gatherer: ProfileGatherer,
        cpu_uses: CpuUses,
        announcer: Announcer,
        now_s: Callable[[], float],
    ) -> None:
        self._kube = kube
        self._cpu_uses = cpu_uses
        self._gatherer = gatherer
        self._announcer = announcer
        self._now_s = now_s
        self._due: dict[TaskId, float] = {}
        self._marked = asyncio.Event()
        self._shown: dict[TaskId, Mapping[str, Any]] = {}
        self._generations: dict[TaskId, int] = {}

    def mark(self, task: TaskId, *, after_s: float = QUIET_S) -> None:
        """Note that the task's profile may have to change, unless its namespace is excluded."""
        if self._gatherer.book.policies.leave_alone(task.namespace):
            return
        loop_s = asyncio.get_running_loop().time()
        self._due[task] = min(self._due.get(task, loop_s + after_s), loop_s + after_s)
        self._marked.set()

    def profile_outdated(self, event: ProfileOutdated) -> None:
        """Mark the task, or every task."""
        for task in self._gatherer.book if event.task is None else (event.task,):
            self.mark(task)

    def observed(self, event: AttemptEnded | ObservationAmended) -> None:
        """Mark the task of a recorded attempt."""
        self.mark(event.observation.task)

    def namespace_policy_changed(self, event: PolicyChanged) -> None:
        """Mark a namespace's tasks. ``ClusterWatch`` marks the whole cluster's, in slices."""
        for task in self._gatherer.book:
            if task.namespace == event.namespace:
                self.mark(task)

    def shown(self, task: TaskId, status: Mapping[str, Any], generation: int | None) -> bool:
        """Note what the API server has. Return whether it is new; our own patches are not."""
        new = self._shown.get(task) != status or self._generations.get(task) != generation
        self._shown[task] = status
        if generation is not None:
            self._generations[task] = generation
        return new

    def status(self, task: TaskId) -> Mapping[str, Any]:
        """The status as the API server has it; empty for a task without a profile."""
        return self._shown.get(task, {})

    def deleted(self, task: TaskId) -> None:
        """Note that the profile was deleted; the task's next change makes it again."""
        self._shown.pop(task, None)
        self._generations.pop(task, None)

    @property
    def tasks_shown(self) -> Collection[TaskId]:
        """The tasks that have a profile on the API server."""
        return self._shown.keys()

    async def remove(self, task: TaskId, *, least_age_s: float = UNKNOWN_KEPT_S) -> None:
        """Delete a forgotten task's profile, if we made it and nobody has written into it.

        least_age_s: a younger one stays.
        """
        try:
            profile = await self._kube.api.get(
                custom_path("taskprofiles", task.namespace, profile_name(task))
            )
            meta = profile["metadata"]
            ours = MADE_BY_US.items() <= (meta.get("labels") or {}).items()
            made_s = read_time(meta.get("creationTimestamp")) or 0.0
            written = set(profile.get("spec") or {}) - {"task"}
            if ours and not written and self._now_s() - made_s >= least_age_s:
                # It is deleted only as it was read, so what people write meanwhile is not lost.
                await self._kube.delete_profile(profile)
                log.info("profile deleted: nothing is known of its task", task=str(task))
        except NotFound:
            return
        except ApiError as error:
            log.warning("profile not deleted", task=str(task), error=str(error))

    def forget(self, task: TaskId) -> None:
        """Write nothing more for the task. Its status on the API server is still known."""
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
            # Profiles change as often as runs end, but not more often: often enough to read this.
            await self._cpu_uses.learn(task)
            generation = self._generations.get(task)
            facts, peak_awaited = await self._gatherer.gather(task, generation)
            if peak_awaited:
                self.mark(task, after_s=PEAK_DELAY_S)
            shown = self._shown.get(task)
            status = status_of(facts, previous=shown, now_s=self._now_s())
            if changed(shown, status):
                profile = await self._patch(task, status)
                if facts.standing is not None and newly_shifted(shown, status):
                    self._tell_shift(task, profile, facts.standing)
        except NotFound:
            # Its namespace is gone, or will be. The task's next pod, in a new one, marks it again.
            self._shown.pop(task, None)
        except (ApiError, StoreError) as error:
            log.warning("profile not written", task=str(task), error=str(error))
            self.mark(task, after_s=REFUSED_PAUSE_S)

    def _tell_shift(
        self, task: TaskId, profile: Mapping[str, Any], standing: StandingFacts
    ) -> None:
        """Announce a shift, once: the Event's name follows from the shift's number."""
        happening = event_words.drifting(standing.drift.words, standing.drift.shifts)
        regarding = event_words.Regarding.of(profile, "TaskProfile", API_VERSION)
        self._announcer.tell(happening, regarding, task)

    async def _patch(self, task: TaskId, status: Mapping[str, Any]) -> Mapping[str, Any]:
        """Write the status. Return the profile as it is then."""
        name = profile_name(task)
        try:
            answer = await self._kube.patch_status("taskprofiles", task.namespace, name, status)
        except NotFound:
            await self._create(task, name)
            answer = await self._kube.patch_status("taskprofiles", task.namespace, name, status)
        written = answer.get("status") or {}
        self.shown(task, written, answer["metadata"].get("generation"))
        if self._gatherer.troubles.compare(status, written):
            for other in self._shown:
                self.mark(other)
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
        except Refused as error:
            if NAMESPACE_ENDS not in str(error):
                raise
            # A finalizer may keep the namespace for days, and all its tasks would be tried again.
            raise NotFound(str(error)) from error


class MetTasks:
    """Meets the tasks of pods that are seen."""

    def __init__(self, book: TaskBook, profiles: TaskProfiles, announcer: Announcer) -> None:
        self._book = book
        self._profiles = profiles
        self._announcer = announcer
        self._met: set[TaskId] = set()
        self._turned_away = FirstTimes()

    def meet(self, pod: Pod, task: TaskId) -> bool:
        """Add a pod's task to the book and make its profile, unless its namespace is crowded.

        Return whether the task is in the book.
        """
        if task not in self._book:
            if self._book.crowding.is_full(task.namespace):
                if self._turned_away.add(str(metadata_of(pod)["uid"])):
                    made_s = read_time(metadata_of(pod).get("creationTimestamp"))
                    crowded = event_words.crowded(self._book.crowding.most_tasks)
                    self._announcer.announce(event_words.at(crowded, made_s), pod)
                return False
            self._book.get(task)
            self._profiles.mark(task, after_s=0.0)
        self._met.add(task)
        return True

    def idle(self, stored: Collection[TaskId]) -> Iterator[TaskId]:
        """Go through the tasks that are not stored and had no pod since the last call.

        Some of them have only a profile left, as after a restart. Each one is judged when its turn
        comes: to forget the ones before may take minutes, and its pod may come meanwhile.
        """
        wanted = {*stored, *self._met}
        self._met.clear()
        for task in dict.fromkeys([*self._book, *self._profiles.tasks_shown]):
            is_wanted = task in wanted or task in self._met
            if not is_wanted and not self._book.policies.has_own(task):
                yield task
