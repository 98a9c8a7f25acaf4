"""Bare pods that are too small, on the real node: the kernel kills them, Plimsoll lifts them.

Others fill their disk: their node evicts them, and their programs answer as if nothing were wrong.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.names import labels
from plimsoll_predictor.core.record import Need, Outcome
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import (
    WITHIN_S,
    create,
    decision_of,
    end_of,
    ended,
    memory_of,
    reasons_of,
    retried,
    retries_of,
    sizes_in_mode,
    told,
)
from tests.e2e.workloads import a_pod, an_airflow_try

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

YIELDING = {"saving": 0, "stopping": 143}
"""Pods, and what their programs answer to SIGTERM."""


async def an_unknown_owner(shop: Shop) -> dict[str, object]:
    """An owner of a pod whose controller makes no next pod."""
    manifest = {"metadata": {"name": "unknown"}}
    owner = (await shop.core.create_namespaced_config_map(shop.namespace, manifest)).metadata
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner.name, "uid": owner.uid}
    return {**reference, "controller": True}


def a_pod_that_fills_its_disk(name: str, code: int) -> dict[str, Any]:
    """Its node evicts it, within two minutes at most, and it ends with ``code`` at once."""
    pod = a_pod(name, f"yield /scratch/fill 4 {code}", task=name)
    scratch = {"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}
    pod["spec"].update(volumes=[scratch], terminationGracePeriodSeconds=30)
    [main] = pod["spec"]["containers"]
    main["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
    return pod


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def uids(shop: Shop) -> dict[str, str]:
    """All of this file's pods, started at once: their waits overlap."""
    submitted = [
        a_pod("heavy", "eat 90 1", task="heavy"),
        a_pod("forking", "child 90", task="forking"),
        an_airflow_try(1, "eat 90 1", task="engine"),
        a_pod("never", "eat 90", task="never", annotated={labels.RETRY: "never"}),
        a_pod("polled", "eat 90", task="polled", labelled={"jenkins/label": "agent"}),
    ]
    submitted += [a_pod_that_fills_its_disk(name, code) for name, code in YIELDING.items()]
    unknown = a_pod("unknown-worker-0", "eat 90", task="unknown")
    unknown["spec"]["restartPolicy"] = "OnFailure"
    unknown["metadata"]["ownerReferences"] = [await an_unknown_owner(shop)]
    submitted.append(unknown)
    return {each["metadata"]["name"]: (await create(shop, each)).metadata.uid for each in submitted}


async def test_a_bare_pod_killed_by_the_kernel_is_retried_once_with_more_and_succeeds(
    uids: dict[str, str], shop: Shop
) -> None:
    retry = await retried(shop, uids["heavy"])
    first = (await shop.pods())["heavy"]
    assert end_of(first) == ("OOMKilled", 137)
    assert memory_of(first) == ("64Mi", "64Mi")
    assert retry.metadata.name != "heavy"
    assert (retry.status.phase, memory_of(retry)) == ("Succeeded", ("128Mi", "128Mi"))
    assert decision_of(retry)["reason"] == "lifted"
    assert len(await retries_of(shop, uids["heavy"])) == 1

    async def marked() -> bool:
        first = (await shop.pods())["heavy"]
        return bool(first.metadata.annotations.get(labels.RETRIED_AS) == retry.metadata.name)

    await until("the retry's name on the killed pod", marked, WITHIN_S)


async def test_the_kill_and_the_retry_become_observations_of_one_run(
    uids: dict[str, str], shop: Shop, plimsoll: Plimsoll
) -> None:
    await retried(shop, uids["heavy"])
    killed, succeeded = await until(
        "both observed, the second with its peak",
        lambda: (
            (found := plimsoll.observations(shop.task("heavy")))[1:]
            and found[1].peak_bytes
            and found
        ),
        WITHIN_S,
    )
    assert killed.outcome is Outcome.OOM_KILLED
    assert killed.need == Need(64 * MIB, censored=True)
    assert succeeded.outcome is Outcome.SUCCEEDED
    assert succeeded.need == Need(succeeded.peak_bytes, censored=False)
    assert 90 * MIB <= succeeded.peak_bytes <= 106 * MIB
    assert killed.run == succeeded.run == f"pod:{uids['heavy']}"
    assert (killed.attempt, succeeded.attempt) == (1, 2)
    assert killed.request_bytes == succeeded.request_bytes == 64 * MIB


async def test_events_on_the_killed_pod_tell_the_story(uids: dict[str, str], shop: Shop) -> None:
    for reason in ("Sized", "Lifted", "Retried"):
        await told(shop, "heavy", reason)


async def test_a_killed_child_is_observed_but_a_run_that_went_on_is_not_repeated(
    uids: dict[str, str], shop: Shop, plimsoll: Plimsoll
) -> None:
    pod = await ended(shop, "forking")
    assert (pod.status.phase, end_of(pod)) == ("Succeeded", ("OOMKilled", 0))
    (seen,) = await until("observed", lambda: plimsoll.observations(shop.task("forking")), WITHIN_S)
    assert seen.outcome is Outcome.OOM_KILLED
    assert seen.need == Need(64 * MIB, censored=True)
    await retried(shop, uids["heavy"])
    assert await retries_of(shop, uids["forking"]) == []
    assert "Lifted" not in await reasons_of(shop, "forking")


async def test_an_airflow_pod_is_never_cloned_but_its_next_try_gets_the_lifted_size(
    uids: dict[str, str], shop: Shop, plimsoll: Plimsoll
) -> None:
    assert end_of(await ended(shop, "engine-1")) == ("OOMKilled", 137)
    await told(shop, "engine-1", "Lifted")

    async def lifted() -> bool:
        probe = await create(shop, an_airflow_try(2, "eat 90 1", task="engine"), dry_run=True)
        return bool(decision_of(probe)["reason"] == "lifted")

    await until("the lift at admission", lifted, WITHIN_S)
    second = await create(shop, an_airflow_try(2, "eat 90 1", task="engine"))
    assert memory_of(second) == ("128Mi", "128Mi")
    assert (await ended(shop, "engine-2")).status.phase == "Succeeded"
    assert await retries_of(shop, uids["engine-1"]) == []
    found = await until(
        "both observed",
        lambda: (found := plimsoll.observations(shop.task("engine")))[1:] and found,
        WITHIN_S,
    )
    assert {each.run for each in found} == {"airflow:nightly.engine:manual-1"}
    await until(
        "the lift is closed", lambda: shop.task("engine") not in plimsoll.store.lifts.waiting()
    )


async def test_a_pod_that_says_never_is_not_retried_and_promised_nothing(
    uids: dict[str, str], shop: Shop
) -> None:
    await told(shop, "never", "NotRetried")
    await retried(shop, uids["heavy"])
    assert await retries_of(shop, uids["never"]) == []


async def test_a_pod_that_its_maker_polls_is_not_copied(uids: dict[str, str], shop: Shop) -> None:
    await told(shop, "polled", "Lifted")
    await retried(shop, uids["heavy"])
    assert await retries_of(shop, uids["polled"]) == []


async def test_a_pod_of_an_unknown_owner_is_not_deleted(uids: dict[str, str], shop: Shop) -> None:
    await told(shop, "unknown-worker-0", "NotReplaced")
    await retried(shop, uids["heavy"])
    pod = (await shop.pods())["unknown-worker-0"]
    assert pod.metadata.uid == uids["unknown-worker-0"]
    assert pod.metadata.deletion_timestamp is None


@pytest.mark.parametrize(("name", "code"), YIELDING.items())
async def test_an_evicted_pod_is_observed_as_its_node_says_whatever_its_program_answers(
    uids: dict[str, str], shop: Shop, plimsoll: Plimsoll, name: str, code: int
) -> None:
    pod = await ended(shop, name)
    evicted = (pod.status.phase, pod.status.reason) == ("Failed", "Evicted")
    # If all ended with 0 before the kubelet wrote why, it says that the pod succeeded, and no more.
    assert evicted or (code == 0 and pod.status.phase == "Succeeded")
    [seen] = await until("observed", lambda: plimsoll.observations(shop.task(name)), WITHIN_S)
    assert seen.outcome is (Outcome.EVICTED if evicted else Outcome.SUCCEEDED)
    assert seen.attempt_uid == uids[name]
    await retried(shop, uids["heavy"])
    assert await retries_of(shop, uids[name]) == []
    assert "Lifted" not in await reasons_of(shop, name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def recommending(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace without a policy: the default mode only recommends."""
    async with a_shop(cluster.kubeconfig) as made:
        await sizes_in_mode(made, "recommend")
        yield made


async def test_recommend_mode_writes_its_decision_down_and_changes_nothing(
    recommending: Shop, plimsoll: Plimsoll
) -> None:
    uid = (await create(recommending, a_pod("small", "eat 90"))).metadata.uid
    pod = await ended(recommending, "small")
    assert decision_of(pod)["mode"] == "recommend"
    assert memory_of(pod) == ("64Mi", "64Mi")

    async def shown() -> bool:
        profile = await recommending.profile("train")
        return (profile.get("status") or {}).get("oomKills") == 1

    await until("the kill in the profile", shown, WITHIN_S)
    assert plimsoll.observations(recommending.task())[0].outcome is Outcome.OOM_KILLED
    assert recommending.task() not in plimsoll.store.lifts.waiting()
    assert await retries_of(recommending, uid) == []
    assert await reasons_of(recommending, "small") == set()
