"""The controller lets pods go in their turn, and all at once where nobody wants an order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from kubernetes_asyncio import client
from prometheus_client import CollectorRegistry

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.ordering.ordered_tasks import (
    FIRST_LATENCY_S,
    LEAST_RUNTIMES,
    OrderedTasks,
)
from plimsoll_operator.controller.ordering.other_pods import SEEN_FOR_S
from plimsoll_operator.controller.ordering.releases import (
    AGAIN_AFTER_S,
    REFUSED_FOR_S,
    RENEW_EVERY_S,
    SETTLING_S,
    TRIES,
    Releases,
)
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import decode_message
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.metrics.ordering import OrderingMetrics
from plimsoll_operator.names import labels
from plimsoll_operator.ordering.gate import MOST_WAIT_S
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.sizing.node_hint import PREFERRED
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.encounter import Encounter
from plimsoll_predictor.placing.interference import Interference
from plimsoll_predictor.placing.matrix import Matrix
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.grid import N_BINS
from tests.builders.gate_servers import GateServer, a_gate_server
from tests.builders.pods import APod, a_pod

CPU, WAIT = TaskId("shop", "cpu"), TaskId("shop", "wait")
TRUTH = {(CPU, CPU): 0.65, (CPU, WAIT): 0.1, (WAIT, CPU): 0.07, (WAIT, WAIT): 0.01}
CREATED = "2026-11-23T12:00:{:02}Z"
NOON_S = read_time(CREATED.format(0)) or 0.0
OURS, OTHERS = {"name": labels.ORDER_GATE}, {"name": "example.com/mine"}
LONG_S = 2 * LEAST_RUNTIMES * FIRST_LATENCY_S


@cache
def learned() -> Matrix:
    """What several hundred runs of both tasks taught."""
    draw, model = np.random.default_rng(7), Interference()
    for _ in range(400):
        kind, other = ([CPU, WAIT][int(at)] for at in draw.integers(0, 2, 2))
        share = float(draw.random())
        slow = share * TRUTH[kind, other] + 0.1 * float(draw.normal())
        model.learn(Encounter(str(kind), {str(other): share}, slow))
    return model.matrix()


@dataclass
class Past:
    """What the controller knows of the two tasks. runtimes_s: None where no run is known."""

    matrix: Matrix = field(default_factory=learned)
    runtimes_s: dict[TaskId, float | None] = field(
        default_factory=lambda: {CPU: LONG_S, WAIT: LONG_S}
    )

    def residents(self) -> Mapping[str, Mapping[str, int]]:
        return {}

    async def forecast(self, task: TaskId, at_s: float) -> Forecast | None:
        del at_s
        usual_s = self.runtimes_s.get(task)
        return None if usual_s is None else Forecast(np.full(N_BINS, 1 / N_BINS), 5, usual_s)


class Silent(Announcer):
    """Keeps what it would tell; Events are tested where they are sent."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def announce(self, happening: Any, pod: Any) -> None:
        self.told.append((happening.reason.value, pod["metadata"]["name"]))


@dataclass
class Queueing:
    """Releases at a time of ours, over two nodes of two cores each."""

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
        """Have the API server keep a pod, and its watch tell of it."""
        self.releases.see(self.server.has(pod, CREATED.format(created)), gone=False)

    def see_all(self) -> None:
        """The watch tells of all pods as they are now."""
        for pod in self.server.pods.values():
            self.releases.see(pod, gone=False)

    @property
    def ordered(self) -> set[str]:
        """The tasks that admission is told of."""
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


@pytest_asyncio.fixture
async def queueing() -> AsyncIterator[Queueing]:
    """Settled, with a policy that orders; node-1 computes, node-2 waits, one place free on each."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(a_gate_server())
        api = await stack.enter_async_context(
            client.ApiClient(client.Configuration(host=server.url))
        )
        clock, past, board, told = [NOON_S + 30.0], Past(), FeedBoard("e1"), Silent()
        policies = TaskPolicies(Policy(mode=Mode.ENFORCE), Hub())
        policies.set_namespace_spec("shop", {"order": "enforce"})
        releases = Releases(
            api=Kube(api).api,
            ordered=OrderedTasks(past, past, policies),
            board=board,
            announcer=told,
            metrics=OrderingMetrics(CollectorRegistry()),
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


async def test_each_goes_where_it_gets_along_and_no_further_than_there_is_room(
    queueing: Queueing,
) -> None:
    for number in range(4):
        queueing.see(waits(f"cpu-{number}"), created=number)
    await queueing.look()
    assert queueing.server.held == {"cpu-2", "cpu-3"}
    assert queueing.prefers("cpu-0") == ["node-2"]
    assert queueing.told[-2:] == [("Released", "cpu-0"), ("Released", "cpu-1")]
    await queueing.look()
    assert queueing.server.held == {"cpu-2", "cpu-3"}


async def test_who_gets_along_overtakes_and_that_is_counted(queueing: Queueing) -> None:
    queueing.see(runs("third", "node-2"))
    queueing.see(waits("cpu-0"), created=1)
    queueing.see(waits("wait-0", WAIT), created=2)
    await queueing.look()
    assert queueing.server.held == {"cpu-0"}
    assert queueing.prefers("wait-0") == ["node-1"]
    (first,) = queueing.releases.held.queue(lambda _task: True)
    assert first.overtaken == 1


async def test_room_that_comes_is_used(queueing: Queueing) -> None:
    for number in range(3):
        queueing.see(waits(f"cpu-{number}"), created=number)
    await queueing.look()
    assert queueing.server.held == {"cpu-2"}
    queueing.see(runs("cpu-0", "node-2"))
    queueing.see(runs("cpu-1", "node-1"))
    await queueing.look(20.0)  # nothing is awaited any more: they are there
    assert queueing.server.held == {"cpu-2"}
    queueing.see(runs("computes", "node-1").with_status(phase="Succeeded"))
    await queueing.look()
    assert queueing.server.held == set()


async def test_pods_of_no_task_take_room(queueing: Queueing) -> None:
    other = a_pod().named("web", "uid-web").unlabelled().with_cpu("2")
    queueing.server.has(other.with_spec(nodeName="node-1").with_status(phase="Running"))
    for number in range(2):
        queueing.see(waits(f"cpu-{number}"), created=number)
    await queueing.look()
    assert queueing.server.held == {"cpu-1"}
    queueing.server.pods["web"]["status"]["phase"] = "Succeeded"
    await queueing.look(10.0)
    assert queueing.server.held == set()


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"order": "never"}, id="the policy wants no order any more"),
        pytest.param({"order": "enforce", "mode": "off"}, id="it is switched off"),
        pytest.param({"order": "enforce", "paused": True}, id="it is paused"),
        pytest.param(None, id="the policy is gone"),
    ],
)
async def test_where_nobody_wants_an_order_all_go(
    queueing: Queueing, spec: dict[str, Any] | None
) -> None:
    for number in range(4):
        queueing.see(waits(f"cpu-{number}", cpu="2"), created=number)
    await queueing.look()
    assert len(queueing.server.held) == 4
    queueing.policies.set_namespace_spec("shop", spec)
    await queueing.look()
    assert queueing.server.held == set()
    assert queueing.ordered == set()
    assert queueing.prefers("cpu-0") == []


async def test_nobody_waits_for_longer_than_may_be(queueing: Queueing) -> None:
    queueing.see(waits("large", cpu="2"))
    await queueing.look()
    assert queueing.server.held == {"large"}
    await queueing.look(MOST_WAIT_S - 60.0)
    assert queueing.server.held == {"large"}
    await queueing.look(60.0)
    assert queueing.server.held == set()


async def test_whom_somebody_else_holds_too_is_let_go_by_us_alone(queueing: Queueing) -> None:
    queueing.see(waits("both", CPU, OTHERS, cpu="2"))
    await queueing.look()
    assert queueing.server.held == set()
    assert queueing.server.pods["both"]["spec"]["schedulingGates"] == [OTHERS]


async def test_who_fits_on_no_node_waits_for_the_scheduler(queueing: Queueing) -> None:
    queueing.see(waits("huge", cpu="64"))
    await queueing.look()
    assert queueing.server.held == set()


async def test_a_later_pod_that_the_scheduler_has_ends_the_wait_of_earlier_ones(
    queueing: Queueing,
) -> None:
    queueing.see(waits("early", cpu="2"), created=1)
    queueing.see(waits("late", cpu="2"), created=9)
    await queueing.look()
    assert queueing.server.held == {"early", "late"}
    outside = a_pod().named("outside", "uid-o").labelled("other").with_cpu("2")
    queueing.see(outside, created=5)
    await queueing.look()
    assert queueing.server.held == {"late"}


async def test_a_pod_that_changes_under_a_release_is_looked_at_again(queueing: Queueing) -> None:
    queueing.see(waits("cpu-0"))
    queueing.server.meddle = 2
    await queueing.look()
    assert queueing.server.held == set()


async def test_a_pod_that_went_is_forgotten(queueing: Queueing) -> None:
    queueing.see(waits("cpu-0"))
    del queueing.server.pods["cpu-0"]
    await queueing.look()
    assert len(queueing.releases.held) == 0


async def test_whose_label_somebody_took_away_is_let_go(queueing: Queueing) -> None:
    pod = waits("large", cpu="2")
    queueing.see(pod)
    await queueing.look()
    assert queueing.server.held == {"large"}
    # The watch tells that it is gone, by what it was; the API server has it without the label.
    queueing.releases.see(queueing.server.has(pod), gone=True)
    queueing.server.pods["large"]["metadata"]["labels"] = {}
    await queueing.look()
    assert queueing.server.held == set()


async def test_a_pod_that_was_deleted_is_asked_for_once(queueing: Queueing) -> None:
    pod = waits("large", cpu="2")
    queueing.see(pod)
    document = queueing.server.pods.pop("large")
    queueing.releases.see(document, gone=True)
    await queueing.look()
    assert len(queueing.releases.held) == 0


async def test_who_may_not_remove_gates_has_none_made(queueing: Queueing) -> None:
    await queueing.look()
    assert queueing.ordered == {str(CPU), str(WAIT)}
    queueing.server.permitted = False
    queueing.see(waits("cpu-0"))
    await queueing.look()
    await queueing.look()
    assert queueing.ordered == set()
    queueing.server.permitted = True
    await queueing.look(REFUSED_FOR_S)
    assert queueing.server.held == set()
    await queueing.look()
    assert queueing.ordered == {str(CPU), str(WAIT)}


async def test_a_rule_against_names_of_hosts_costs_a_pod_its_preference(
    queueing: Queueing,
) -> None:
    queueing.server.hosts_refused = True
    queueing.see(waits("cpu-0"))
    await queueing.look()
    assert queueing.server.held == set()
    assert queueing.prefers("cpu-0") == []


async def test_a_pod_that_changes_all_the_time_keeps_nobody_waiting(queueing: Queueing) -> None:
    queueing.see(waits("cpu-0"), created=1)
    queueing.see(waits("cpu-1"), created=2)
    queueing.server.meddle = TRIES
    await queueing.look()
    assert queueing.server.held == {"cpu-0"}
    await queueing.look(AGAIN_AFTER_S)
    assert queueing.server.held == set()


async def test_while_pods_of_no_task_cannot_be_listed_nobody_waits_for_long(
    queueing: Queueing,
) -> None:
    queueing.see(waits("large", cpu="2"))
    await queueing.look()
    assert queueing.server.held == {"large"}
    queueing.server.lists = False
    await queueing.look(SEEN_FOR_S - 1.0)
    assert queueing.server.held == {"large"}
    await queueing.look(2.0)
    assert queueing.server.held == set()


async def test_a_controller_that_has_just_begun_lets_nobody_go(queueing: Queueing) -> None:
    queueing.releases._began_s = queueing.clock[0]
    queueing.see(waits("cpu-0"))
    await queueing.look(SETTLING_S - 1.0)
    assert queueing.server.held == {"cpu-0"}
    await queueing.look(1.0)
    assert queueing.server.held == set()


async def test_only_tasks_that_run_long_enough_are_ordered(queueing: Queueing) -> None:
    queueing.past.runtimes_s = {CPU: LEAST_RUNTIMES * FIRST_LATENCY_S - 1, WAIT: None}
    await queueing.look(RENEW_EVERY_S)
    assert queueing.ordered == set()
    # Releases were measured to be quick: shorter tasks are worth it.
    queueing.releases.ordered.latency.saw(FIRST_LATENCY_S / 4)
    await queueing.look(RENEW_EVERY_S)
    assert queueing.ordered == {str(CPU)}


async def test_a_release_is_timed_until_the_pod_has_a_node(queueing: Queueing) -> None:
    queueing.see(waits("cpu-0"))
    await queueing.look()
    queueing.clock[0] += 0.4
    queueing.see(runs("cpu-0", "node-2"))
    assert queueing.releases.ordered.latency.usual_s == pytest.approx(0.4)


async def test_an_untaught_plimsoll_orders_nobody(queueing: Queueing) -> None:
    queueing.past.matrix = Interference().matrix()
    await queueing.look(RENEW_EVERY_S)
    assert queueing.ordered == set()


async def test_a_controller_that_ends_has_no_more_gates_made(queueing: Queueing) -> None:
    running = asyncio.create_task(queueing.releases.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert queueing.ordered == set()
