"""One pod resized while its task still learns, against an API server that refuses."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.tasks.publishing import SizingState
from plimsoll_operator.controller.waiting.late_binding import AT_ONCE, LateBinding
from plimsoll_operator.controller.waiting.pod_resizer import PodResizer
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import Refused
from plimsoll_operator.late_binding.waiting_pods import WaitingPods
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.names.labels import DECISION
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.sizing.decision_note import note_to_json
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from tests.builders.kubernetes.waiting_pods import LATE_S, needing, waiting, with_cpu
from tests.builders.pods import POD_UID, a_pod
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of

WAITING = a_pod().named("train-1").asking("4Gi").limited("4Gi").with_status(phase="Pending")


class RefusingServer:
    """Takes annotations and refuses every resize, a moment later."""

    def __init__(self) -> None:
        self.refused = 0

    async def annotate_pod(self, pod: Pod, _: object) -> Pod:
        await asyncio.sleep(0)
        return pod

    async def resize_pod(self, pod: Pod, _: object) -> Pod:
        await asyncio.sleep(0)
        self.refused += 1
        raise Refused(f"no resize of {pod['metadata']['name']}")

    async def may(self, *_: str) -> bool:
        await asyncio.sleep(0)
        return True


class Sizing:
    """The size of one known task."""

    def for_pod(self, _: Pod) -> AdmissionState:
        return self.of_task(TRAIN)

    def of_task(self, task: TaskId) -> AdmissionState:
        known = knowledge_of(task)
        return AdmissionState(default_policy=Policy(mode=Mode.ENFORCE), tasks={task: known})


def resizing(server: RefusingServer) -> PodResizer:
    """A resizer that knows one waiting pod."""
    waiting = WaitingPods()
    waiting.see(WAITING.built())
    return PodResizer(
        cast(Kube, server),
        cast(SizingState, Sizing()),
        cast(Announcer, cast(Any, None)),
        ControllerMetrics(0).late_binding,
        waiting,
    )


class OldServer(RefusingServer):
    """Says its version, and remembers which limits it was asked for."""

    def __init__(self, minor: str) -> None:
        super().__init__()
        self.api = self
        self.minor = minor
        self.limits: list[str] = []

    async def get(self, path: str) -> dict[str, Any]:
        await asyncio.sleep(0)
        if path == "/version":
            return {"major": "1", "minor": self.minor}
        return {"resources": [{"name": "pods/resize", "verbs": ["patch"]}]}

    async def resize_pod(self, pod: Pod, body: object) -> Pod:
        await asyncio.sleep(0)
        [container] = cast(Any, body)["spec"]["containers"]
        self.limits.append(container["resources"]["limits"]["memory"])
        raise Refused(f"no resize of {pod['metadata']['name']}")


@pytest.mark.parametrize(("minor", "limit"), [("33", "4Gi"), ("33+", "4Gi"), ("34", "1127Mi")])
async def test_no_limit_is_lowered_before_kubernetes_1_34(minor: str, limit: str) -> None:
    server = OldServer(minor)
    resizer = resizing(server)
    binding = LateBinding(resizer, 50.0)
    work = asyncio.create_task(binding.run())
    try:
        async with asyncio.timeout(60):
            while not server.limits:
                binding.learned(TRAIN)
                await asyncio.sleep(0.01)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    assert server.limits == [limit]


async def test_another_limit_at_the_same_request_is_another_size() -> None:
    server = RefusingServer()
    resizer = resizing(server)
    for limits_fall in (True, True, False, False):
        resizer.limits_fall = limits_fall
        await resizer.resize(POD_UID)
    assert server.refused == 2


async def test_a_size_that_is_refused_is_asked_for_once_however_often_its_task_learns() -> None:
    server = RefusingServer()
    resizer = resizing(server)
    await asyncio.gather(*(resizer.resize(POD_UID) for _ in range(3)))
    assert server.refused == 1


class KeepsCpu(RefusingServer):
    """Lets no CPU request fall, and takes each other resize."""

    def __init__(self, pod: Pod) -> None:
        super().__init__()
        self.pod = pod
        self.requests: list[dict[str, str]] = []

    async def read_pod(self, *_: str) -> Pod:
        await asyncio.sleep(0)
        return self.pod

    async def resize_pod(self, pod: Pod, body: object) -> Pod:
        await asyncio.sleep(0)
        [container] = cast(Any, body)["spec"]["containers"]
        self.requests.append(container["resources"]["requests"])
        if "cpu" in self.requests[-1]:
            raise Refused("no CPU request below 100m")
        return pod


async def test_where_no_cpu_request_may_fall_memory_is_given_back_all_the_same() -> None:
    state = needing(5000)
    pod = with_cpu(waiting(state), was=None).built()
    server = KeepsCpu(pod)
    resizer = resizing(server)
    resizer.sizing = cast(SizingState, Knowing(state))
    resizer.now_s = lambda: LATE_S
    resizer.waiting.see(pod)
    await resizer.resize(POD_UID)
    assert server.requests == [{"memory": "4000Mi", "cpu": "0"}, {"memory": "4000Mi"}]


@dataclass(slots=True)
class Knowing:
    """Sizes by what a test knows."""

    state: AdmissionState

    def for_pod(self, _: Pod) -> AdmissionState:
        return self.state


class NotingServer(OldServer):
    """Remembers on which pods it was asked to write."""

    def __init__(self) -> None:
        super().__init__("34")
        self.noted: list[str] = []

    async def annotate_pod(self, pod: Pod, _: object) -> Pod:
        await asyncio.sleep(0)
        self.noted.append(pod["metadata"]["uid"])
        return pod


async def test_a_pod_that_rescue_may_have_raised_keeps_its_note_until_it_says_so() -> None:
    """The raise may be seen before the annotation that tells what the pod had."""
    decided = size(WAITING.built(), Sizing().of_task(TRAIN)).note
    assert decided is not None
    note = replace(decided, before_bytes=4 * GIB)
    server = NotingServer()
    bound = WAITING.annotated({DECISION: note_to_json(note)}).with_spec(nodeName="node-1")
    binding = LateBinding(resizing(server), 50.0, lambda uid: uid == POD_UID)
    work = asyncio.create_task(binding.run())
    try:
        async with asyncio.timeout(60):
            binding.see(bound.built(), gone=False)
            binding.see(bound.named("train-2", "another").built(), gone=False)
            while not server.noted:
                await asyncio.sleep(0.01)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    assert server.noted == ["another"]


class ResizingServer(OldServer):
    """Resizes what it is asked to."""

    async def resize_pod(self, pod: Pod, body: object) -> Pod:
        with contextlib.suppress(Refused):
            await super().resize_pod(pod, body)
        return {**pod, "status": {"phase": "Running"}}


class StuckAnnouncer:
    """A store that cannot be written keeps every announcement waiting."""

    def __init__(self) -> None:
        self.waiting = 0

    async def resized(self, *_: object) -> None:
        self.waiting += 1
        await asyncio.Event().wait()


async def test_pods_are_resized_while_the_store_cannot_be_written() -> None:
    server, announcer = ResizingServer("34"), StuckAnnouncer()
    resizer = resizing(server)
    resizer.announcer = cast(Announcer, announcer)
    for number in range(2 * AT_ONCE):
        resizer.waiting.see(WAITING.named(f"train-{number}", f"uid-{number}").built())
    binding = LateBinding(resizer, 1000.0)
    work = asyncio.create_task(binding.run())
    try:
        async with asyncio.timeout(60):
            binding.learned(TRAIN)
            while announcer.waiting < AT_ONCE:
                await asyncio.sleep(0.01)
            resized = len(server.limits)
            resizer.waiting.see(WAITING.named("later", "uid-later").built())
            while len(server.limits) == resized:
                binding.learned(TRAIN)
                await asyncio.sleep(0.01)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    assert announcer.waiting == AT_ONCE
