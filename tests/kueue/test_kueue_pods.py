"""Bare pods that Kueue counts one by one: it would delete them at another size."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import (
    WITHIN_S,
    create,
    decision_of,
    end_of,
    ended,
    memory_of,
    retried,
    running,
)
from tests.e2e.workloads import LONG_S, Manifest, a_pod
from tests.kueue.quotas import KUEUES_GATE, Queue, asked_bytes, condition_of, counted_bytes

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="session")]

ASKED = "700Mi"
GROWS = "heed 96 4 140 10240 3"
"""It grows to 236 MiB, more slowly near its limit: see the rescues of tests/e2e."""
GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"
GROUP_SIZE = "kueue.x-k8s.io/pod-group-total-count"
NOWHERE = {"example.com/none": "such"}


def gates_of(pod: Any) -> list[str]:
    return [each.name for each in pod.spec.scheduling_gates or ()]


async def test_kueue_deletes_a_pod_that_is_resized(shop: Shop, queue: Queue) -> None:
    # The reason for all tests here. If a newer Kueue allows it, Plimsoll may resize its pods.
    await queue.allow("1Gi")
    pod = queue.takes(a_pod("resized", f"eat 8 {LONG_S}", task="resized", memory="64Mi"))
    pod["metadata"]["annotations"][labels.RETRY] = "never"
    await create(shop, pod)
    await running(shop, "resized")
    main = {
        "name": "main",
        "resources": {"requests": {"memory": "96Mi"}, "limits": {"memory": "96Mi"}},
    }
    await shop.core.patch_namespaced_pod_resize(
        "resized", shop.namespace, {"spec": {"containers": [main]}}
    )

    async def gone() -> bool:
        return await shop.pod_now("resized") is None

    await until("Kueue deletes it", gone, WITHIN_S)


async def test_a_pod_that_waits_in_a_queue_is_sized_when_created_and_not_later(
    shop: Shop, plimsoll: Plimsoll, queue: Queue
) -> None:
    def pod(name: str, **spec: Any) -> Manifest:
        made = a_pod(name, "eat 20 1", task="queued", memory=ASKED)
        made["spec"] |= spec
        return made

    later = [{"name": "example.com/later"}]
    waits = await create(shop, queue.takes(pod("waits")))
    assert KUEUES_GATE in gates_of(waits)
    other = await create(shop, pod("other", schedulingGates=later))
    assert memory_of(waits) == memory_of(other) == (ASKED, ASKED)
    await queue.allow(ASKED)
    # Kueue has counted and released it, but it has no node: it still waits.
    admitted = await create(shop, queue.takes(pod("admitted", nodeSelector=NOWHERE)))
    await queue.says(waits.metadata.uid, "Admitted")
    await ended(shop, "waits")
    await queue.says(admitted.metadata.uid, "Admitted")
    held = await create(shop, queue.takes(pod("held")))
    assert gates_of(held) == gates_of(waits), "Kueue's, and none of an order"

    async def resized() -> bool:
        return memory_of((await shop.pods())["other"])[0] != ASKED

    await until("what waits elsewhere is resized", resized, WITHIN_S)
    pods = await shop.pods()
    assert memory_of(pods["admitted"]) == (ASKED, ASKED)
    assert gates_of(pods["admitted"]) == []
    # Even if its task was known by then, this one has its first size, and its gate.
    assert memory_of(pods["held"]) == memory_of(held)
    assert gates_of(pods["held"]) == gates_of(held)
    await shop.core.delete_namespaced_pod("admitted", shop.namespace, grace_period_seconds=0)
    workload = await queue.says(held.metadata.uid, "Admitted")
    assert counted_bytes(workload) == parse_bytes(memory_of(held)[0])
    assert (await ended(shop, "held")).status.phase == "Succeeded"
    seen = await until(
        "both observed",
        lambda: (found := plimsoll.observations(shop.task("queued")))[1:] and found,
        WITHIN_S,
    )
    assert [each.outcome for each in seen] == [Outcome.SUCCEEDED] * 2


async def test_a_killed_pod_of_a_queue_is_tried_again_through_the_queue(
    shop: Shop, plimsoll: Plimsoll, queue: Queue
) -> None:
    await queue.allow("1Gi")
    # The namespace's policy rescues running pods, but Kueue would not allow it for this one.
    killed = await create(shop, queue.takes(a_pod("grows", GROWS, task="grows", memory="160Mi")))
    again = await retried(shop, killed.metadata.uid)
    first = await ended(shop, "grows")
    assert (end_of(first), memory_of(first)) == (("OOMKilled", 137), ("160Mi", "160Mi"))
    assert labels.RESCUED not in first.metadata.annotations
    assert decision_of(again)["reason"] == "lifted"
    assert again.status.phase == "Succeeded"
    workload = await queue.says(again.metadata.uid, "Finished")
    assert asked_bytes(workload) == parse_bytes(memory_of(again)[0]) > 160 * MIB
    seen = await until(
        "both observed",
        lambda: (found := plimsoll.observations(shop.task("grows")))[1:] and found,
        WITHIN_S,
    )
    assert [each.outcome for each in seen] == [Outcome.OOM_KILLED, Outcome.SUCCEEDED]
    assert len({each.run for each in seen}) == 1


async def test_a_killed_pod_of_a_group_is_replaced_within_its_group(
    shop: Shop, queue: Queue
) -> None:
    await queue.allow("1Gi")

    def one_of(name: str, command: str) -> Manifest:
        pod = queue.takes(a_pod(name, command, task=name, memory="160Mi"))
        pod["metadata"]["labels"][GROUP_LABEL] = "pair"
        pod["metadata"]["annotations"][GROUP_SIZE] = "2"
        return pod

    small = await create(shop, one_of("pair-small", "eat 20 1"))
    large = await create(shop, one_of("pair-large", GROWS))
    again = await retried(shop, large.metadata.uid)
    assert decision_of(again)["reason"] == "lifted"
    assert again.status.phase == (await ended(shop, "pair-small")).status.phase == "Succeeded"
    workload = await queue.says(small.metadata.uid, "Finished")
    assert workload["metadata"]["name"] == "pair"
    assert condition_of(workload, "Evicted") is None
