"""An observation's facts about an attempt's time: load, node, and size."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.attempts.living import Placed, Placement
from plimsoll_operator.controller.hub.habits import SEEN_AT_ONCE_S
from plimsoll_operator.controller.tasks.nodes import Capacity, ClusterNodes
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.store import SightingKind
from tests.builders.controller.ledgers import TRAIN, Inside, a_train, an_inside, ended
from tests.builders.pods import APod
from tests.rigs.servers.admission_servers import until_true

CREATED_S = 1_767_225_645.0
CREATED = "2026-01-01T00:00:45Z"
"""A quarter of a minute before the ledger's standing clock."""


def a_created(name: str = "train-1", memory: str = "256Mi") -> APod:
    pod = a_train(name, memory).built()
    return APod(pod | {"metadata": pod["metadata"] | {"creationTimestamp": CREATED}})


def a_node(
    name: str = "node-1", kind: str | None = "n2-standard-8", memory: str = "1Gi", cpu: str = "4"
) -> dict[str, Any]:
    labels = {} if kind is None else {"node.kubernetes.io/instance-type": kind}
    allocatable = {"memory": memory, "cpu": cpu}
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": allocatable},
    }


def running(pod: APod, node: str = "node-1") -> APod:
    state = {"running": {"startedAt": "2026-01-01T00:00:50Z"}}
    status = {"name": "main", "restartCount": 0, "state": state}
    return pod.with_spec(nodeName=node).with_status(phase="Running", containerStatuses=[status])


def observed(inside: Inside) -> Observation:
    [found] = inside.store.observations.of_task(TRAIN)
    return found


@pytest.mark.slow
async def test_an_attempt_has_the_type_of_its_node_and_what_it_ran_under(tmp_path: Path) -> None:
    pod = a_created(memory="256Mi").with_spec(activeDeadlineSeconds=3600)
    async with an_inside(tmp_path) as inside:
        inside.controller.watch.bounds.see_node(a_node(), gone=False)
        await inside.see(running(pod))
        await inside.see(ended(pod.with_spec(nodeName="node-1")))
        found = observed(inside)
    assert (found.node, found.node_type) == ("node-1", "n2-standard-8")
    assert (found.request_memory_ran_bytes, found.allocation_bytes) == (256 * MIB, 256 * MIB)
    assert (found.requested_s, found.limit_cores) == (3600.0, None)
    assert found.runtime_s == 60.0


@pytest.mark.slow
async def test_an_attempt_has_the_load_it_was_submitted_and_started_at(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        for name in ("node-1", "node-2"):
            inside.controller.watch.bounds.see_node(a_node(name), gone=False)
        await inside.see(running(a_created("beside", "512Mi"), "node-1"))
        await inside.see(a_created("waits"))
        pod = a_created("asked", "256Mi")
        await inside.see(pod)
        await inside.see(running(pod, "node-1"))
        await inside.see(ended(pod.with_spec(nodeName="node-1")))
        found = observed(inside)
    assert (found.submitted_memory_share, found.submitted_waiting_pods) == (0.25, 1)
    assert (found.cluster_memory_share, found.waiting_pods) == (0.375, 1)
    assert found.node_memory_share == 0.75
    assert found.submitted_cpu_share is not None


@pytest.mark.slow
async def test_an_attempt_that_was_first_seen_at_its_end_has_no_load(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(a_created().with_spec(nodeName="node-9")))
        found = observed(inside)
    assert (found.node_type, found.waiting_pods, found.node_memory_share) == (None, None, None)


@pytest.mark.slow
async def test_each_attempt_is_told_to_the_forecaster_once_however_often_it_is_seen(
    tmp_path: Path,
) -> None:
    pod = a_created()
    async with an_inside(tmp_path) as inside:
        for each in (pod, pod, running(pod), running(pod), ended(pod), ended(pod)):
            await inside.see(each)
        told = inside.store.runtimes.sightings(0)
    assert [(each.kind, each.at_s, each.runtime_s) for each in told] == [
        (SightingKind.SUBMITTED, CREATED_S, None),
        (SightingKind.STARTED, CREATED_S + 5, None),
        (SightingKind.FINISHED, CREATED_S + 15, 60.0),
    ]


def kinds_in(inside: Inside) -> list[SightingKind]:
    return [each.kind for each in inside.store.runtimes.sightings(0)]


@pytest.mark.slow
@pytest.mark.parametrize("folded", [True, False])
async def test_a_pod_that_is_deleted_before_it_starts_ends_its_run(
    tmp_path: Path, folded: bool
) -> None:
    """Runs under way make later ones count less, and are remembered for weeks."""
    async with an_inside(tmp_path) as inside:
        runtimes = inside.controller.runtimes
        await inside.see(a_created())
        if folded:
            await runtimes.fold()
            assert set(runtimes.all_under_way()) == {"uid-train-1"}
        await inside.see(a_created(), gone=True)
        assert kinds_in(inside) == [SightingKind.SUBMITTED, SightingKind.GONE]
        await runtimes.fold()
        assert not runtimes.all_under_way()
        await inside.see(a_created(), gone=True)
        assert len(kinds_in(inside)) == 2
        assert inside.store.observations.of_task(TRAIN) == []


@pytest.mark.slow
async def test_a_run_whose_task_is_switched_off_is_under_way_no_more(tmp_path: Path) -> None:
    pod = running(a_created())
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        await inside.controller.runtimes.fold()
        inside.controller.book.policies.set_namespace_spec("shop", {"mode": "off"})
        await inside.see(pod)
        await inside.controller.runtimes.fold()
        assert not inside.controller.runtimes.all_under_way()
        inside.controller.book.policies.set_namespace_spec("shop", {"mode": "enforce"})
        await inside.see(pod)
        await inside.controller.runtimes.fold()
        assert set(inside.controller.runtimes.all_under_way()) == {"uid-train-1"}


@pytest.mark.slow
async def test_runs_that_ended_and_went_while_no_controller_looked_are_ended(
    tmp_path: Path,
) -> None:
    """They would run long, and alarm, for weeks."""
    pods = [running(a_created(name)) for name in ("gone", "lives", "ended")]
    async with an_inside(tmp_path) as inside:
        for pod in pods:
            await inside.see(pod)
        await inside.controller.runtimes.fold()
        await inside.controller.runtimes.save()
    async with an_inside(tmp_path) as inside:
        runtimes = inside.controller.runtimes
        assert len(runtimes.all_under_way()) == 3
        await inside.see(pods[1])
        await inside.see(ended(pods[2]))
        missed = asyncio.create_task(inside.controller.watch.ledger.living.end_missed())
        await until_true(lambda: SightingKind.GONE in kinds_in(inside))
        missed.cancel()
        await runtimes.fold()
        assert set(runtimes.all_under_way()) == {"uid-lives"}
        gone = [
            each.attempt_uid
            for each in inside.store.runtimes.sightings(0)
            if each.kind is SightingKind.GONE
        ]
        assert gone == ["uid-gone"]


def test_what_is_seen_long_after_it_happened_has_no_load() -> None:
    """As after a restart: today's load is not the earlier one."""
    nodes = ClusterNodes()
    nodes.see(a_node(), gone=False)
    placement = Placement(nodes)
    placement.wait("u", SEEN_AT_ONCE_S + 1)
    placement.start("u", "node-1", Placed(TRAIN, MIB, 0.5), SEEN_AT_ONCE_S + 1)
    found = placement.end("u")
    assert found is not None
    assert (found.submitted, found.started, found.node) == (None, None, None)
    assert found.memory_bytes == MIB


@pytest.mark.slow
def test_the_load_comes_and_goes_with_the_pods() -> None:
    nodes = ClusterNodes()
    nodes.see(a_node(), gone=False)
    placement = Placement(nodes)
    for number in range(1_000):
        placement.start(f"u{number}", "node-1", Placed(TRAIN, MIB, 0.1))
    for number in range(999):
        placement.end(f"u{number}")
    placement.end("u998")
    placement.start("last", "node-1", Placed(TRAIN, MIB, 0.3))
    found = placement.end("last")
    assert found is not None
    assert found.started is not None
    assert found.started.memory_share == 2 * MIB / GIB
    assert found.started.cpu_share == pytest.approx(0.1)


def test_waiting_pods_whose_end_was_missed_do_not_stay_for_ever() -> None:
    placement = Placement(pods_kept=3)
    for number in range(10):
        placement.wait(f"u{number}", 0.0)
    placement.start("u9", "node-1", Placed(TRAIN, MIB, 0.1))
    found = placement.end("u9")
    assert found is not None
    assert found.started is not None
    assert found.started.waiting_pods == 2
    assert found.started.memory_share is None, "no node says what it holds"


def test_nodes_come_change_and_go() -> None:
    nodes = ClusterNodes()
    nodes.see(a_node("a", kind=None), gone=False)
    nodes.see(a_node("b", memory="2Gi", cpu="500m"), gone=False)
    assert nodes.total == Capacity(3 * GIB, 4500)
    assert (nodes.type_of("a"), nodes.type_of("b"), nodes.type_of(None)) == (
        None,
        "n2-standard-8",
        None,
    )
    nodes.see(a_node("b", kind="n2-standard-2", memory="nonsense"), gone=False)
    assert (nodes.type_of("b"), nodes.total) == ("n2-standard-2", Capacity(GIB, 8000))
    nodes.see(a_node("b"), gone=True)
    nodes.see(a_node("never"), gone=True)
    assert (nodes.type_of("b"), nodes.total) == (None, Capacity(GIB, 4000))


@pytest.mark.slow
@pytest.mark.parametrize("deadline", [None, 0, -5, True, "3600", 1.5])
async def test_a_deadline_that_is_none_is_not_believed(tmp_path: Path, deadline: object) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(a_created().with_spec(activeDeadlineSeconds=deadline)))
        assert observed(inside).requested_s is None
