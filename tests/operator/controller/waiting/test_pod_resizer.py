"""One pod resized while its task still learns, against an API server that refuses."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.tasks.publishing import SizingState
from plimsoll_operator.controller.waiting.pod_resizer import PodResizer
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import Refused
from plimsoll_operator.late_binding.waiting_pods import WaitingPods
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from tests.builders.pods import POD_UID, a_pod
from tests.rigs.servers.admission_servers import knowledge_of

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
        known = knowledge_of()
        return AdmissionState(default_policy=Policy(mode=Mode.ENFORCE), tasks={known.task: known})


async def test_a_size_that_is_refused_is_asked_for_once_however_often_its_task_learns() -> None:
    server, waiting = RefusingServer(), WaitingPods()
    waiting.see(WAITING.built())
    resizer = PodResizer(
        cast(Kube, server),
        cast(SizingState, Sizing()),
        cast(Announcer, cast(Any, None)),
        ControllerMetrics(0).late_binding,
        waiting,
    )
    await asyncio.gather(*(resizer.resize(POD_UID) for _ in range(3)))
    assert server.refused == 1
