"""Jobs in their shapes on the real node: indexes, Jobs that are gone at once, replaced Jobs."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_predictor.core.record import Outcome
from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, create, end_of, job_is, memory_of, pods_of_job
from tests.e2e.workloads import a_job

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

INDEXES, LARGE = 7, 6
"""Index i eats 10 × i + 8 MiB, so that only the last one needs more than 64 MiB."""
INDEX = "batch.kubernetes.io/job-completion-index"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def uids(shop: Shop) -> dict[str, str]:
    """The Jobs that end by themselves, started at once."""
    indexed = a_job("indexed", "eat $(JOB_COMPLETION_INDEX)8 1", task="indexed", backoff_limit=0)
    del indexed["spec"]["backoffLimit"]
    indexed["spec"] |= {
        "completionMode": "Indexed",
        "completions": INDEXES,
        "parallelism": INDEXES,
        "backoffLimitPerIndex": 2,
    }
    brief = a_job("brief", "eat 20 1", task="brief", backoff_limit=0)
    brief["spec"]["ttlSecondsAfterFinished"] = 0
    jobs = [await create(shop, each) for each in (indexed, brief)]
    return {job.metadata.name: job.metadata.uid for job in jobs}


async def test_a_job_that_is_gone_once_it_is_done_was_observed(
    uids: dict[str, str], shop: Shop, plimsoll: Plimsoll
) -> None:
    batch = client.BatchV1Api(shop.core.api_client)

    async def gone() -> bool:
        found = await batch.list_namespaced_job(
            shop.namespace, field_selector="metadata.name=brief"
        )
        return not found.items and not await pods_of_job(shop, "brief")

    await until("the Job and its pod are gone", gone, WITHIN_S)
    (seen,) = await until(
        "its end is known", lambda: plimsoll.observations(shop.task("brief")), WITHIN_S
    )
    assert (seen.outcome, seen.run) == (Outcome.SUCCEEDED, f"job:{uids['brief']}")


async def test_of_an_indexed_job_only_the_index_that_was_killed_is_lifted(
    uids: dict[str, str], shop: Shop, plimsoll: Plimsoll
) -> None:
    await job_is(shop, "indexed", "Complete")
    pods: dict[str, list[Any]] = {}
    for pod in await pods_of_job(shop, "indexed"):
        pods.setdefault(pod.metadata.annotations[INDEX], []).append(pod)
    assert len(pods) == INDEXES
    large = pods.pop(str(LARGE))
    assert [end_of(pod) for pod in large] == [("OOMKilled", 137), ("Completed", 0)]
    assert [memory_of(pod) for pod in large] == [("64Mi", "64Mi"), ("128Mi", "128Mi")], "doubled"
    assert {memory_of(pod) for each in pods.values() for pod in each} == {("64Mi", "64Mi")}
    assert {len(each) for each in pods.values()} == {1}
    seen = await until(
        "all observed",
        lambda: (found := plimsoll.observations(shop.task("indexed")))[INDEXES:] and found,
        WITHIN_S,
    )
    runs = [each.run for each in seen]
    assert set(runs) == {f"job:{uids['indexed']}:{number}" for number in range(INDEXES)}
    assert runs.count(f"job:{uids['indexed']}:{LARGE}") == len(large)


async def test_a_job_that_its_cronjob_replaces_is_no_failure_and_lifts_nothing(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    """``concurrencyPolicy: Replace`` deletes the Job that runs still, and makes the next one."""
    batch = client.BatchV1Api(shop.core.api_client)
    nightly = a_job("nightly-29391200", "eat 20 600", task="auto", backoff_limit=3)
    next_night = a_job("nightly-29392640", "eat 20 1", task="auto", backoff_limit=3)
    await create(shop, nightly)

    async def runs() -> bool:
        pods = await pods_of_job(shop, "nightly-29391200")
        return bool(pods) and pods[0].status.phase == "Running"

    await until("the first night runs", runs, WITHIN_S)
    await batch.delete_namespaced_job(
        "nightly-29391200", shop.namespace, propagation_policy="Background"
    )
    job = await create(shop, next_night)
    await job_is(shop, "nightly-29392640", "Complete")
    (pod,) = await pods_of_job(shop, "nightly-29392640")
    assert memory_of(pod) == ("64Mi", "64Mi")

    def known() -> list[Any]:
        found = plimsoll.observations(shop.task("nightly"))
        return [each for each in found if each.outcome is Outcome.SUCCEEDED]

    (succeeded,) = await until("the second night is known", known, WITHIN_S)
    assert succeeded.run == f"job:{job.metadata.uid}"
    killed = {each.outcome for each in plimsoll.observations(shop.task("nightly"))}
    assert Outcome.OOM_KILLED not in killed
