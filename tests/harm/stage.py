"""The stage of one run: a namespace on the real node, its pods as they are seen, and waiting."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kubernetes_asyncio import client

from tests.e2e.plimsolls import Plimsoll
from tests.harm.scenario import Ending, Manifest
from tests.harm.watching import MARK, Seen, Watched

LOOK_EVERY_S: Final = 0.2
JOBS_EVERY_S: Final = 1.0
NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True)
class Stage:
    """One run's namespace. plimsoll: None in the run without it."""

    api: client.ApiClient
    namespace: str
    run: str
    watched: Watched
    plimsoll: Plimsoll | None

    @property
    def core(self) -> client.CoreV1Api:
        return client.CoreV1Api(self.api)

    @property
    def batch(self) -> client.BatchV1Api:
        return client.BatchV1Api(self.api)

    @property
    def pods(self) -> list[Seen]:
        """All of the run's pods that ever were, oldest first."""
        return self.watched.of(self.run)

    async def create(self, manifest: Manifest) -> Any:
        """Create an object of the namespace; pods and templates of pods get the run's mark."""
        _mark(manifest, self.run)
        if manifest["kind"] == "SizingPolicy":
            return await self.put("plimsoll.dev", "sizingpolicies", manifest)
        makes = {
            "Pod": self.core.create_namespaced_pod,
            "ConfigMap": self.core.create_namespaced_config_map,
            "ResourceQuota": self.core.create_namespaced_resource_quota,
            "LimitRange": self.core.create_namespaced_limit_range,
            "Job": self.batch.create_namespaced_job,
            "CronJob": self.batch.create_namespaced_cron_job,
        }
        return await makes[manifest["kind"]](self.namespace, manifest)

    async def put(self, group: str, plural: str, manifest: Manifest) -> Any:
        """Create an object of a kind that is not Kubernetes' own."""
        return await client.CustomObjectsApi(self.api).create_namespaced_custom_object(
            group, "v1alpha1", self.namespace, plural, manifest
        )

    async def remove(self, pod: str) -> None:
        """Delete a pod at once."""
        with contextlib.suppress(client.ApiException):
            await self.core.delete_namespaced_pod(pod, self.namespace, grace_period_seconds=0)

    async def evict(self, pod: str) -> None:
        """Evict a pod, as a drained node or a preemption does; nothing if it has just gone."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": self.namespace},
        }
        try:
            await self.core.create_namespaced_pod_eviction(pod, self.namespace, eviction)
        except client.ApiException as error:
            if error.status != NOT_FOUND:
                raise

    async def until(self, check: Callable[[], Any], within_s: float) -> Any:
        """Wait until ``check`` finds something true; return what it found last."""
        deadline_s = asyncio.get_running_loop().time() + within_s
        while not (found := check()) and asyncio.get_running_loop().time() < deadline_s:
            await asyncio.sleep(LOOK_EVERY_S)
        return found

    def seen(self, uid: str) -> Seen | None:
        """One pod."""
        return self.watched.pods.get(uid)

    async def jobs_end(self, names: list[str], within_s: float) -> Ending:
        """Wait until all Jobs have ended. The run succeeded if all of them did."""
        deadline_s = asyncio.get_running_loop().time() + within_s
        while True:
            ends = [_end_of_job(await self.batch.read_namespaced_job_status(n, self.namespace))
                    for n in names]  # fmt: skip
            if Ending.FAILED in ends:
                return Ending.FAILED
            if set(ends) == {Ending.SUCCEEDED}:
                return Ending.SUCCEEDED
            if asyncio.get_running_loop().time() > deadline_s:
                return self.unended()
            await asyncio.sleep(JOBS_EVERY_S)

    def unended(self) -> Ending:
        """The ending of a run that has not ended in time."""
        return Ending.UNFINISHED if any(pod.started for pod in self.pods) else Ending.PENDING


def _mark(manifest: Manifest, run: str) -> None:
    manifest["metadata"].setdefault("labels", {})[MARK] = run
    inner = manifest.get("spec", {})
    for name in ("jobTemplate", "template"):
        if name in inner:
            inner = inner[name]
            if name == "template":
                inner["metadata"].setdefault("labels", {})[MARK] = run
            inner = inner["spec"]


def _end_of_job(job: Any) -> Ending | None:
    ended = {each.type for each in job.status.conditions or [] if each.status == "True"}
    if "Failed" in ended:
        return Ending.FAILED
    return Ending.SUCCEEDED if "Complete" in ended else None
