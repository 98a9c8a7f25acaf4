"""The controller's queue of pods that wait for their turn, with a clock that a test sets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from kubernetes_asyncio import client
from prometheus_client import CollectorRegistry

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.ordering.ordered_tasks import (
    FIRST_LATENCY_S,
    LEAST_RUNTIMES,
    OrderedTasks,
)
from plimsoll_operator.controller.ordering.releases import SETTLING_S, Releases
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import decode_message
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.metrics.ordering import OrderingMetrics
from plimsoll_operator.names import labels
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.sizing.node_hint import PREFERRED
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.encounter import Encounter
from plimsoll_predictor.placing.interference import Interference
from plimsoll_predictor.placing.matrix import Matrix
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.grid import N_BINS
from tests.builders.kubernetes.gate_servers import GateServer, a_gate_server, a_job
from tests.builders.pods import APod, a_pod

CPU, WAIT = TaskId("shop", "cpu"), TaskId("shop", "wait")
TRUTH = {(CPU, CPU): 0.65, (CPU, WAIT): 0.1, (WAIT, CPU): 0.07, (WAIT, WAIT): 0.01}
CREATED = "2026-11-23T12:00:{:02}Z"
NOON_S = read_time(CREATED.format(0)) or 0.0
OURS, OTHERS = {"name": labels.ORDER_GATE}, {"name": "example.com/mine"}
LONG_S = 2 * LEAST_RUNTIMES * FIRST_LATENCY_S


@cache
def learned(runs: int = 400, noise: float = 0.1) -> Matrix:
    """What runs of both tasks taught. noise: that of a run's ln runtime."""
    draw, model = np.random.default_rng(7), Interference()
    for _ in range(runs):
        kind, other = ([CPU, WAIT][int(at)] for at in draw.integers(0, 2, 2))
        share = float(draw.random())
        slow = share * TRUTH[kind, other] + noise * float(draw.normal())
        model.learn(Encounter(str(kind), {str(other): share}, slow))
    return model.matrix()


@dataclass
class Past:
    """What the controller knows of the two tasks. runtimes_s: None where no run is known."""

    matrix: Matrix = field(default_factory=learned)
    runtimes_s: dict[TaskId, float | None] = field(
        default_factory=lambda: {CPU: LONG_S, WAIT: LONG_S}
    )
    complete: bool = True
    store_is_stuck: bool = False

    def residents(self) -> Mapping[str, Mapping[str, int]]:
        return {}

    async def forecast(self, task: TaskId, at_s: float) -> Forecast | None:
        del at_s
        usual_s = self.runtimes_s.get(task)
        return None if usual_s is None else Forecast(np.full(N_BINS, 1 / N_BINS), 5, usual_s)


class Silent(Announcer):
    """Keeps what it would report; Events are tested where they are sent."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def announce(self, happening: Any, pod: Any) -> None:
        self.told.append((happening.reason.value, pod["metadata"]["name"]))

    def tell(self, happening: Any, regarding: Any, task: Any = None) -> None:
        del task
        self.told.append((happening.reason.value, f"{regarding.kind} {regarding.name}"))


@dataclass
class Queueing:
    """Releases with a clock that tests set, over two nodes of two cores each."""

    server: GateServer
    releases: Releases
    policies: TaskPolicies
    past: Past
    board: FeedBoard
    clock: list[float]
    told: list[tuple[str, str]]

    async def look(self, after_s: float = 0.0) -> None:
        self.clock[0] += after_s
        await self.releases.look()

    def see(self, pod: APod, created: int = 0) -> None:
        """Have the API server keep a pod, and its watch report it."""
        self.releases.see(self.server.has(pod, CREATED.format(created)), gone=False)

    def see_all(self) -> None:
        """Have the watch report all pods as they are now."""
        for pod in self.server.pods.values():
            self.releases.see(pod, gone=False)

    def has_job(self, name: str, created: int = 0, *, cpu: str = "1", **spec: Any) -> None:
        """Have the API server keep a Job of pods that compute, which waits."""
        pod = a_pod().labelled(CPU.name).asking(None).with_cpu(cpu)
        job = a_job(name, labels={labels.WAITS: "true"}, pod=pod, **{"suspend": True, **spec})
        self.server.has_job(job, CREATED.format(created))

    @property
    def orders_jobs(self) -> bool:
        """Whether admission is told that Jobs may wait."""
        message = decode_message(self.board.message(0, None))
        return bool(message.orders.get("", {}).get("jobs"))

    @property
    def ordered(self) -> set[str]:
        """The tasks that the feed names to admission."""
        message = decode_message(self.board.message(0, None))
        return set(message.orders.get("", {"tasks": ()})["tasks"])

    def prefers(self, name: str) -> list[str]:
        affinity = self.server.pods[name]["spec"].get("affinity") or {}
        terms = affinity.get("nodeAffinity", {}).get(PREFERRED, [])
        return [term["preference"]["matchExpressions"][0]["values"][0] for term in terms[:1]]


def waits(name: str, task: TaskId = CPU, *gates: dict[str, str], cpu: str = "1") -> APod:
    pod = a_pod().named(name, f"uid-{name}").labelled(task.name).with_cpu(cpu)
    return pod.with_spec(schedulingGates=[*gates, OURS]).annotated({labels.HELD: "{}"})


def runs(name: str, node: str, task: TaskId = CPU) -> APod:
    pod = a_pod().named(name, f"uid-{name}").labelled(task.name).with_cpu("1")
    return pod.with_spec(nodeName=node).with_status(phase="Running")


def a_node(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "2", "memory": "8Gi", "pods": "20"}},
    }


@asynccontextmanager
async def a_queue() -> AsyncIterator[Queueing]:
    """Settled, with a policy that orders; node-1 computes, node-2 waits, one place free on each."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(a_gate_server())
        api = await stack.enter_async_context(
            client.ApiClient(client.Configuration(host=server.url))
        )
        clock, past, board, told = [NOON_S + 30.0], Past(), FeedBoard("e1"), Silent()
        policies = TaskPolicies(Policy(mode=Mode.ENFORCE), Hub())
        policies.set_namespace_spec("shop", {"order": "enforce", "jobsWait": "suspended"})
        releases = Releases(
            api=Kube(api).api,
            ordered=OrderedTasks(past, past, policies),
            board=board,
            announcer=told,
            metrics=OrderingMetrics(CollectorRegistry()),
            store_is_stuck=lambda: past.store_is_stuck,
            now_s=lambda: clock[0],
            monotonic_s=lambda: clock[0],
        )
        made = Queueing(server, releases, policies, past, board, clock, told.told)
        for name in ("node-1", "node-2"):
            releases.see_node(a_node(name), gone=False)
        made.see(runs("computes", "node-1"))
        made.see(runs("waiting", "node-2", WAIT))
        await made.look()
        await made.look(SETTLING_S)
        yield made
