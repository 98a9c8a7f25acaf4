"""The controller's part that keeps leases, with the API server that it asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from plimsoll_operator.chunks.lease_keeper import Keeper, WorkerReport
from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.hub.hub import Hub, LeasedJobEnded
from plimsoll_operator.controller.splitting.job_shelf import JobShelf
from plimsoll_operator.controller.splitting.leased_jobs import LeasedJobs
from plimsoll_operator.kube.errors import NotFound, Unreachable
from plimsoll_operator.names import labels
from plimsoll_operator.splitting.job_tokens import JobName
from plimsoll_operator.wording import event_words
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.leases import Ack, Heard, Lease, NoLease, Worker
from plimsoll_predictor.store import Store, Writer
from tests.builders.splitting.leasing_jobs import a_leased_job, after, answered
from tests.builders.stores import open_store

Json = dict[str, Any]
NAME = JobName("shop", "train", "review-1")


@dataclass
class Api:
    """The part of the API server that is needed here."""

    job: Json | None = None
    pods: list[Json] = field(default_factory=list)
    away: bool = False
    asked: int = 0
    answers: asyncio.Event | None = None
    """Lists are not answered before it is set."""
    lists_that_fail: int = 0

    async def get(self, path: str) -> Json:
        self.asked += 1
        if self.away:
            raise Unreachable("away")
        if self.job is None or not path.endswith("/jobs/train"):
            raise NotFound(path)
        return self.job

    async def items(self, path: str, query: Mapping[str, str]) -> list[Json]:
        assert path.endswith("/pods")
        assert query["labelSelector"].endswith("=uid-1")
        if self.answers is not None:
            self.asked += 1
            await self.answers.wait()
        if self.lists_that_fail:
            self.lists_that_fail -= 1
            raise Unreachable("a list timed out")
        return self.pods


@dataclass
class Kube:
    """Its client."""

    api: Api


@dataclass
class Rig:
    """The controller's part, beside its store."""

    leased: LeasedJobs
    api: Api
    store: Store
    told: list[str]
    taught: list[TaskId]

    async def next(self, worker: Worker) -> Lease | NoLease:
        return await self.leased.keeper.next(NAME, worker, None, WorkerReport())

    async def lease(self, worker: Worker) -> Lease:
        found = await self.next(worker)
        assert isinstance(found, Lease)
        return found

    async def done(self, worker: Worker, lease: Lease, to: int | None = None) -> Ack:
        heard = Heard(lease.number, lease.end)
        return await self.leased.keeper.done(NAME, worker, heard, to, WorkerReport())

    @property
    def number_done(self) -> int:
        return self.leased.keeper.find(NAME).leases.done


def a_leasing_job() -> Json:
    job = a_leased_job()
    return after(job, answered(job))


def a_leasing_pod(name: str, index: int, phase: str = "Running", reason: str = "Error") -> Json:
    spec = a_leasing_job()["spec"]["template"]["spec"]
    ended: Json = {"terminated": {"exitCode": 137, "reason": reason}}
    state = {"running": {}} if phase == "Running" else ended
    container = spec["containers"][0]["name"]
    return {
        "metadata": {
            "namespace": "shop",
            "name": name,
            "uid": f"uid-of-{name}",
            "labels": {
                "batch.kubernetes.io/job-name": "train",
                "batch.kubernetes.io/controller-uid": "uid-1",
            },
            "annotations": {
                labels.LEASE_RUN: NAME.run,
                "batch.kubernetes.io/job-completion-index": str(index),
            },
        },
        "spec": spec,
        "status": {
            "phase": phase,
            "containerStatuses": [{"name": container, "state": state}],
        },
    }


@dataclass(frozen=True, slots=True)
class Told:
    """Keeps the words of what is told."""

    notes: list[str]

    def tell(self, happening: event_words.Happening, of: event_words.Regarding, task: Any) -> None:
        self.notes.append(f"{of.kind} {of.name} of {task}: {happening.note}")


@asynccontextmanager
async def following(folder: Path, api: Api) -> AsyncIterator[Rig]:
    store, told = open_store(folder), list[str]()
    writer = Writer(store)
    shelf = JobShelf(store, writer)

    taught = list[TaskId]()
    hub = Hub()
    hub.subscribe(LeasedJobEnded, lambda event: taught.append(event.task))
    keeper = Keeper(shelf, asyncio.get_running_loop().time)
    jobs = LeasedJobs(Kube(api), keeper, shelf, cast("Announcer", Told(told)), hub)  # type: ignore[arg-type]
    running = asyncio.create_task(jobs.run())
    try:
        yield Rig(jobs, api, store, told, taught)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await writer.close()
        store.close()
