"""Jobs of several shapes on the real node: indexed, gone at once, or ended early."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_predictor.core.record import Outcome
from tests.apiserver.controllers import Shop, until
from tests.apiserver.sentinels import attempts_are_counted
from tests.e2e.jobs.cronjobs import a_nightly_cronjob
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, create, end_of, go_on, job_is, memory_of, pods_of_job
from tests.e2e.workloads import LONG_S, a_job

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

INDEXES, LARGE = 7, 6
"""Index i eats 10 × i + 8 MiB, so that only the last one needs more than 64 MiB."""
SHARES = 3
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


async def test_what_a_success_policy_ends_is_no_kill_and_teaches_no_need(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    """The leader's success is the Job's success; its controller ends the others while they run."""
    led = a_job("led", f"eat $(JOB_COMPLETION_INDEX)8 {LONG_S}", task="led", backoff_limit=3)
    led["spec"] |= {
        "completionMode": "Indexed",
        "completions": SHARES,
        "parallelism": SHARES,
        "successPolicy": {"rules": [{"succeededIndexes": "0"}]},
    }
    uid = (await create(shop, led)).metadata.uid

    async def all_run() -> dict[str, Any] | None:
        pods = [pod for pod in await pods_of_job(shop, "led") if pod.status.phase == "Running"]
        found = {pod.metadata.annotations[INDEX]: pod for pod in pods}
        return found if len(found) == SHARES else None

    pods = await until("all indexes run", all_run, WITHIN_S)
    await go_on(pods["0"].metadata.uid)
    job = await job_is(shop, "led", "Complete")
    reasons = {each.type: each.reason for each in job.status.conditions}
    assert (reasons["SuccessCriteriaMet"], job.status.completed_indexes) == ("SuccessPolicy", "0")
    await attempts_are_counted(shop, SHARES, "led")
    seen = {each.run: each for each in plimsoll.observations(shop.task("led"))}
    leader = seen.pop(f"job:{uid}:0")
    assert leader.outcome is Outcome.SUCCEEDED
    assert seen.keys() == {f"job:{uid}:{number}" for number in range(1, SHARES)}
    assert {(each.outcome, each.need) for each in seen.values()} == {(Outcome.DELETED, None)}
    assert (await shop.profile("led"))["status"]["oomKills"] == 0
    assert plimsoll.store.lifts.of_task(shop.task("led")) == {}
    made = {
        pod.metadata.uid
        for pod in (await shop.pods()).values()
        if pod.metadata.name.startswith("led-")
    }
    assert made <= {pod.metadata.uid for pod in pods.values()}


async def test_a_job_that_its_cronjob_replaces_is_no_failure_and_lifts_nothing(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    """The CronJob's own controller deletes the Job that still runs, and makes the next one."""
    night = await a_nightly_cronjob(shop, f"eat 20 {LONG_S}")
    first, pod = await night.running_job()
    next_job, next_pod = await (await night.next_night()).running_job()
    assert next_job.metadata.uid != first.metadata.uid
    await go_on(next_pod.metadata.uid)
    await job_is(shop, next_job.metadata.name, "Complete")
    assert {memory_of(each) for each in (pod, next_pod)} == {("64Mi", "64Mi")}
    await attempts_are_counted(shop, 2, "nightly")
    assert await pods_of_job(shop, first.metadata.name) == []
    seen = {each.run: each for each in plimsoll.observations(shop.task("nightly"))}
    replaced = seen.pop(f"job:{first.metadata.uid}")
    assert (replaced.outcome, replaced.need) == (Outcome.DELETED, None)
    assert [(each, seen[each].outcome) for each in seen] == [
        (f"job:{next_job.metadata.uid}", Outcome.SUCCEEDED)
    ]
    assert (await shop.profile("nightly"))["status"]["oomKills"] == 0
    assert plimsoll.store.lifts.of_task(shop.task("nightly")) == {}
