"""A queued batch of a cold task, on the real node, is resized when its first pods have ended."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, until
from tests.conftest import Cluster
from tests.e2e.jobs.queues import AT_ONCE, Batch, a_closed_node, asked_of, too_large_mib
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import (
    WITHIN_S,
    create,
    decision_of,
    ended,
    job_is,
    memory_of,
    pods_of_job,
    reasons_of,
)
from tests.e2e.workloads import a_job, a_pod
from tests.rigs.speed import Speed

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

LARGE, SMALL = 200, 24
CORRECTED_WITHIN_S = 60.0


async def ran(shop: Shop, cluster: Cluster, task: str, size: int, mode: str) -> Batch:
    batch = Batch(shop, task, size, f"{too_large_mib(cluster)}Mi")
    async with a_closed_node(cluster):
        await batch.queue(mode)
    await batch.run(stalled_s=WITHIN_S)
    return batch


async def is_corrected(batch: Batch, plimsoll: Plimsoll, shop: Shop, cluster: Cluster) -> None:
    """Check that waiting pods were resized, with an Event, and the author's request is known."""
    pods = {pod["metadata"]["name"]: pod for pod in await batch.pods()}
    resized = next(name for name in batch.sized_s)
    assert "Resized" in await reasons_of(shop, resized)
    # The user's request stays known: an observation compares with it, not with our own size.
    asked = {each.request_bytes for each in plimsoll.observations(shop.task(batch.task))}
    assert asked == {too_large_mib(cluster) * MIB}
    assert all(asked_of(pod) != batch.asked for name, pod in pods.items() if name in batch.sized_s)


@pytest.mark.alone
async def test_two_hundred_queued_pods_are_corrected_within_seconds_of_the_first_end(
    plimsoll: Plimsoll, shop: Shop, cluster: Cluster
) -> None:
    batch = await ran(shop, cluster, "queued", LARGE, "enforce")
    print(
        f"\n{LARGE} queued pods, {AT_ONCE} at a time at first: the last of {len(batch.sized_s)}"
        f" corrected {batch.corrected_s:.1f} s after the first end, all done after"
        f" {batch.makespan_s:.0f} s"
    )
    assert batch.corrected_s < CORRECTED_WITHIN_S
    waited = LARGE - len(batch.sized_s)
    assert waited <= LARGE // 10, "those that ran, or were bound, before anything was known"
    await is_corrected(batch, plimsoll, shop, cluster)


async def test_a_suspended_job_is_sized_by_what_is_known_when_it_is_resumed(
    plimsoll: Plimsoll, shop: Shop
) -> None:
    batch = client.BatchV1Api(shop.core.api_client)
    job = a_job("later", "eat 20 1", task="later", backoff_limit=6, memory="700Mi")
    job["spec"]["suspend"] = True
    await create(shop, job)
    await create(shop, a_pod("teacher", "eat 20 1", task="later", memory="700Mi"))
    assert (await ended(shop, "teacher")).status.phase == "Succeeded"
    await until(
        "it is known",
        lambda: [each for each in plimsoll.observations(shop.task("later")) if each.need],
        WITHIN_S,
    )

    # Plimsoll cannot change its template: this API server refuses that even while suspended.
    container = {"name": "main", "resources": {"limits": {"memory": "64Mi"}}}
    template = {"spec": {"template": {"spec": {"containers": [container]}}}}
    answer = await batch.patch_namespaced_job(
        "later", shop.namespace, template, _preload_content=False
    )
    assert answer.status == 422, await answer.text()

    async def sized() -> bool:
        probe = await create(shop, a_pod("probe", "eat 1", task="later"), dry_run=True)
        return bool(decision_of(probe)["reason"] != "cold-start")

    await until("admission knows it", sized, WITHIN_S)
    await batch.patch_namespaced_job("later", shop.namespace, {"spec": {"suspend": False}})
    await job_is(shop, "later", "Complete")
    (pod,) = await pods_of_job(shop, "later")
    assert decision_of(pod)["was"] == {"request": "700Mi", "limit": "700Mi"}
    assert memory_of(pod)[0] != "700Mi"


async def test_a_queue_counts_for_a_suspended_job_what_its_pods_ask_for(
    plimsoll: Plimsoll, shop: Shop
) -> None:
    batch = client.BatchV1Api(shop.core.api_client)
    await create(shop, a_pod("counted-teacher", "eat 20 1", task="counted", memory="700Mi"))
    await until("it is known", lambda: plimsoll.observations(shop.task("counted")), WITHIN_S)
    job = a_job("counted", "eat 20 1", task="counted", backoff_limit=6, memory="700Mi")
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "shop"}
    job["spec"]["suspend"] = True

    async def sized() -> Any:
        made = await create(shop, job, dry_run=True)
        resources = made.spec.template.spec.containers[0].resources
        return resources.requests["memory"] != "700Mi"

    await until("templates are sized", sized, WITHIN_S)
    template = (await create(shop, job)).spec.template
    asked, limit = memory_of(template)
    assert limit == "700Mi", "a template outlives what is known, so its limit stays"
    assert decision_of(template)["was"] == {"request": "700Mi", "limit": "700Mi"}

    # What a queue does: it counts the Job, gives it nodes, and resumes it.
    resumed = {"template": {"spec": {"nodeSelector": {"kubernetes.io/os": "linux"}}}}
    await batch.patch_namespaced_job("counted", shop.namespace, {"spec": resumed})
    await batch.patch_namespaced_job("counted", shop.namespace, {"spec": {"suspend": False}})
    await job_is(shop, "counted", "Complete")
    (pod,) = await pods_of_job(shop, "counted")
    assert memory_of(pod) == (asked, asked)
    assert decision_of(pod)["was"] == {"request": "700Mi", "limit": "700Mi"}
    (_, seen) = await until(
        "both observed",
        lambda: (found := plimsoll.observations(shop.task("counted")))[1:] and found,
        WITHIN_S,
    )
    assert seen.request_bytes == 700 * MIB, "what was counted is not what its author asked for"


async def test_a_mode_that_changed_meanwhile_gives_its_pods_what_was_written(
    plimsoll: Plimsoll, shop: Shop
) -> None:
    batch = client.BatchV1Api(shop.core.api_client)
    job = a_job("counted-off", "eat 20 1", task="counted", backoff_limit=6, memory="700Mi")
    job["spec"]["suspend"] = True
    template = (await create(shop, job)).spec.template
    assert memory_of(template)[0] != "700Mi"
    off = {"spec": {"template": {"metadata": {"annotations": {labels.MODE: "off"}}}}}
    await batch.patch_namespaced_job("counted-off", shop.namespace, off)
    await batch.patch_namespaced_job("counted-off", shop.namespace, {"spec": {"suspend": False}})
    await job_is(shop, "counted-off", "Complete")
    (pod,) = await pods_of_job(shop, "counted-off")
    assert memory_of(pod) == ("700Mi", "700Mi")
    assert labels.DECISION not in pod.metadata.annotations


@pytest.mark.timed
async def test_the_same_batch_is_done_sooner_than_without_late_binding(
    plimsoll: Plimsoll, shop: Shop, cluster: Cluster, speed: Speed
) -> None:
    # Queued whole while its task is cold, it would get its own request in enforce mode, too.
    without = await ran(shop, cluster, "without", SMALL, "recommend")
    assert without.sized_s == {}
    late = await ran(shop, cluster, "late", SMALL, "enforce")
    print(
        f"\n{SMALL} queued pods: makespan {without.makespan_s:.0f} s without late binding,"
        f" {late.makespan_s:.0f} s with it"
    )
    assert without.most_at_once <= AT_ONCE
    assert late.most_at_once > AT_ONCE, "what makes it sooner; seconds depend on a busy machine"
    speed.within("the same batch", late.makespan_s, without.makespan_s)
    await is_corrected(late, plimsoll, shop, cluster)
