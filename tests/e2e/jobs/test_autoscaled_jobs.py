"""A VerticalPodAutoscaler and Plimsoll on one pod, on the real node: Plimsoll steps back.

The autoscaler's kind and objects exist; nobody here acts on them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from tests.apiserver.controllers import Shop, until
from tests.apiserver.crds import await_kinds
from tests.apiserver.people import an_admin
from tests.builders.kubernetes.autoscalers import VPA_KIND, a_vpa
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import (
    WITHIN_S,
    create,
    decision_of,
    job_is,
    memory_of,
    pods_of_job,
    reasons_of,
    told,
)
from tests.e2e.workloads import a_job

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

CRONJOB = "report"
SAYS = "the VerticalPodAutoscaler report-vpa sets its memory, so Plimsoll leaves the pod alone"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def autoscaled(shop: Shop, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace with an autoscaler for a CronJob, which Plimsoll knows."""
    cluster.apply(VPA_KIND)
    await_kinds(cluster, "crd", VPA)
    try:
        cluster.apply(a_vpa(target=CRONJOB, namespace=shop.namespace))
        yield shop
    finally:
        cluster.kubectl("delete", "crd", VPA)


VPA = VPA_KIND["metadata"]["name"]


async def run(shop: Shop, minute: int, command: str, backoff_limit: int = 1) -> list[Any]:
    """One run as the CronJob would make it; return its pods, the first with a decision."""
    name = f"{CRONJOB}-{minute}"
    job = a_job(name, command, task=CRONJOB, backoff_limit=backoff_limit, memory="64Mi")
    await create(shop, job)
    pods: list[Any] = await until("its pod", lambda: pods_of_job(shop, name), WITHIN_S)
    return pods


async def test_plimsoll_steps_back_for_an_autoscaler_and_says_so(
    autoscaled: Shop, cluster: Cluster, plimsoll: Plimsoll
) -> None:
    minutes = iter(range(29_391_234, 29_392_000))

    async def left() -> Any:
        (pod,) = await run(autoscaled, next(minutes), "eat 20 1")
        return pod if decision_of(pod).get("reason") == "left" else None

    pod = await until("a pod that is left", left, WITHIN_S)

    assert memory_of(pod) == ("64Mi", "64Mi")
    assert decision_of(pod)["why"] == SAYS
    await told(autoscaled, pod.metadata.name, "SteppedBack")

    async def condition() -> Mapping[str, Any] | None:
        status = (await autoscaled.profile(CRONJOB)).get("status") or {}
        found = {each["type"]: each for each in status.get("conditions", [])}
        stepped = found.get("SteppedBack", {})
        return stepped if stepped.get("status") == "True" else None

    stepped = await until("the profile's condition", condition, WITHIN_S)
    assert SAYS in stepped["message"]
    told_by_command = an_admin(cluster).plimsoll(
        *("explain", f"{autoscaled.namespace}/{CRONJOB}", "-o", "json"),
        *("--store", f"sqlite:///{plimsoll.state}/plimsoll.db"),
    )
    assert SAYS in json.loads(told_by_command.out)["left"], told_by_command.err

    # Killed at the autoscaler's size: Plimsoll promises no more.
    (killed,) = await run(autoscaled, next(minutes), "eat 90 1", backoff_limit=0)
    await job_is(autoscaled, killed.metadata.owner_references[0].name, "Failed")
    await until(
        "the kill is observed",
        lambda: any(
            each.outcome == "oom-killed" for each in plimsoll.observations(autoscaled.task(CRONJOB))
        ),
        WITHIN_S,
    )
    assert not await reasons_of(autoscaled, killed.metadata.name) & {"Lifted", "Sized"}


async def test_an_autoscaler_that_only_recommends_is_no_reason_to_step_back(
    autoscaled: Shop, cluster: Cluster
) -> None:
    cluster.apply(a_vpa(target=CRONJOB, namespace=autoscaled.namespace, mode="Off"))
    minutes = iter(range(29_393_000, 29_394_000))

    async def decided() -> Any:
        (pod,) = await run(autoscaled, next(minutes), "eat 20 1")
        return pod if decision_of(pod).get("reason") not in (None, "left") else None

    pod = await until("a pod that is decided", decided, WITHIN_S)
    assert decision_of(pod)["mode"] == "enforce"
