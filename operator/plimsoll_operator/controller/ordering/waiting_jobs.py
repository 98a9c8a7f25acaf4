"""Lists the Jobs that wait for their turn: they have no pods yet, so no watch of pods shows them.

Jobs are found by Plimsoll's label. A known Job that is not found any more is read once more: if
only its label was removed, nobody else would ever resume it. If it was resumed and suspended since,
it is theirs who suspended it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import structlog

from plimsoll_operator.kube.api_server import BATCH, ApiServer, path_of
from plimsoll_operator.kube.errors import ApiError, NotFound, Unreachable
from plimsoll_operator.ordering.namespace_work import NamespaceWork
from plimsoll_operator.ordering.priorities import Priorities, read_priorities
from plimsoll_operator.ordering.suspended_jobs import (
    MARKED,
    is_marked,
    stand_in_for,
    unmarking,
    waits_for_turn,
)
from plimsoll_operator.pods.spec import Pod, metadata_of, spec_of, template_of

log = structlog.get_logger()

SCHEDULING: Final = "/apis/scheduling.k8s.io/v1"
LIST_EVERY_S: Final = 2.0
"""While a policy has Jobs wait, or any Job waits. A Job may wait this much beyond its turn."""
IDLE_EVERY_S: Final = 60.0
"""Otherwise: for Jobs that were suspended before the order was switched off."""
SHARE: Final = 0.05
"""The share of the time that lists may take."""
LONGEST_PAUSE_S: Final = 30.0
"""But they are made at least so often, unless they then took more than half of the time: one list
that took long must not hide all Jobs for long."""
UNMARK_WITHIN_S: Final = 1.0
"""Jobs that wait no more lose their label beside all else if that takes longer."""
UNMARK_AT_ONCE: Final = 20
"""Namespaces in which Jobs lose their label at the same time."""
ABLE_FOR_S: Final = 15.0
"""If the last list is older than this, no Job is held, because it might not be resumed."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A Job as the queue reads it. gone: its label was taken away."""

    stand_in: Pod
    gone: bool = False


@dataclass(slots=True)
class WaitingJobs:
    """Looks for waiting Jobs. now_s: on a clock that cannot jump."""

    api: ApiServer
    now_s: Callable[[], float]
    priorities: Priorities = field(default_factory=Priorities)
    _known: dict[str, Mapping[str, Any]] = field(default_factory=dict, init=False)
    """UID -> the names and generation of each Job that waited at the latest look."""
    _tried_s: float | None = field(default=None, init=False)
    _listed_s: float | None = field(default=None, init=False)
    _took_s: float = field(default=0.0, init=False)
    _may_list: bool = field(default=False, init=False)
    """Asked before the first list: most installations hold no Jobs, and give no such right."""
    _may_patch: bool = field(default=False, init=False)
    _trouble: str | None = field(default=None, init=False)
    _unmarking: NamespaceWork = field(
        default_factory=partial(NamespaceWork, UNMARK_AT_ONCE), init=False
    )

    def are_resumed(self) -> bool:
        """Say whether a Job that is suspended now would be found, and could be resumed."""
        if not self._may_patch or self._listed_s is None:
            return False
        return self.now_s() - self._listed_s <= max(ABLE_FOR_S, 2 * self._seldom_s())

    async def look(self, *, wanted: bool) -> list[Sighting]:
        """Return all Jobs that are marked, or were until now, if it is time to look; else none.

        wanted: whether any policy has Jobs wait. An API server that does not answer is asked again.
        """
        now_s = self.now_s()
        pause_s = LIST_EVERY_S if wanted or self._known else IDLE_EVERY_S
        pause_s = max(pause_s, self._seldom_s())
        if self._tried_s is not None and now_s - self._tried_s < pause_s:
            return []
        self._tried_s = now_s
        try:
            self._may_list = self._may_list or await self.api.may("list", "batch", "jobs")
            if not self._may_list:
                return []
            found = await self._look()
        except ApiError as error:
            self._may_list = False
            self._note(str(error))
            return []
        self._listed_s = now_s
        self._note(None)
        return found

    def stop(self) -> None:
        """Leave what still goes on beside the looks."""
        self._unmarking.stop()

    def _seldom_s(self) -> float:
        """Return how long to pause because of the time that the last list took."""
        return max(min(LONGEST_PAUSE_S, self._took_s / SHARE), 2 * self._took_s)

    def forget(self, uid: str) -> None:
        """Stop looking for a Job that was resumed."""
        self._known.pop(uid, None)

    async def read(self, job: Mapping[str, Any]) -> Pod | None:
        """Return a Job as it is now, for the queue. Raises ApiError.

        job: as it was seen. None if it is gone, or somebody has resumed and suspended it since.
        """
        meta = metadata_of(job)
        try:
            now = await self.api.get(path_of_job(job))
        except NotFound:
            return None
        if metadata_of(now).get("uid") != meta.get("uid") or _was_resumed(job, now):
            return None
        return self.stand_in(now)

    def stand_in(self, job: Mapping[str, Any]) -> Pod:
        """Return the stand-in that the queue reads for a Job."""
        return stand_in_for(job, self.priorities.of(spec_of(template_of(job))))

    async def _look(self) -> list[Sighting]:
        began_s = self.now_s()
        jobs = await self.api.items(path_of(BATCH, "jobs"), {"labelSelector": MARKED})
        if jobs or not self._may_patch:
            self.priorities = read_priorities(
                await self.api.items(path_of(SCHEDULING, "priorityclasses"))
            )
        self._took_s = self.now_s() - began_s
        if not self._may_patch:
            self._may_patch = await self.api.may("patch", "batch", "jobs")
        listed = {str(metadata_of(job).get("uid")): job for job in jobs}
        vanished = {uid: name for uid, name in self._known.items() if uid not in listed}
        self._known = {uid: _named(job) for uid, job in listed.items() if waits_for_turn(job)}
        await self._unmark_all(job for job in jobs if not waits_for_turn(job))
        again = await asyncio.gather(*(self._seen_again(*each) for each in vanished.items()))
        return [
            # These include Jobs that wait no more, as they were listed: now that their label is
            # gone, their author may suspend them again.
            *(Sighting(self.stand_in(job)) for job in jobs),
            *(sighting for sighting in again if sighting is not None),
        ]

    async def _seen_again(self, uid: str, job: Mapping[str, Any]) -> Sighting | None:
        """Read a Job that its label does not find any more; None if it cannot be read now."""
        try:
            now = await self.read(job)
        except ApiError as error:
            self._known[uid] = job
            log.info("a Job cannot be read", job=path_of_job(job), error=str(error))
            return None
        if now is None:
            return Sighting(self.stand_in(job))
        return Sighting(now, gone=True)

    async def _unmark_all(self, jobs: Iterable[Mapping[str, Any]]) -> None:
        by_namespace = defaultdict[str, list[Mapping[str, Any]]](list)
        for job in jobs:
            by_namespace[str(metadata_of(job).get("namespace"))].append(job)
        works = {
            namespace: partial(self._unmark_some, some)
            for namespace, some in by_namespace.items()
            if not self._unmarking.is_busy(namespace)
        }
        await self._unmarking.run(works, UNMARK_WITHIN_S)

    async def _unmark_some(self, jobs: Sequence[Mapping[str, Any]]) -> None:
        """Remove the label of Jobs that somebody else has resumed, or that a queue owns now.

        If that fails, the next look tries again; other Jobs do not wait for it.
        """
        for job in jobs:
            try:
                await self.api.patch(path_of_job(job), unmarking(job))
            except ApiError as error:
                log.info("a Job keeps its label", job=path_of_job(job), error=str(error))
                if isinstance(error, Unreachable):
                    return

    def _note(self, trouble: str | None) -> None:
        if trouble is not None and trouble != self._trouble:
            log.info("Jobs that wait are not known", error=trouble)
        self._trouble = trouble


def _named(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return only the names and generation of a Job: templates may be large, and Jobs many."""
    meta = metadata_of(job)
    return {"metadata": {key: meta.get(key) for key in ("namespace", "name", "uid", "generation")}}


def _was_resumed(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Say whether a Job without our label was resumed since, though it may be suspended now.

    Each change of its spec is another generation, and these are two.
    """
    if is_marked(now):
        return False
    first, last = metadata_of(before).get("generation"), metadata_of(now).get("generation")
    return isinstance(first, int) and isinstance(last, int) and last >= first + 2


def path_of_job(job: Mapping[str, Any]) -> str:
    """Return the path of a Job, or of its stand-in."""
    meta = metadata_of(job)
    return path_of(BATCH, "jobs", str(meta.get("namespace")), str(meta.get("name")))
