"""Each call that Plimsoll makes, answered by a real API server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.controller.tasks.missed_deletions import PODS, LastSeen, MissedDeletions
from plimsoll_operator.kube.api_server import CORE, STRATEGIC_PATCH, custom_path, path_of
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import AlreadyThere, Changed, NotFound, Refused
from plimsoll_operator.kube.own_objects import OwnObjects
from tests.apiserver.controllers import Shop
from tests.builders.pods import a_pod
from tests.conftest import Cluster

pytestmark = [pytest.mark.cluster]

WITHIN_S = 30.0


@pytest_asyncio.fixture
async def kube(knowing_cluster: Cluster) -> AsyncIterator[Kube]:
    connected = await Kube.connect(str(knowing_cluster.kubeconfig), None)
    yield connected
    await connected.close()


async def test_a_pod_is_made_once_and_only_the_version_that_was_seen_is_changed(
    kube: Kube, shop: Shop
) -> None:
    manifest = a_pod().in_namespace(shop.namespace).with_spec(schedulerName="nobody").built()
    made = await kube.create_pod(manifest)
    with pytest.raises(AlreadyThere, match="already exists"):
        await kube.create_pod(manifest)
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]
    marked = await kube.annotate_pod(made, {"a": "b"})
    assert marked["metadata"]["annotations"]["a"] == "b"
    with pytest.raises(Changed):
        await kube.annotate_pod(made, {"a": "c"})
    assert (await kube.read_pod(shop.namespace, name))["metadata"]["uid"] == uid
    with pytest.raises(Changed):
        await kube.delete_pod(shop.namespace, name, "another")
    await kube.delete_pod(shop.namespace, name, uid)
    with pytest.raises(NotFound):
        await kube.delete_pod(shop.namespace, "nobody", uid)


async def test_our_own_kinds_are_made_told_and_taken_away(kube: Kube, shop: Shop) -> None:
    path = custom_path("taskprofiles", shop.namespace)
    kind = {"apiVersion": "plimsoll.dev/v1alpha1", "kind": "TaskProfile"}
    metadata = {"name": "train", "namespace": shop.namespace}
    made = await kube.api.create(path, {**kind, "metadata": metadata, "spec": {}})
    told = await kube.patch_status("taskprofiles", shop.namespace, "train", {"runs": 3})
    assert told["status"]["runs"] == 3
    assert "train" in [each["metadata"]["name"] async for page in kube.profiles() for each in page]
    assert all([isinstance(page, list) async for page in kube.policies()])
    with pytest.raises(Changed):
        await kube.delete_profile(made)
    await kube.delete_profile(told)
    with pytest.raises(Refused, match="mode"):
        await kube.api.create(path, {**kind, "metadata": metadata, "spec": {"mode": "perhaps"}})


async def test_what_the_cluster_and_its_roles_allow_is_told(kube: Kube, shop: Shop) -> None:
    assert "Node" in {each["kind"] async for page in kube.bounds() for each in page}
    assert await kube.may("patch", "", "pods/resize", shop.namespace)
    assert (await kube.api.get("/version"))["gitVersion"].startswith("v1.")
    pods = await kube.api.items(path_of(CORE, "pods", shop.namespace))
    assert pods == []


async def test_a_pod_that_went_while_nobody_watched_is_found_to_be_gone(
    kube: Kube, shop: Shop
) -> None:
    unscheduled = a_pod().in_namespace(shop.namespace).with_spec(schedulerName="nobody")
    made = [
        await kube.create_pod(unscheduled.named(name, uid=None).built())
        for name in ("stays", "goes")
    ]
    last_seen, gone = LastSeen(), list[str]()

    async def see_gone(pod: Mapping[str, Any]) -> None:
        gone.append(pod["metadata"]["name"])

    for pod in made:
        last_seen.see(PODS, pod, gone=False)
    await kube.delete_pod(shop.namespace, "goes", made[1]["metadata"]["uid"])
    missed = MissedDeletions(kube.api, last_seen, {PODS: see_gone})
    for _ in range(2):
        await missed.look(PODS)
    assert gone == ["goes"]
    (listed,) = await kube.api.metadata(path_of(CORE, "pods", shop.namespace))
    assert listed["metadata"]["name"] == "stays"
    assert "spec" not in listed


async def test_a_lease_is_made_and_only_the_version_that_was_seen_is_renewed(
    kube: Kube, shop: Shop
) -> None:
    own = OwnObjects(kube, shop.namespace)
    with pytest.raises(NotFound):
        await own.lease("lead", WITHIN_S)
    made = await own.put_lease("lead", {"holderIdentity": "one"}, None, WITHIN_S)
    with pytest.raises(AlreadyThere):
        await own.put_lease("lead", {"holderIdentity": "two"}, None, WITHIN_S)
    seen = made["metadata"]["resourceVersion"]
    await own.put_lease("lead", {"holderIdentity": "three"}, seen, WITHIN_S)
    with pytest.raises(Changed):
        await own.put_lease("lead", {"holderIdentity": "four"}, seen, WITHIN_S)
    assert (await own.lease("lead", WITHIN_S))["spec"]["holderIdentity"] == "three"


async def test_a_secret_is_replaced_only_in_the_version_that_was_seen(
    kube: Kube, shop: Shop
) -> None:
    own = OwnObjects(kube, shop.namespace)
    metadata = {"name": "token", "namespace": shop.namespace}
    made = await own.create_secret({"metadata": metadata, "stringData": {"token": "a"}})
    newer = await own.replace_secret({**made, "stringData": {"token": "b"}})
    with pytest.raises(Changed):
        await own.replace_secret({**made, "stringData": {"token": "c"}})
    assert await own.secret(shop.namespace, "token") == newer
    assert await own.pods("app.kubernetes.io/name=plimsoll") == []
    path = path_of(CORE, "secrets", shop.namespace, "token")
    patched = await kube.api.patch(path, {"metadata": {"labels": {"a": "b"}}}, STRATEGIC_PATCH)
    assert patched["metadata"]["labels"] == {"a": "b"}
