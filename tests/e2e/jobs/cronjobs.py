"""A real CronJob whose nights follow each other within seconds, as its real controller makes them.

The controller catches up with a missed time. So a night is a minute that is over: the one before
this, then this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from kubernetes_asyncio import client

from tests.apiserver.controllers import Shop, until
from tests.e2e.seeing import WITHIN_S, pods_of_job
from tests.e2e.workloads import a_job

NAME = "nightly"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Night:
    """One scheduled time of the CronJob. minute: the one for which its Job is made."""

    shop: Shop
    minute: datetime

    @property
    def _batch(self) -> client.BatchV1Api:
        return client.BatchV1Api(self.shop.core.api_client)

    async def running_job(self) -> tuple[Any, Any]:
        """Wait until the controller's Job of this night runs; the Job and its pod."""
        name = f"{NAME}-{int(self.minute.timestamp()) // 60}"

        async def runs() -> Any:
            pods = await pods_of_job(self.shop, name)
            return pods[0] if pods and pods[0].status.phase == "Running" else None

        pod = await until(f"a pod of {name} runs", runs, WITHIN_S)
        job = await self._batch.read_namespaced_job(name, self.shop.namespace)
        (owner,) = job.metadata.owner_references
        assert (owner.kind, owner.name, owner.controller) == ("CronJob", NAME, True)
        return job, pod

    async def next_night(self) -> Night:
        """Let the next minute be a night, which is over, too."""
        minute = self.minute + timedelta(minutes=1)
        await self.patched({"spec": {"schedule": hourly(minute)}})
        # After a new schedule the controller waits for its next time; any other change wakes it.
        await self.patched({"metadata": {"annotations": {"for": "this-night"}}})
        return Night(self.shop, minute)

    async def patched(self, change: dict[str, Any]) -> None:
        where = (NAME, self.shop.namespace)
        await self._batch.patch_namespaced_cron_job(*where, change, _content_type=MERGE)

    async def missed(self) -> None:
        """Make the controller believe that it last ran some time before this night."""
        before = (self.minute - timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"status": {"lastScheduleTime": before}}
        where = (NAME, self.shop.namespace)
        await self._batch.patch_namespaced_cron_job_status(*where, status, _content_type=MERGE)


def hourly(minute: datetime) -> str:
    """A schedule that, within a test, is due only at this minute."""
    return f"{minute.minute} * * * *"


async def a_nightly_cronjob(shop: Shop, command: str) -> Night:
    """Create a CronJob that replaces a running Job; return its first night, which begins now."""
    this_minute = datetime.now(UTC).replace(second=0, microsecond=0)
    first = Night(shop, this_minute - timedelta(minutes=1))
    job = a_job(NAME, command, task="auto", backoff_limit=3)
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": NAME},
        "spec": {
            "schedule": hourly(first.minute),
            "timeZone": "Etc/UTC",
            "suspend": True,
            "concurrencyPolicy": "Replace",
            "jobTemplate": {"spec": job["spec"]},
        },
    }
    await client.BatchV1Api(shop.core.api_client).create_namespaced_cron_job(
        shop.namespace, manifest
    )
    await first.missed()
    await first.patched({"spec": {"suspend": False}})
    return first
