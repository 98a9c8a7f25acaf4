"""The real node of ``make bench-live``: Plimsoll on it, pods that grow, and their results."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from deploy.local import lifecycle
from deploy.local.layout import layout_from
from deploy.local.machine.namespaces import is_inside_network, move_into_network
from kubernetes_asyncio import client, config

from plimsoll_operator.names import labels
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from tests.apiserver.controllers import until
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll, a_plimsoll
from tests.harm.watching import MARK, Seen, Watched, watched
from tests.rigs.images.eater import IMAGE, load_eater

ENDED_WITHIN_S: Final = 600.0
LOOK_EVERY_S: Final = 0.2


@contextlib.contextmanager
def node() -> Iterator[Cluster]:
    """The local cluster, with the program that eats memory; it is left as it was found."""
    handle = lifecycle.Cluster(layout_from(os.environ), dict(os.environ))
    started = lifecycle.up(handle, lambda text: print(text, file=sys.stderr))
    try:
        inside = is_inside_network(handle.layout.netns)
        leave = None if inside else move_into_network(handle.layout.netns)
        try:
            cluster = Cluster(handle)
            load_eater(handle.layout)
            cluster.kubectl("apply", "-f", "deploy/crds")
            yield cluster
        finally:
            if leave is not None:
                leave()
    finally:
        if started:
            lifecycle.down(handle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a run does: it takes memory in equal steps over ``grows_s``, then holds it.

    asks_mib: its request and limit, as its author wrote them. features: known beforehand.
    """

    needs_mib: int
    asks_mib: int
    grows_s: int
    holds_s: int
    features: Mapping[str, str]

    def pod(self, name: str, task: str, mark: str) -> dict[str, Any]:
        """A bare pod that runs it; Plimsoll creates its next attempts."""
        memory = {"memory": f"{self.asks_mib}Mi"}
        words = ["/task", "grow", *(str(n) for n in (self.needs_mib, self.grows_s, self.holds_s))]
        features = {f"{labels.FEATURE_PREFIX}{name}": text for name, text in self.features.items()}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": {labels.TASK: task, MARK: mark},
                "annotations": features,
            },
            "spec": {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 0,
                "automountServiceAccountToken": False,
                "containers": [
                    {
                        "name": "main",
                        "image": IMAGE,
                        "imagePullPolicy": "Never",
                        "command": words,
                        "resources": {"requests": memory, "limits": dict(memory)},
                    }
                ],
            },
        }


@dataclass(frozen=True, slots=True)
class Stand:
    """A namespace of the node in which Plimsoll sizes pods."""

    core: client.CoreV1Api
    namespace: str
    watched: Watched
    plimsoll: Plimsoll

    async def submit(self, name: str, task: str, program: Program) -> str:
        """Create a run's first pod; return its UID."""
        made = await self.core.create_namespaced_pod(
            self.namespace, program.pod(name, task, self.namespace)
        )
        return str(made.metadata.uid)

    @property
    def pods(self) -> list[Seen]:
        """All pods that ever existed, oldest first."""
        return self.watched.of(self.namespace)

    def observed(self, task: str) -> list[Observation]:
        """What Plimsoll observed of a task, in the order of submission."""
        found = self.plimsoll.observations(TaskId(self.namespace, task))
        return sorted(found, key=lambda each: (each.submitted_s or 0, each.attempt))

    def succeeded(self, task: str) -> list[Observation]:
        """The attempts of a task that succeeded and have a known peak."""
        return [
            each
            for each in self.observed(task)
            if each.outcome is Outcome.SUCCEEDED and each.peak_bytes is not None
        ]

    async def until(self, what: str, check: Callable[[], Any]) -> Any:
        """Wait until ``check`` returns something true; AssertionError if it does not in time."""
        return await until(what, check, ENDED_WITHIN_S)

    def decision(self, uid: str) -> Mapping[str, Any]:
        """The decision that Plimsoll wrote on a pod; empty if none."""
        seen = self.watched.pods.get(uid)
        return {} if seen is None else seen.decision


@contextlib.asynccontextmanager
async def a_stand(
    cluster: Cluster, *words: str, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Stand]:
    """Plimsoll on the node, and a namespace; both are removed at the end of the block.

    words: more options of ``plimsoll run``. environment: more environment variables.
    """
    settings = client.Configuration()
    await config.load_kube_config(
        config_file=str(cluster.kubeconfig), client_configuration=settings
    )
    namespace = f"live-{uuid.uuid4().hex[:8]}"
    with tempfile.TemporaryDirectory(prefix="plimsoll-live-") as folder:
        with _set(environment or {}):
            plimsolls = a_plimsoll(cluster, Path(folder), "--mode", "enforce", *words)
            plimsoll = plimsolls.__enter__()
        try:
            async with client.ApiClient(settings) as api, watched(client.CoreV1Api(api)) as seen:
                core = client.CoreV1Api(api)
                await core.create_namespace({"metadata": {"name": namespace}})
                try:
                    await _has_account(core, namespace)
                    yield Stand(core, namespace, seen, plimsoll)
                finally:
                    await core.delete_collection_namespaced_pod(namespace, grace_period_seconds=0)
                    await core.delete_namespace(namespace)
        finally:
            plimsolls.__exit__(None, None, None)


async def _has_account(core: client.CoreV1Api, namespace: str) -> None:
    while not (await core.list_namespaced_service_account(namespace)).items:
        await asyncio.sleep(LOOK_EVERY_S)


@contextlib.contextmanager
def _set(environment: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
