"""The controller's part that runs campaigns, over Jobs in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes_asyncio import client

from plimsoll_operator.campaigns.spec import Campaign
from plimsoll_operator.controller.campaigns.campaign_jobs import CampaignJobs
from plimsoll_operator.controller.campaigns.campaigns import Campaigns
from plimsoll_operator.controller.campaigns.refusals import Refusals
from plimsoll_operator.controller.lending.agents_heard import AgentsHeard
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import Refused, Unreachable
from plimsoll_predictor.campaigns.runs import CampaignRun
from plimsoll_predictor.campaigns.seen import SeenJob
from plimsoll_predictor.store import Store, Writer
from tests.builders.controller.books import books
from tests.builders.controller.ledgers import NOBODY
from tests.operator.campaigns.documents import stored

Document = dict[str, Any]


class JobsInMemory(CampaignJobs):
    """The API server's part, kept here."""

    def __init__(self, kube: Kube, *documents: Document) -> None:
        super().__init__(kube)
        self.documents = documents
        self.jobs: set[tuple[str, tuple[int, int]]] = set()
        self.asked: list[str] = []
        self.allowed = True
        self.switched_off_in = ""
        """The namespace in which Jobs may not be listed or deleted any more."""
        self.away = ""
        """Why the API server answers no call about Jobs; empty if it does."""
        self.ended_s: float | None = None
        """When all Jobs succeeded, if they did."""
        self.shown: SeenJob | None = None
        self.foresaw_nothing_of = ""

    async def campaigns(self) -> list[Document]:
        return deepcopy(list(self.documents))

    async def may_run_in(self, namespace: str) -> bool:
        self.asked.append(namespace)
        return self.allowed

    async def may_delete_in(self, namespace: str) -> bool:
        return namespace != self.switched_off_in

    async def seen(self, campaign: Campaign) -> dict[tuple[int, int], SeenJob]:
        if campaign.task.namespace == self.switched_off_in:
            raise Refused('jobs.batch is forbidden: cannot list resource "jobs"')
        if campaign.name == self.foresaw_nothing_of:
            raise TypeError("'int' object is not iterable")
        ended = self.ended_s is not None
        job = self.shown or SeenJob(started=not ended, succeeded=ended, finished_s=self.ended_s)
        return {key: job for name, key in self.jobs if name == campaign.name}

    async def create(self, campaign: Campaign, run: CampaignRun) -> str | None:
        if self.away:
            raise Unreachable(self.away)
        self.jobs.add((campaign.name, run.key))
        return None

    async def delete(self, campaign: Campaign, runs: Sequence[CampaignRun]) -> bool:
        if self.away:
            return not runs
        self.jobs -= {(campaign.name, run.key) for run in runs}
        return True

    async def write_status(self, document: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        uid = document["metadata"]["uid"]
        (own,) = (each for each in self.documents if each["metadata"]["uid"] == uid)
        own["status"] = dict(status)


@dataclass(frozen=True, slots=True)
class Rig:
    campaigns: Campaigns
    jobs: JobsInMemory
    agents: AgentsHeard
    clock: list[float]
    """One number for the agents' clock."""

    def phases(self) -> list[str | None]:
        return [each.get("status", {}).get("phase") for each in self.jobs.documents]


@asynccontextmanager
async def looking(folder: Path, *documents: Document) -> AsyncIterator[Rig]:
    store = Store.open(f"sqlite:///{folder}/store.db")
    writer, made, clock = Writer(store), books(), [0.0]
    async with client.ApiClient(client.Configuration(host=NOBODY)) as api:
        jobs = JobsInMemory(Kube(api), *documents)
        bounds = ClusterBounds(FeedBoard("e"), made.policies, ClusterNodes())
        campaigns = Campaigns(
            store=store,
            writer=writer,
            hub=made.hub,
            book=made.book,
            refusals=Refusals(jobs, made.policies, bounds),
            agents=(agents := AgentsHeard(lambda: clock[0])),
            now_s=lambda: 1000.0,
        )
        agents.hear("node")
        yield Rig(campaigns, jobs, agents, clock)
    await writer.close()
    store.close()


def a_document(name: str, **spec: Any) -> Document:
    """A campaign with its own name and uid; later names are younger."""
    document: Document = stored(**{"task": name, **spec})
    document["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    return document
