"""Jobs that are too small, on the real node: their own controller makes the next pod."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from plimsoll_predictor.core.record import Outcome
from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import (
    WITHIN_S,
    create,
    decision_of,
    end_of,
    job_is,
    memory_of,
    pods_of_job,
    told,
)
from tests.e2e.workloads import a_job, a_stateful_set

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def uids(shop: Shop) -> dict[str, str]:
    """All of this file's Jobs, started at once: a Job waits 10 s before its second pod."""
    restarting = a_job("restarting", "eat 90 1", task="restarting", backoff_limit=3)
    restarting["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    submitted = [
        a_job("patient", "eat 90 1", task="patient", backoff_limit=3),
        a_job("once", "eat 90", task="once", backoff_limit=0),
        restarting,
    ]
    apps = client.AppsV1Api(shop.core.api_client)
    await apps.create_namespaced_stateful_set(shop.namespace, a_stateful_set("remade", "eat 90 60"))
    return {each["metadata"]["name"]: (await create(shop, each)).metadata.uid for each in submitted}


def made_by_plimsoll(pods: list[Any]) -> list[str]:
    return [p.metadata.name for p in pods if labels.RETRY_OF in (p.metadata.annotations or {})]


async def test_a_jobs_next_pod_gets_the_lifted_size_and_the_job_completes(
    uids: dict[str, str], shop: Shop, plimsoll: Plimsoll
) -> None:
    await job_is(shop, "patient", "Complete")
    pods = await pods_of_job(shop, "patient")
    assert [memory_of(pod) for pod in pods] == [("64Mi", "64Mi"), ("128Mi", "128Mi")]
    assert [end_of(pod) for pod in pods] == [("OOMKilled", 137), ("Completed", 0)]
    assert made_by_plimsoll(list((await shop.pods()).values())) == []
    seen = await until(
        "both observed",
        lambda: (found := plimsoll.observations(shop.task("patient")))[1:] and found,
        WITHIN_S,
    )
    assert [each.outcome for each in seen] == [Outcome.OOM_KILLED, Outcome.SUCCEEDED]
    assert {each.run for each in seen} == {f"job:{uids['patient']}"}


async def test_a_job_that_allows_no_second_pod_gets_none(
    uids: dict[str, str], shop: Shop, plimsoll: Plimsoll
) -> None:
    await job_is(shop, "once", "Failed")
    await told(shop, next(iter(await pods_of_job(shop, "once"))).metadata.name, "NotRetried")
    await job_is(shop, "patient", "Complete")
    assert len(await pods_of_job(shop, "once")) == 1
    assert len(plimsoll.observations(shop.task("once"))) == 1


async def test_a_job_whose_container_would_restart_at_its_old_size_gets_a_new_pod(
    uids: dict[str, str], shop: Shop
) -> None:
    await job_is(shop, "restarting", "Complete")
    (pod,) = await pods_of_job(shop, "restarting")
    assert memory_of(pod) == ("128Mi", "128Mi")
    assert end_of(pod) == ("Completed", 0)


async def test_a_controller_that_makes_a_missing_pod_again_by_its_name_gets_it_lifted(
    uids: dict[str, str], shop: Shop, plimsoll: Plimsoll
) -> None:
    async def remade() -> Any:
        pod = (await shop.pods()).get("remade-0")
        return pod if pod is not None and decision_of(pod).get("reason") == "lifted" else None

    pod = await until("the next pod of that name", remade, WITHIN_S)
    assert memory_of(pod) == ("128Mi", "128Mi")
    (owner,) = pod.metadata.owner_references
    # The next pod may have ended meanwhile.
    killed, *_ = plimsoll.observations(shop.task("remade"))
    assert killed.run == f"owner:{owner.uid}:remade-0"
    assert killed.attempt_uid != pod.metadata.uid


async def test_a_job_made_with_a_prefix_is_named_by_it(shop: Shop, plimsoll: Plimsoll) -> None:
    job = a_job("", "eat 1", task="auto", backoff_limit=0)
    job["metadata"] = {"generateName": "load-tpcds-"}
    name = (await create(shop, job)).metadata.name
    await job_is(shop, name, "Complete")
    (pod,) = await pods_of_job(shop, name)
    assert decision_of(pod)["task"] == f"{shop.namespace}/load-tpcds"
