"""A real controller process against the real API server, and pods whose ends the tests write.

The pods name a scheduler that does not exist, so no kubelet touches them: the test writes their
status.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from kubernetes_asyncio import client, config

from plimsoll_operator.names import labels
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.rigs.pauses import pause_s
from tests.rigs.processes.command_lines import PLIMSOLL
from tests.rigs.processes.preloaded import Preloaded, start_plimsoll

RFC_3339 = "%Y-%m-%dT%H:%M:%SZ"
ENDED = {
    "killed": ("Failed", "OOMKilled", 137),
    "succeeded": ("Succeeded", "Completed", 0),
    "failed": ("Failed", "Error", 1),
    "stopped": ("Failed", "Error", 137),
}
PATIENCE_S: Final = 180.0
"""A kubelet that fails to mount or start something tries again after up to two minutes."""


@dataclass(slots=True)
class Shop:
    """One namespace for a test on the real API server."""

    core: client.CoreV1Api
    custom: client.CustomObjectsApi
    namespace: str

    async def pod(self, name: str, task: str = "train", memory: str = "128Mi", **meta: Any) -> str:
        """Create a labelled bare pod that nobody schedules; returns its UID."""
        annotations = {"features.plimsoll.dev/rows": "10", **meta.pop("annotations", {})}
        body = {
            "metadata": {
                "name": name,
                "labels": {labels.TASK: task},
                "annotations": annotations,
                **meta,
            },
            "spec": {
                "schedulerName": "nobody",
                "restartPolicy": "Never",
                "containers": [
                    {
                        "name": "main",
                        "image": "localhost/none:1",
                        "resources": {"requests": {"memory": memory}, "limits": {"memory": memory}},
                    }
                ],
            },
        }
        created = await self.core.create_namespaced_pod(
            self.namespace, body, _preload_content=False
        )
        return str(json.loads(await text_of(created))["metadata"]["uid"])

    async def end(
        self,
        name: str,
        how: str,
        *,
        phase: str | None = None,
        ago: timedelta = timedelta(),
        **of_pod: str,
    ) -> None:
        """Write the pod's end as a kubelet would.

        phase: if the pod itself has not ended yet. of_pod: more fields of its status.
        """
        finished = datetime.now(UTC) - ago
        last_phase, container_reason, exit_code = ENDED[how]
        terminated = {
            "reason": container_reason,
            "exitCode": exit_code,
            "startedAt": (finished - timedelta(minutes=1)).strftime(RFC_3339),
            "finishedAt": finished.strftime(RFC_3339),
            "containerID": f"containerd://{name}",
        }
        status = {
            **of_pod,
            "phase": phase or last_phase,
            "containerStatuses": [
                {
                    "name": "main",
                    "image": "localhost/none:1",
                    "imageID": "",
                    "ready": False,
                    "restartCount": 0,
                    "containerID": f"containerd://{name}",
                    "state": {"terminated": terminated},
                }
            ],
        }
        patched = await self.core.patch_namespaced_pod_status(
            name,
            self.namespace,
            {"status": status},
            _content_type="application/merge-patch+json",
            _preload_content=False,
        )
        await text_of(patched)

    async def pods(self) -> dict[str, Any]:
        """The namespace's pods by name."""
        found = await self.core.list_namespaced_pod(self.namespace)
        return {pod.metadata.name: pod for pod in found.items}

    async def enforce(self, **spec: Any) -> None:
        """Write the namespace's SizingPolicy."""
        body = {
            "apiVersion": "plimsoll.dev/v1alpha1",
            "kind": "SizingPolicy",
            "metadata": {"name": "default"},
            "spec": {"mode": "enforce", **spec},
        }
        await self.custom.create_namespaced_custom_object(
            "plimsoll.dev", "v1alpha1", self.namespace, "sizingpolicies", body
        )

    async def pod_now(self, name: str) -> Any:
        """One pod as it is; None if there is none."""
        try:
            return await self.core.read_namespaced_pod(name, self.namespace)
        except client.ApiException as error:
            if error.status != 404:
                raise
            return None

    async def profile(self, name: str) -> Mapping[str, Any]:
        """One TaskProfile; empty while there is none."""
        try:
            found: Mapping[str, Any] = await self.custom.get_namespaced_custom_object(
                "plimsoll.dev", "v1alpha1", self.namespace, "taskprofiles", name
            )
        except client.ApiException as error:
            if error.status != 404:
                raise
            return {}
        return found

    async def events(self, reason: str) -> list[str]:
        """Notes of the Events with this reason."""
        found = await client.EventsV1Api(self.core.api_client).list_namespaced_event(self.namespace)
        return [event.note for event in found.items if event.reason == reason]

    def task(self, name: str = "train") -> TaskId:
        return TaskId(self.namespace, name)


async def text_of(answer: Any) -> str:
    """An answer's text, without the client's objects: for a pod they take 2 ms.

    Raises:
        ApiException: what the client raises.

    """
    text = str(await answer.text())
    if answer.status >= HTTPStatus.BAD_REQUEST:
        error = client.ApiException(answer.status, answer.reason)
        error.body = text
        raise error
    return text


@contextlib.asynccontextmanager
async def a_shop(kubeconfig: Path) -> AsyncIterator[Shop]:
    """A namespace that goes when the test ends."""
    settings = client.Configuration()
    await config.load_kube_config(config_file=str(kubeconfig), client_configuration=settings)
    async with client.ApiClient(settings) as api:
        core = client.CoreV1Api(api)
        namespace = f"test-{uuid.uuid4().hex[:8]}"
        await core.create_namespace({"metadata": {"name": namespace}})
        try:
            yield Shop(core, client.CustomObjectsApi(api), namespace)
        finally:
            await core.delete_collection_namespaced_pod(namespace, grace_period_seconds=0)
            await core.delete_namespace(namespace)


@dataclass(slots=True)
class ControllerProcess:
    """``plimsoll controller`` in a process of its own."""

    process: Preloaded | asyncio.subprocess.Process
    folder: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    async def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process.returncode is None:
            self.process.send_signal(how)
            await self.process.wait()


def store_url(folder: Path) -> str:
    return f"sqlite:///{folder}/plimsoll.db"


@contextlib.asynccontextmanager
async def a_controller(
    kubeconfig: Path, folder: Path, *, mode: str = "recommend", preloaded: bool = True
) -> AsyncIterator[ControllerProcess]:
    """Started, and ended with the block however that ends.

    preloaded: False for a test that measures memory, which a forked process shares with its server.
    """
    token = folder / "token"
    token.write_text("secret")
    with (folder / "controller.log").open("ab") as log:
        words = (
            *("controller", "--kubeconfig", str(kubeconfig), "--store", store_url(folder)),
            *("--port", "0", "--page-port", "0", "--mode", mode, "--token-file", str(token)),
            *("--training-budget", "2"),
        )
        process = (
            start_plimsoll(words, log, os.environ)
            if preloaded
            else await asyncio.create_subprocess_exec(*PLIMSOLL, *words, stdout=log, stderr=log)
        )
    running = ControllerProcess(process, folder)
    try:
        yield running
    finally:
        await running.end()


def observed(folder: Path, task: TaskId) -> list[Observation]:
    """The store's observations of a task; empty while there is no store."""
    if not (folder / "plimsoll.db").exists():
        return []
    store = Store.open(store_url(folder))
    try:
        return store.observations.of_task(task)
    finally:
        store.close()


async def until(what: str, check: Any, within_s: float = PATIENCE_S) -> Any:
    """Wait until ``check`` (plain or async) is true; returns what it returned.

    within_s: the promised time; without a promise, long enough to be sure that it never comes.
    """
    began_s = asyncio.get_running_loop().time()
    while True:
        found = check()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        waited_s = asyncio.get_running_loop().time() - began_s
        if waited_s > within_s:
            raise AssertionError(f"not within {within_s:.0f} s: {what}")
        await asyncio.sleep(pause_s(waited_s))
