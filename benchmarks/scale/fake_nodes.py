"""Nodes without a machine: kwok plays the kubelets of thousands of pods on a real API server.

kwok writes each status as a kubelet would; nothing runs. A stage says what it writes on which pods.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from plimsoll_operator.kube.api_server import CORE, ApiServer, path_of
from plimsoll_operator.kube.errors import AlreadyThere
from plimsoll_operator.names import labels

AT_ONCE: Final = 16
PODS_OF_A_NODE: Final = 100
PART: Final = "bench.plimsoll.dev/part"
END: Final = "bench.plimsoll.dev/end"
AFTER: Final = "bench.plimsoll.dev/after"
ENDED: Final = "bench.plimsoll.dev/Ended"
"""A condition whose message is the moment when kwok wrote a pod's end."""
FAKE: Final = {"kwok.x-k8s.io/node": "fake"}
PLAYED_AT_ONCE: Final = 32
READ: Final = 500
LOST: Final = 20
"""How many pods with a fault are named at most."""

RUNNING_STATUS: Final = """
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
conditions:
- {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
- {type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }}}
- {type: ContainersReady, status: "True", lastTransitionTime: {{ $now | Quote }}}
containerStatuses:
- name: main
  image: localhost/none:1
  imageID: ""
  containerID: {{ printf "containerd://%s" .metadata.uid | Quote }}
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ $now | Quote }}}}
"""
ENDED_STATUS: Final = f"""
{{{{ $now := Now }}}}
{{{{ $killed := eq (index .metadata.labels "{END}") "killed" }}}}
{{{{ $before := index .status.containerStatuses 0 }}}}
phase: {{{{ if $killed }}}}Failed{{{{ else }}}}Succeeded{{{{ end }}}}
conditions:
- {{type: Ready, status: "False", lastTransitionTime: {{{{ $now | Quote }}}}}}
- {{type: {ENDED}, status: "True", message: {{{{ $now | Quote }}}}}}
containerStatuses:
- name: main
  image: localhost/none:1
  imageID: ""
  containerID: {{{{ $before.containerID | Quote }}}}
  ready: false
  started: false
  restartCount: 0
  state:
    terminated:
      reason: {{{{ if $killed }}}}OOMKilled{{{{ else }}}}Completed{{{{ end }}}}
      exitCode: {{{{ if $killed }}}}137{{{{ else }}}}0{{{{ end }}}}
      startedAt: {{{{ $before.state.running.startedAt | Quote }}}}
      finishedAt: {{{{ $now | Quote }}}}
      containerID: {{{{ $before.containerID | Quote }}}}
"""


def stage(
    name: str, phase: str, status: str, *, part: str | None = None, after: str | None = None
) -> dict[str, Any]:
    """Return a stage of pods in a phase. part: only pods with it; after: annotation of a delay."""
    selector: dict[str, Any] = {
        "matchExpressions": [{"key": ".status.phase", "operator": "In", "values": [phase]}]
    }
    if part is not None:
        selector["matchLabels"] = {PART: part}
    delay = {"durationFrom": {"expressionFrom": f'.metadata.annotations["{after}"]'}}
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "selector": selector,
            **({"delay": delay} if after else {}),
            "next": {"statusTemplate": status},
        },
    }


STARTS: Final = stage("starts", "Pending", RUNNING_STATUS)


def ends(part: str, *, after: str | None = None) -> dict[str, Any]:
    """Return the stage in which a part of the pods ends: at once, or after each pod's own delay."""
    return stage("ends", "Running", ENDED_STATUS, part=part, after=after)


@dataclass(slots=True)
class FakeNodes:
    """A namespace of pods on fake nodes. kwok: the program. folder: for its files."""

    api: ApiServer
    namespace: str
    kwok: Path
    kubeconfig: Path
    folder: Path

    @property
    def path(self) -> str:
        """The API path of the pods."""
        return path_of(CORE, "pods", self.namespace)

    async def make_nodes(self, count: int) -> list[str]:
        """Create the nodes; return their names."""
        names = [f"{self.namespace}-{number}" for number in range(count)]
        nodes = path_of(CORE, "nodes")
        await at_once(self._made(nodes, _node(name)) for name in names)
        return names

    async def make_pods(self, pods: Iterable[Mapping[str, Any]], tell: Callable[[], None]) -> None:
        """Create the pods. tell: is called after each."""

        async def one(body: Mapping[str, Any]) -> None:
            await self._made(self.path, body)
            tell()

        await at_once(one(body) for body in pods)

    async def _made(self, path: str, body: Mapping[str, Any]) -> None:
        with contextlib.suppress(AlreadyThere):
            await self.api.create(path, body)

    @contextlib.contextmanager
    def played(self, stage: Mapping[str, Any]) -> Iterator[int]:
        """Let kwok play one stage meanwhile; yield its process id."""
        settings = {
            "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
            "kind": "KwokConfiguration",
            "options": {"podPlayStageParallelism": PLAYED_AT_ONCE, "enableCRDs": []},
        }
        # Otherwise kwok would keep nodes alive for a controller that is not running.
        still = stage_of_no_node()
        name = stage["metadata"]["name"]
        file = self.folder / f"{name}.yaml"
        # JSON is YAML.
        file.write_text("\n---\n".join(map(json.dumps, (settings, still, stage))))
        argv = [str(self.kwok), "--kubeconfig", str(self.kubeconfig), "--config", str(file)]
        argv += ["--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake"]
        argv += ["--node-lease-duration-seconds", "0", "--v", "ERROR"]
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=log)
            try:
                yield process.pid
                if process.poll() is not None:
                    raise SystemExit(f"kwok ended with {process.returncode}; see {log.name}")
            finally:
                process.terminate()
                process.wait(30)

    async def wait_until_none_is(self, phase: str, within_s: float) -> None:
        """Wait until no pod is in a phase."""
        query = {"fieldSelector": f"status.phase={phase}", "limit": "1"}
        async with asyncio.timeout(within_s):
            while (await self.api.get(self.path, query)).get("items"):
                await asyncio.sleep(0.5)

    async def each(self) -> AsyncIterator[dict[str, Any]]:
        """All pods, page by page: there may be more than Plimsoll's own list reads."""
        more: str | None = ""
        while more is not None:
            query = {"limit": str(READ), **({"continue": more} if more else {})}
            page = await self.api.get(self.path, query)
            for pod in page.get("items") or []:
                yield pod
            more = (page.get("metadata") or {}).get("continue") or None

    async def ended_s(self) -> dict[str, float]:
        """UID -> when kwok wrote the pod's end, Unix seconds; only pods that have ended."""
        return {
            pod["metadata"]["uid"]: datetime.fromisoformat(each["message"]).timestamp()
            async for pod in self.each()
            for each in pod["status"].get("conditions") or ()
            if each["type"] == ENDED
        }

    async def remove(self, tell: Callable[[], None]) -> None:
        """Delete pods and nodes, without grace: nobody would confirm that they ended."""
        names = [pod["metadata"]["name"] async for pod in self.each()]

        async def one(name: str) -> None:
            await self.api.delete(f"{self.path}/{name}")
            tell()

        await at_once(one(name) for name in names)
        nodes = path_of(CORE, "nodes")
        mine = [
            each["metadata"]["name"]
            for each in await self.api.items(nodes)
            if each["metadata"]["name"].startswith(f"{self.namespace}-")
        ]
        await at_once(self.api.delete(f"{nodes}/{name}") for name in mine)


def a_pod(number: int, *, task: str, node: str, part: str, after_s: float = 0.0) -> dict[str, Any]:
    """Return a pod that kwok runs. Every fiftieth is killed for memory. after_s: to its end."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"run-{number}",
            "labels": {
                labels.TASK: task,
                PART: part,
                END: "killed" if number % 50 == 49 else "succeeded",
            },
            "annotations": {
                "features.plimsoll.dev/rows": str(number % 977),
                AFTER: f"{after_s:.3f}s",
            },
        },
        "spec": {
            "nodeName": node,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": "main",
                    "image": "localhost/none:1",
                    "resources": {
                        "requests": {"memory": "128Mi", "cpu": "10m"},
                        "limits": {"memory": "128Mi"},
                    },
                }
            ],
        },
    }


def _node(name: str) -> dict[str, Any]:
    size = {"cpu": "36", "memory": "72Gi", "pods": str(2 * PODS_OF_A_NODE)}
    ready = {"type": "Ready", "status": "True", "reason": "Bench", "message": "nothing runs here"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": FAKE},
        "status": {"capacity": size, "allocatable": size, "conditions": [ready]},
    }


def stage_of_no_node() -> dict[str, Any]:
    """Return a stage that no node ever reaches; it replaces kwok's own heartbeat of every node."""
    never = stage("still", "never", "{}")
    never["spec"]["resourceRef"]["kind"] = "Node"
    return never


async def at_once(calls: Iterable[Awaitable[Any]]) -> None:
    """Make calls, AT_ONCE of them at a time."""
    waiting = iter(calls)

    async def some() -> None:
        for call in waiting:
            await call

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))
