"""Jobs that do not count failures at a lowered limit, on the real node with a real API server."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.names import labels
from plimsoll_predictor.core.policy import Policy
from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, create, decision_of, end_of, ended, job_is, pods_of_job
from tests.e2e.workloads import a_job, a_pod

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

ASKED = "160Mi"
RETRIES = 2
IGNORE = {labels.KILLED_ATTEMPTS: "ignore"}


def asking(name: str, command: str, **annotations: str) -> dict[str, Any]:
    job = a_job(name, command, task="spared", backoff_limit=RETRIES, memory=ASKED)
    job["metadata"]["annotations"] = annotations
    return job


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def jobs(shop: Shop, plimsoll: Plimsoll) -> None:
    """All of this file's Jobs, started at once: their controller waits 10 s after a failure."""
    await create(shop, a_pod("spared-teacher", "eat 20 1", task="spared", memory=ASKED))
    await ended(shop, "spared-teacher")
    await until("it is known", lambda: plimsoll.observations(shop.task("spared")), WITHIN_S)

    async def sized() -> bool:
        probe = await create(shop, asking("probe", "eat 1"), dry_run=True)
        return probe.spec.pod_failure_policy is None

    async def lowered() -> bool:
        pod = a_pod("probe", "eat 1", task="spared", memory=ASKED)
        probe = await create(shop, pod, dry_run=True)
        return bool(decision_of(probe).get("reason") != "cold-start")

    await until("a Job that did not ask is as it was", sized, WITHIN_S)
    await until("admission knows the task", lowered, WITHIN_S)
    await create(shop, asking("spared", "eat 90 1", **IGNORE))
    await create(shop, asking("counted", "eat 90 1"))
    await create(shop, asking("hopeless", "eat 400 1", **IGNORE))


async def test_a_kill_at_a_lowered_limit_is_not_counted(jobs: None, shop: Shop) -> None:
    job = await job_is(shop, "spared", "Complete")
    pods = await pods_of_job(shop, "spared")
    assert [end_of(pod) for pod in pods] == [("OOMKilled", 137), ("Completed", 0)]
    assert not job.status.failed
    marks = [{c.type for c in pod.status.conditions} & {labels.LOWERED} for pod in pods]
    assert marks == [{labels.LOWERED}, set()], "the second has what was written"


async def test_without_asking_it_is(jobs: None, shop: Shop) -> None:
    job = await job_is(shop, "counted", "Complete")
    assert job.status.failed == 1


async def test_what_needs_more_than_there_is_fails_after_a_few_pods(jobs: None, shop: Shop) -> None:
    job = await job_is(shop, "hopeless", "Failed")
    pods = await pods_of_job(shop, "hopeless")
    assert job.status.failed == RETRIES + 1, "what failed as it was written counts"
    assert len(pods) <= RETRIES + 1 + Policy().max_lifts
