"""In a namespace that asks for it, engines' pods are sized and healed without a label."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.names import labels
from plimsoll_operator.pods.recognising import recognise
from tests.apiserver.controllers import Shop, a_shop, until
from tests.builders.engines.all import TASKS
from tests.builders.engines.runs import Chance
from tests.conftest import Cluster
from tests.e2e.opted_in import an_opted_in_shop, recognised, without_label
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, create, decision_of, end_of, memory_of, sizes_in_mode
from tests.e2e.workloads import a_job, an_airflow_try

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

COMMAND = "eat 90 1"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wanting(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace in enforce mode whose people want its pods recognised."""
    assert plimsoll is not None
    async with an_opted_in_shop(cluster.kubeconfig) as made:
        yield made


async def test_each_engines_pod_gets_a_label_and_a_decision_in_one_creation(
    wanting: Shop,
) -> None:
    for task in TASKS:
        manifest = task.make(Chance(5))
        found = recognise(manifest)
        manifest["metadata"]["namespace"] = wanting.namespace
        pod = await create(wanting, manifest, dry_run=True)
        assert pod.metadata.labels.get(labels.TASK) == (labels.AUTO if found.task else None)
        decided = decision_of(pod).get("task")
        assert decided == (f"{wanting.namespace}/{found.task}" if found.task else None)


async def test_a_killed_try_without_a_label_is_lifted(wanting: Shop, plimsoll: Plimsoll) -> None:
    first = await create(wanting, without_label(an_airflow_try(1, COMMAND, task="plain")))
    assert memory_of(first) == ("64Mi", "64Mi")

    async def killed() -> bool:
        pod = (await wanting.pods())["plain-1"]
        return end_of(pod) == ("OOMKilled", 137)

    async def lifted() -> bool:
        return decision_of(await second(dry_run=True)).get("reason") == "lifted"

    async def second(**how: Any) -> Any:
        return await create(wanting, without_label(an_airflow_try(2, COMMAND, task="plain")), **how)

    await until("the kill", killed, WITHIN_S)
    await until("the lift at admission", lifted, WITHIN_S)
    assert memory_of(await second()) == ("128Mi", "128Mi")
    await until(
        "both observed",
        lambda: len(plimsoll.observations(wanting.task("nightly.plain"))) > 1,
        WITHIN_S,
    )
    assert set(await wanting.pods()) == {"plain-1", "plain-2"}


async def test_a_job_without_a_label_knows_its_attempts_and_so_do_its_pods(wanting: Shop) -> None:
    job = a_job("report", "eat 8", task="none", backoff_limit=3)
    its = job["spec"]["template"]["metadata"]["labels"]
    its.pop(labels.TASK)
    made = await create(wanting, job)
    assert labels.JOB_ATTEMPTS in made.spec.template.metadata.annotations

    async def decided() -> bool:
        pods = await wanting.pods()
        return any(
            decision_of(pod).get("task") == f"{wanting.namespace}/report" for pod in pods.values()
        )

    await until("the Job's pod is decided", decided, WITHIN_S)


async def test_a_pod_that_is_no_tasks_stays_as_it_was_written(wanting: Shop) -> None:
    manifest = without_label(an_airflow_try(1, COMMAND, task="bare"))
    manifest["metadata"]["labels"] = {"app": "debug"}
    pod = await create(wanting, manifest, dry_run=True)
    assert labels.TASK not in pod.metadata.labels
    assert decision_of(pod) == {}


async def test_a_namespace_whose_policy_asks_is_named_to_the_webhook(
    plimsoll: Plimsoll, cluster: Cluster
) -> None:
    async with a_shop(cluster.kubeconfig) as team:
        await team.enforce(minRuns=1)
        await sizes_in_mode(team, "enforce")
        assert not await recognised(team)
        cluster.kubectl(
            *("label", "sizingpolicy", "default", "-n", team.namespace),
            f"{labels.ENABLED}=true",
        )
        await until("the namespace in the webhook", lambda: recognised(team), WITHIN_S)
        cluster.kubectl(
            *("label", "sizingpolicy", "default", "-n", team.namespace), f"{labels.ENABLED}-"
        )

        async def forgotten() -> bool:
            return not await recognised(team)

        await until("the namespace out of it", forgotten, WITHIN_S)


async def test_a_namespace_that_did_not_ask_is_left_alone(shop: Shop) -> None:
    pod = await create(shop, without_label(an_airflow_try(1, COMMAND, task="quiet")), dry_run=True)
    assert labels.TASK not in pod.metadata.labels
