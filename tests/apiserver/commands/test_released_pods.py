"""What the API server lets a patch change in a waiting pod, and ``plimsoll release``."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.commands.modes.release import release_pods
from plimsoll_operator.kube.api_server import CORE, JSON_PATCH, ApiServer, path_of
from plimsoll_operator.kube.errors import Changed, Refused
from plimsoll_operator.names import labels
from plimsoll_operator.ordering.gate import opening, release_to
from plimsoll_operator.sizing.node_hint import PREFERRED
from tests.apiserver.controllers import Shop, until

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio]

OURS, OTHERS = {"name": labels.ORDER_GATE}, {"name": "example.com/mine"}
OWN = {
    "weight": 7,
    "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
}
ASKS = {
    "name": "main",
    "image": "localhost/none:1",
    "resources": {"requests": {"memory": "64Mi"}, "limits": {"memory": "64Mi"}},
}
APART = {
    "requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
    ]
}


async def gated(shop: Shop, name: str, *gates: dict[str, str], **spec: Any) -> dict[str, Any]:
    """A pod that waits, as the API server has it."""
    body = {
        "metadata": {"name": name, "labels": {labels.TASK: "train"}},
        "spec": {
            "schedulingGates": list(gates),
            "schedulerName": "nobody",
            "containers": [{"name": "main", "image": "localhost/none:1"}],
            **spec,
        },
    }
    await shop.core.create_namespaced_pod(shop.namespace, body)
    return await now(shop, name)


def api_of(shop: Shop) -> ApiServer:
    return ApiServer(shop.core.api_client)


async def now(shop: Shop, name: str) -> dict[str, Any]:
    return await api_of(shop).get(path_of(CORE, "pods", shop.namespace, name))


def gates_of(pod: dict[str, Any]) -> list[str]:
    return [gate["name"] for gate in pod["spec"].get("schedulingGates") or []]


async def release(shop: Shop, pod: dict[str, Any]) -> dict[str, Any]:
    path = path_of(CORE, "pods", shop.namespace, pod["metadata"]["name"])
    return await api_of(shop).patch(path, release_to(pod, ["node-1", "node-2"]))


async def test_a_release_adds_preferences_and_takes_no_other_gate(shop: Shop) -> None:
    affinity = {"nodeAffinity": {PREFERRED: [OWN]}, "podAntiAffinity": APART}
    pod = await gated(shop, "both", OTHERS, OURS, affinity=affinity)
    released = await release(shop, pod)
    assert gates_of(released) == [OTHERS["name"]]
    terms = released["spec"]["affinity"]["nodeAffinity"][PREFERRED]
    assert [term["weight"] for term in terms] == [7, 60, 40]
    assert released["spec"]["affinity"]["podAntiAffinity"] == APART


async def test_a_release_of_an_older_version_changes_nothing(shop: Shop) -> None:
    pod = await gated(shop, "older", OURS)
    note = {"metadata": {"annotations": {"example.com/a": "b"}}}
    await api_of(shop).patch(path_of(CORE, "pods", shop.namespace, "older"), note)
    with pytest.raises(Changed):
        await release(shop, pod)
    assert gates_of(await now(shop, "older")) == [labels.ORDER_GATE]


async def test_after_a_release_nothing_of_it_can_be_changed(shop: Shop) -> None:
    """So a release may not require a node: if the node is gone, there is no way back."""
    released = await release(shop, await gated(shop, "bound", OURS))
    path = path_of(CORE, "pods", shop.namespace, "bound")
    loosened: dict[str, Any] = {"spec": {"affinity": {"nodeAffinity": {PREFERRED: []}}}}
    with pytest.raises(Refused):
        await api_of(shop).patch(path, loosened)
    assert (await now(shop, "bound"))["spec"] == released["spec"]


async def test_an_opening_takes_the_one_gate_and_fails_once_it_is_gone(shop: Shop) -> None:
    pod = await gated(shop, "opened", OTHERS, OURS)
    path = path_of(CORE, "pods", shop.namespace, "opened")
    opened = await api_of(shop).patch(path, opening(pod), JSON_PATCH)
    assert gates_of(opened) == [OTHERS["name"]]
    with pytest.raises(Refused):
        await api_of(shop).patch(path, opening(pod), JSON_PATCH)


async def test_quotas_count_who_waits_as_who_runs(shop: Shop) -> None:
    """So held pods give nobody more than the quota, and no pod waits outside of it."""
    hard = {"pods": "2", "requests.memory": "96Mi"}
    await shop.core.create_namespaced_resource_quota(
        shop.namespace, {"metadata": {"name": "little"}, "spec": {"hard": hard}}
    )
    await until("the quota is kept", lambda: used(shop, "little"))
    await gated(shop, "first", OURS, containers=[ASKS])
    with pytest.raises(client.ApiException, match="exceeded quota: little"):
        await gated(shop, "second", OURS, containers=[ASKS])
    assert await used(shop, "little") == {"pods": "1", "requests.memory": "64Mi"}
    await release(shop, await now(shop, "first"))
    assert await used(shop, "little") == {"pods": "1", "requests.memory": "64Mi"}


async def used(shop: Shop, name: str) -> dict[str, str] | None:
    """What a quota counts; None until the API server counts."""
    status = (await shop.core.read_namespaced_resource_quota(name, shop.namespace)).status
    found: dict[str, str] | None = status.used
    return found


async def test_release_lets_go_all_and_nothing_else(shop: Shop) -> None:
    for number in range(3):
        await gated(shop, f"ours-{number}", OURS, OTHERS)
    await gated(shop, "not-ours", OTHERS)
    assert await release_pods(api_of(shop)) >= 3
    pods = await shop.pods()
    found = {name: [gate.name for gate in pod.spec.scheduling_gates] for name, pod in pods.items()}
    assert found == {name: [OTHERS["name"]] for name in pods}
    assert await release_pods(api_of(shop)) == 0
