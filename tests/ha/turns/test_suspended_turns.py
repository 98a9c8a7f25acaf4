"""Jobs that wait for their turn suspended are resumed in it, whatever process is killed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.ha.turns.waiting_for_turns import (
    COMPUTES,
    LONGEST_S,
    Waiting,
    full,
    pods_that_wait,
)

pytestmark = [pytest.mark.node]

MINE = "authors"
SIDE_BY_SIDE: dict[str, Any] = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}


@pytest_asyncio.fixture
async def waiting(node: Cluster, own: Shop, tmp_path: Path) -> AsyncIterator[Waiting]:
    """Nodes are full, and new Jobs wait suspended; one of them was suspended by its author."""
    async with a_shop(node.kubeconfig) as shop:
        await shop.enforce(order="enforce", jobsWait="suspended")
        async with pods_that_wait(node, shop, own.namespace, tmp_path) as made:
            await full(made)
            await until("a new Job would wait", lambda: would_wait(made))
            await made.create_job(MINE, suspend=True)
            yield made


async def would_wait(waiting: Waiting) -> bool:
    tried = await waiting.create_job("tried", tried=True)
    return tried.spec.suspend is True


async def end_all(waiting: Waiting) -> None:
    """Let all running pods succeed."""
    for name, pod in (await waiting.shop.pods()).items():
        if pod.spec.node_name and pod.status.phase in ("Pending", "Running"):
            await waiting.shop.end(name, "succeeded")


async def pods_used(shop: Shop) -> str | None:
    """The number of pods that a quota of the namespace counts; None until it has counted."""
    quota = await shop.core.read_namespaced_resource_quota("pods", shop.namespace)
    return (quota.status.used or {}).get("pods")


async def may_have(waiting: Waiting, priority_class: str) -> bool:
    """Whether the API server accepts a pod of that class."""
    try:
        await waiting.create_job("classed", tried=True, priorityClassName=priority_class)
        await waiting.create("classed", COMPUTES, tried=True, priorityClassName=priority_class)
    except client.ApiException as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return False
    return True


@pytest_asyncio.fixture
async def low(waiting: Waiting) -> AsyncIterator[str]:
    """A PriorityClass below the usual."""
    api = client.SchedulingV1Api(waiting.shop.core.api_client)
    name = f"{waiting.shop.namespace}-low"
    await api.create_priority_class({"metadata": {"name": name}, "value": -10})
    # The API server's own admission knows it a moment later.
    await until("a pod may have it", lambda: may_have(waiting, name))
    yield name
    await api.delete_priority_class(name)


async def test_priorities_hold_and_quotas_count_pods_behind_gates_but_none_of_suspended_jobs(
    waiting: Waiting, low: str
) -> None:
    await waiting.create("low", COMPUTES, priorityClassName=low)
    await waiting.create_job("low-job", priorityClassName=low)
    hard = {"metadata": {"name": "pods"}, "spec": {"hard": {"pods": "100"}}}
    await waiting.shop.core.create_namespaced_resource_quota(waiting.shop.namespace, hard)
    await until("the quota is counted", lambda: pods_used(waiting.shop))
    assert await pods_used(waiting.shop) == "5"
    await waiting.create_job("side-by-side", **SIDE_BY_SIDE)
    await waiting.create("gated", COMPUTES)
    assert await waiting.held() == {"low", "gated"}

    async def counts_the_gated() -> bool:
        return await pods_used(waiting.shop) == "6"

    await until("the pods behind gates are counted, and no other", counts_the_gated)
    assert await waiting.suspended() == {MINE, "side-by-side", "low-job"}
    # If one place is free, pods of a lower class get nothing, though they came first.
    await waiting.shop.end("waits-1", "succeeded")
    await until("the other has a node", lambda: waiting.node_of("gated"))
    assert await waiting.held() == {"low"}
    assert await waiting.suspended() == {MINE, "side-by-side", "low-job"}


async def test_jobs_are_resumed_in_their_turn_and_all_of_their_pods_together(
    waiting: Waiting,
) -> None:
    await waiting.create_job("plain")
    await waiting.create_job("hurries", activeDeadlineSeconds=3600)
    await waiting.create_job("side-by-side", **SIDE_BY_SIDE)
    every = {"plain", "hurries", "side-by-side"}
    assert await waiting.suspended() == {MINE, *every}
    for change in (
        {
            "spec": {"suspend": False, "parallelism": 9},
            "metadata": {"labels": {labels.WAITS: None}},
        },
        {"spec": {"suspend": False}},
        {"metadata": {"labels": {labels.WAITS: None}}},
        {"metadata": {"annotations": {"a": "b"}}},
    ):
        assert "may resume" in await waiting.refused("plain", change, job=True)
    assert "may resume" in await waiting.refused(MINE, {"spec": {"suspend": False}}, job=True)
    assert len(await waiting.shop.pods()) == 4
    jobs = client.BatchV1Api(waiting.shop.core.api_client)
    hurries = await jobs.read_namespaced_job("hurries", waiting.shop.namespace)
    assert hurries.status.start_time is None, "its time does not run while it waits"

    await end_all(waiting)

    async def of_jobs() -> list[Any]:
        pods = (await waiting.shop.pods()).values()
        bound = [pod for pod in pods if pod.spec.node_name and pod.metadata.owner_references]
        return bound if len(bound) == 4 else []

    pods = await until("four pods of the Jobs have nodes", of_jobs)
    assert await waiting.suspended() == {MINE}
    for pod in pods:
        assert pod.spec.scheduling_gates is None
        # It is none of the pods that came without an order.
        assert labels.HELD in pod.metadata.annotations
    hurries = await jobs.read_namespaced_job("hurries", waiting.shop.namespace)
    assert hurries.status.start_time is not None
    assert labels.WAITS not in hurries.metadata.labels
    template = hurries.spec.template.spec.affinity.node_affinity
    assert template.required_during_scheduling_ignored_during_execution is None


async def test_no_job_waits_for_a_plimsoll_that_is_away(waiting: Waiting) -> None:
    for number in range(3):
        await waiting.create_job(f"waits-{number}")
    assert await waiting.suspended() == {MINE, "waits-0", "waits-1", "waits-2"}

    async def only_mine() -> bool:
        return await waiting.suspended() == {MINE}

    await waiting.whole.processes["controller"].kill_for_good()
    await until("all of ours are resumed", only_mine, LONGEST_S)
    assert not await would_wait(waiting)
    waiting.whole.processes["controller"].start()
    await until("a new Job would wait again", lambda: would_wait(waiting))


async def test_a_job_that_is_given_to_a_queue_is_never_resumed(waiting: Waiting) -> None:
    await waiting.create_job("given")
    await waiting.create_job("behind")
    jobs = client.BatchV1Api(waiting.shop.core.api_client)
    await jobs.patch_namespaced_job(
        "given",
        waiting.shop.namespace,
        {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "team"}}},
        _content_type="application/merge-patch+json",
    )

    async def marked() -> bool:
        job = await jobs.read_namespaced_job("given", waiting.shop.namespace)
        return labels.WAITS in job.metadata.labels

    async def unmarked() -> bool:
        return not await marked()

    await until("Plimsoll has left it", unmarked)
    await end_all(waiting)

    async def behind_runs() -> bool:
        return await waiting.pod_of_job("behind") is not None

    await until("who came later has started", behind_runs)
    assert await waiting.suspended() == {MINE, "given"}
