"""Jobs whose pods lease their items: opened by their first worker, followed, and closed.

A worker is a pod, and has the pod's name. What a pod leased is free as soon as the watch, or a list
of the Job's pods every few seconds, shows that it failed or is gone; or when it should have gone
long ago, as on a node that is away. It is never free because the worker is silent. The share of a
pod that succeeded is done: a worker that is cut off does it by itself, and may never report it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog

from plimsoll_operator.attempts.over import is_decided
from plimsoll_operator.attempts.truth_table import OOM_KILLED
from plimsoll_operator.chunks.lease_keeper import (
    Keeper,
    NotWritten,
    OpenJob,
    TooManyJobs,
    UnknownJob,
    recorded_job,
)
from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.hub.hub import Hub, LeasedJobEnded
from plimsoll_operator.controller.splitting.job_shelf import JobShelf
from plimsoll_operator.controller.splitting.leaving_pods import LeavingPods
from plimsoll_operator.kube.api_server import BATCH, CORE, path_of
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import ApiError, NotFound
from plimsoll_operator.names import labels
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    annotations_of,
    labels_of,
    mapping,
    metadata_of,
    sequence,
    sized_container,
    template_of,
)
from plimsoll_operator.splitting.items_job import NotOverItems
from plimsoll_operator.splitting.job_tokens import JobName
from plimsoll_operator.splitting.leased_job import LeasedJob, has_ended, read_leased_job
from plimsoll_operator.wording import event_words
from plimsoll_predictor.core.task import TaskId

log = structlog.get_logger()

LOOK_EVERY_S: Final = 5.0
APART_S: Final = 0.05
"""The pause between the looks at two Jobs: with hundreds of them, a round takes longer."""
YIELDS_EVERY: Final = 100
"""After this many pods, other tasks get the event loop: leadership is renewed on it."""
_JOB_NAME: Final = "batch.kubernetes.io/job-name"
_UID: Final = "batch.kubernetes.io/controller-uid"
_INDEX: Final = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True, slots=True)
class Over:
    """A worker's pod that is over, or gone. job_uid: of its Job. index: None if it had none.

    killed_bytes: its limit, if it was killed for memory.
    """

    worker: str
    job_uid: str
    index: int | None = None
    succeeded: bool = False
    killed_bytes: int | None = None


class JobGone(UnknownJob):
    """The Job is not there any more, or has ended."""


class LeasedJobs:
    """Follows Jobs that lease. All methods belong to one event loop."""

    def __init__(
        self, kube: Kube, keeper: Keeper, shelf: JobShelf, announcer: Announcer, hub: Hub
    ) -> None:
        self.keeper = keeper
        self._kube = kube
        self._shelf = shelf
        self._announcer = announcer
        self._hub = hub
        self._read: dict[JobName, tuple[LeasedJob, TaskId]] = {}
        self._unread: list[str] = []
        """Jobs with a record that could not be read since the start, by their names."""
        self._leaving: defaultdict[JobName, LeavingPods] = defaultdict(LeavingPods)
        self._over: asyncio.Queue[tuple[JobName, Over]] = asyncio.Queue()

    async def open(self, name: JobName) -> None:
        """Lease a Job's items from now on, or go on from its record.

        The record of a Job that had its name and run before it is closed.

        Raises:
            JobGone: if it is not there, or has ended. UnknownJob: if it leases nothing.
            NotWritten: if that cannot be known now.
        """
        before = self.keeper.jobs.get(name)
        leased, ended = await self._find(name)
        if ended:
            raise JobGone(f"{name} has ended")
        # Another worker may have opened it meanwhile, and know of a Job that came still later.
        if before is not None and before.uid != leased.uid:
            await self._close(name, before)
        await self._go_on(leased)

    def see(self, pod: Pod, *, gone: bool) -> None:
        """A pod appeared, changed or went: if it is over, its share is done, or its items free.

        A pod that loses its label leaves the watch as if it were gone, and works on.
        """
        name = _leased_by(pod)
        leaves = gone and metadata_of(pod).get("deletionTimestamp") is not None
        if name in self.keeper.jobs and (leaves or is_decided(pod)):
            self._over.put_nowait((name, over_of(pod)))

    async def spares(self, killed: Pod) -> bool:
        """Say whether the pod after a killed one does smaller chunks in as much memory.

        False if that is not known: then it gets more memory, like every run.
        """
        name = _leased_by(killed)
        if name not in self.keeper.jobs or not is_decided(killed):
            return False
        over = over_of(killed)
        try:
            await self._take_back(name, over)
        except (NotWritten, UnknownJob) as error:
            log.warning("a pod's items are taken back later", job=str(name), why=str(error))
        kept = self.keeper.jobs.get(name)
        return kept is not None and over.worker in kept.spared

    async def run(self) -> None:
        """Go on with the Jobs that have a record, and follow all, until cancelled."""
        self._unread = await self._shelf.open()
        await self._restore()
        # Beside each other: with many Jobs, or a slow API server, a round of looks takes long.
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look_again())
            group.create_task(self._take_back_what_is_seen())

    async def _look_again(self) -> None:
        while True:
            await self._restore()
            await self._look_at_all()
            await asyncio.sleep(LOOK_EVERY_S)

    async def _take_back_what_is_seen(self) -> None:
        while True:
            name, over = await self._over.get()
            try:
                await self._take_back(name, over)
            except (NotWritten, UnknownJob) as error:
                log.warning("a pod's items are taken back later", job=str(name), why=str(error))

    async def _find(self, name: JobName) -> tuple[LeasedJob, bool]:
        """Return a Job, and whether it has ended. Raises as ``open`` does."""
        try:
            job = await self._kube.api.get(path_of(BATCH, "jobs", name.namespace, name.name))
        except NotFound as error:
            raise JobGone(f"{name}: there is no such Job") from error
        except ApiError as error:
            raise NotWritten(f"{name}: {error}") from error
        try:
            leased = read_leased_job(job)
        except (NotOverItems, ValueError) as error:
            raise UnknownJob(str(error)) from error
        if leased is None:
            raise UnknownJob(f"{name} leases no items")
        if leased.name != name:
            raise JobGone(f"{name}: another Job has its name")
        return replace(leased, task=_task_of(job)), has_ended(job)

    async def _go_on(self, leased: LeasedJob) -> None:
        """Go on from a Job's record, if it has one."""
        name, task = leased.name, leased.task or _task_of_itself(leased.name)
        record, taught = await self._shelf.read(name, task)
        if isinstance(record, Mapping) and record.get("uid") != leased.uid:
            record = None  # it is of a deleted Job of the same name
        try:
            kept = self.keeper.open(leased, record, taught)
        except ValueError as error:
            log.error("a Job's leases begin anew: its record is broken", job=str(name), why=error)
            kept = self.keeper.open(leased, None, taught)
        if kept.uid == leased.uid:  # else another Job's was opened meanwhile
            self._read[name] = leased, task
            self._is_read(name)
        await self.keeper.written(name)

    def _is_read(self, name: JobName) -> None:
        if str(name) in self._unread:
            self._unread.remove(str(name))

    async def _restore(self) -> None:
        """Go on with Jobs that have a record; those of which nothing is known now come again."""
        for _ in range(len(self._unread)):
            if not self._unread:
                return  # workers have opened the others meanwhile
            text = self._unread.pop(0)
            try:
                await self._restore_one(JobName(*text.split("/")))
            except (ApiError, NotWritten) as error:
                if JobName(*text.split("/")) not in self._read:
                    self._unread.append(text)  # it may have ended: then no worker would open it
                log.warning("a leased Job is read later", job=text, why=str(error))
                await asyncio.sleep(APART_S)
            except (UnknownJob, TooManyJobs, TypeError, ValueError) as error:
                log.warning("a Job's leases wait for its workers", job=text, why=str(error))

    async def _restore_one(self, name: JobName) -> None:
        """Go on with a Job that has a record; what it taught is kept if it ended meanwhile."""
        try:
            leased, ended = await self._find(name)
        except JobGone:
            record, _ = await self._shelf.read(name, _task_of_itself(name))
            try:
                leased, ended = recorded_job(name, record), True
            except ValueError as error:
                log.warning("a Job that is gone taught nothing", job=str(name), why=str(error))
                await self._shelf.drop(name, _task_of_itself(name))
                return
        record, _ = await self._shelf.read(name, leased.task or _task_of_itself(name))
        if record is None:
            return  # it was closed since its name was read
        await self._go_on(leased)
        if ended:
            await self._look_at(name)

    async def _look_at_all(self) -> None:
        for name in list(self._read):
            try:
                await self._look_at(name)
            except (ApiError, NotWritten, UnknownJob) as error:
                log.warning("a leased Job is looked at later", job=str(name), why=str(error))
            await asyncio.sleep(APART_S)

    async def _look_at(self, name: JobName) -> None:
        """Take back what pods that are over have leased, and close the Job if it is over."""
        kept = self.keeper.jobs.get(name)
        if kept is None:
            return  # closed since the round began
        leased, task = self._read[name]
        try:
            job = await self._kube.api.get(path_of(BATCH, "jobs", name.namespace, name.name))
        except NotFound:
            job = {}
        if metadata_of(job).get("uid") != leased.uid:
            await self._close(name, kept)
            return
        await self._take_back_all(leased, kept)
        if has_ended(job):
            regarding = event_words.Regarding.of(job, "Job", "batch/v1")
            self._announcer.tell(event_words.leased(kept.words()), regarding, task)
            await self._close(name, kept)

    async def _take_back_all(self, leased: LeasedJob, kept: OpenJob) -> None:
        """Take back what pods of a Job have that are over, or not there, or should have gone."""
        name = leased.name
        # Read before the list, which then shows the pod of each of these workers, if it exists.
        workers = set(kept.leases.known)
        selector = {"labelSelector": f"{_UID}={leased.uid}"}
        pods = await self._kube.api.items(path_of(CORE, "pods", name.namespace), selector)
        there = {str(metadata_of(pod).get("name")): pod for pod in pods}
        for number, pod in enumerate(there.values()):
            if is_decided(pod):
                await self._take_back(name, over_of(pod))
            if number % YIELDS_EVERY == 0:
                await asyncio.sleep(0)
        late = self._leaving[name].overdue(there.values(), asyncio.get_running_loop().time())
        gone = workers - set(there) | {str(metadata_of(pod).get("name")) for pod in late}
        for worker in gone:
            await self._take_back(name, Over(worker, leased.uid))

    async def _take_back(self, name: JobName, over: Over) -> None:
        kept = self.keeper.jobs.get(name)
        if kept is None or kept.uid != over.job_uid:
            return  # a Job that is copied from another has the other's run, and may have its name
        leases = kept.leases
        index = over.index if over.succeeded else None
        # First: others ask while the store writes, and must get nothing of a share that is done.
        if index is not None and index < leases.shares and leases.has_left(index):
            await self.keeper.ended(name, index)
        if over.worker in leases.known:
            await self.keeper.died(name, over.worker, over.killed_bytes)

    async def _close(self, name: JobName, kept: OpenJob) -> None:
        """Forget a Job's record, unless that is done already, and keep what it taught."""
        if self.keeper.jobs.get(name) is not kept:
            return
        # First: while the store writes, a next Job of this name may begin its own record.
        self.keeper.close(name)
        self._is_read(name)
        _, task = self._read.pop(name)
        self._leaving.pop(name, None)
        # Other Jobs of the task may have ended since this one began: it adds to what they taught.
        taught = await self._shelf.close(name, task, kept.taught)
        if taught is not None:
            self._hub.publish(LeasedJobEnded(task, taught))


def _leased_by(pod: Pod) -> JobName | None:
    """Return the Job whose items a pod leases; None if it leases none."""
    run = annotations_of(pod).get(labels.LEASE_RUN)
    if run is None:
        return None
    namespace, job = metadata_of(pod).get("namespace"), labels_of(pod).get(_JOB_NAME)
    try:
        return JobName(str(namespace), str(job), str(run))
    except ValueError:
        return None


def over_of(pod: Pod) -> Over:
    """Return what a pod that is over says about its worker."""
    status = mapping(pod.get("status"))
    container = sized_container(pod)
    killed_bytes = None
    if isinstance(container, SizedContainer):
        for each in map(mapping, sequence(status.get("containerStatuses"))):
            ended = mapping(mapping(each.get("state")).get("terminated"))
            if each.get("name") == container.name and ended.get("reason") == OOM_KILLED:
                killed_bytes = container.limit_bytes
    index = str(annotations_of(pod).get(_INDEX, ""))
    return Over(
        worker=str(metadata_of(pod).get("name")),
        job_uid=str(labels_of(pod).get(_UID)),
        index=int(index) if index.isascii() and index.isdigit() else None,
        succeeded=status.get("phase") == "Succeeded",
        killed_bytes=killed_bytes,
    )


def _task_of_itself(name: JobName) -> TaskId:
    return TaskId(name.namespace, name.name)


def _task_of(job: Mapping[str, Any]) -> TaskId:
    """Return the task of the Job's pods; the Job itself if they name none."""
    its = metadata_of(job)
    template = template_of(job)
    metadata = {**metadata_of(template), "namespace": its.get("namespace")}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": its.get("name"), "controller": True}
    identity = identify({**template, "metadata": {**metadata, "ownerReferences": [owner]}})
    return identity.task if identity else TaskId(str(its["namespace"]), str(its["name"]))
