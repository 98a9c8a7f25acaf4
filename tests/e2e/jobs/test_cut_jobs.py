"""Jobs over items on the real node: they run as written, then cut, and each item is done once."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from plimsoll_operator.pods.chunk_starts import STARTS
from plimsoll_operator.splitting.cut_job import CHUNK_FEATURE
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, until
from tests.builders.stores import an_attempt
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, create, job_is, memory_of, pods_of_job
from tests.e2e.workloads import Manifest, a_job

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

ITEMS, WORKERS = 12, 3
ITEM_US = 20_000


def a_job_of_single_items(name: str) -> Manifest:
    """A Job as its author wrote it: a pod, and so a start, for each item."""
    job = a_job(name, f"share 64 {ITEM_US}", task="crunch", backoff_limit=6)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["env"] = [
        {"name": "PLIMSOLL_ITEMS", "value": str(ITEMS)},
        {"name": "PLIMSOLL_SHARES", "value": str(ITEMS)},
    ]
    job["metadata"]["annotations"] = {labels.ITEMS: str(ITEMS)}
    del job["spec"]["backoffLimit"]  # shared by all pods, it would leave no item a second attempt
    job["spec"] |= {"completionMode": "Indexed", "completions": ITEMS, "parallelism": WORKERS}
    job["spec"]["backoffLimitPerIndex"] = 2
    return job


def ranges_of(pods: list[Any]) -> list[tuple[int, int]]:
    """The first item of each pod and how many it did, by its own record."""
    told = (pod.status.container_statuses[0].state.terminated.message for pod in pods)
    return sorted((int(first), int(count)) for first, count in (each.split() for each in told))


def items_in(ranges: list[tuple[int, int]]) -> list[int]:
    return [item for first, count in ranges for item in range(first, first + count)]


async def test_the_second_job_has_larger_chunks_and_both_do_each_item_once(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    await create(shop, a_job_of_single_items("first"))
    await job_is(shop, "first", "Complete")
    first = await pods_of_job(shop, "first")
    assert ranges_of(first) == [(item, 1) for item in range(ITEMS)]
    assert {pod.metadata.annotations[CHUNK_FEATURE] for pod in first} == {"1"}
    await until(
        "all chunks and their memory are known",
        lambda: (
            len(seen := plimsoll.observations(shop.task("crunch"))) >= ITEMS
            and all(each.peak_bytes for each in seen)
        ),
        WITHIN_S,
    )
    batch = client.BatchV1Api(shop.core.api_client)

    async def would_be_cut() -> bool:
        made = await create(shop, a_job_of_single_items("asked"), dry_run=True)
        return bool(made.spec.completions < ITEMS)

    await until("admission knows what chunks took", would_be_cut, WITHIN_S)
    made = await create(shop, a_job_of_single_items("second"))
    assert made.spec.completions == ITEMS // 2, "twice the largest chunk that got through"
    await job_is(shop, "second", "Complete")
    second = await pods_of_job(shop, "second")
    assert items_in(ranges_of(second)) == list(range(ITEMS))
    assert {pod.metadata.annotations[CHUNK_FEATURE] for pod in second} == {"2"}
    assert {memory_of(pod) for pod in second} == {("64Mi", "64Mi")}, "it is larger than any seen"
    kept = await batch.read_namespaced_job("second", shop.namespace)
    assert '"was":12' in kept.metadata.annotations[labels.CUT]


SHARES = (126, 171)
"""Seconds of two shares of items that differ, so that no number of even chunks is much better."""
MANY = 64


def a_job_in_shares(name: str, words: str) -> Manifest:
    """A Job as its author wrote it: a pod for each of two workers, whose program reads a list."""
    job = a_job(name, words, task="listed", backoff_limit=6)
    job["metadata"]["annotations"] = {labels.ITEMS: str(MANY)}
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["env"] = [
        {"name": "PLIMSOLL_ITEMS", "value": str(MANY)},
        {"name": "PLIMSOLL_SHARES", "value": str(len(SHARES))},
        {"name": STARTS, "value": ""},
    ]
    del job["spec"]["backoffLimit"]
    job["spec"] |= {"completionMode": "Indexed", "backoffLimitPerIndex": 0}
    job["spec"] |= {"completions": len(SHARES), "parallelism": len(SHARES)}
    return job


async def test_pods_do_what_is_listed_and_each_teaches_its_own_items(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    task, now_s = shop.task("listed"), time.time()
    plimsoll.store.observations.record(
        [
            an_attempt(f"share-{shop.namespace}-{at}")
            .of(task)
            .knowing(**{labels.CHUNK_ITEMS: float(MANY // len(SHARES))})
            .in_run(f"job:taught:{at}")
            .peaking(20 * MIB)
            .given(64 * MIB)
            .running(now_s - 300, now_s - 300 + seconds)
            .built
            for at, seconds in enumerate(SHARES)
        ]
    )
    # Pods that fail teach nothing, but make the controller look at their task again.
    await create(shop, a_job_in_shares("failing", "heap 100000"))
    await job_is(shop, "failing", "Failed")

    async def would_be_cut() -> bool:
        made = await create(shop, a_job_in_shares("asked", f"share 64 {ITEM_US}"), dry_run=True)
        return bool(made.spec.completions > len(SHARES))

    await until("admission knows what shares took", would_be_cut, WITHIN_S)
    made = await create(shop, a_job_in_shares("cut", f"share 64 {ITEM_US}"))
    await job_is(shop, "cut", "Complete")
    pods = await pods_of_job(shop, "cut")
    ranges = ranges_of(pods)
    assert items_in(ranges) == list(range(MANY))
    sizes = [count for _, count in ranges]
    assert len(sizes) == made.spec.completions
    assert all(one >= other for one, other in pairwise(sizes))
    assert sizes[0] > sizes[-1] + 1
    assert {pod.metadata.annotations[CHUNK_FEATURE] for pod in pods} == {str(sizes[0])}

    def taught() -> dict[str, float | str]:
        seen = (each for each in plimsoll.observations(task) if each.run.startswith("job:"))
        return {
            each.run.rpartition(":")[2]: each.features[labels.CHUNK_ITEMS]
            for each in seen
            if str(made.metadata.uid) in each.run
        }

    expected = {str(index): float(count) for index, count in enumerate(sizes)}
    await until("each has taught its own items", lambda: taught() == expected, WITHIN_S)
