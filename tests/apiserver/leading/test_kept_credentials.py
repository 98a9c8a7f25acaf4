"""Tokens and admission's certificate, kept by the leader on the real API server."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_operator.credentials.certificate_reading import read_authorities, read_served
from plimsoll_operator.credentials.secrets import data_of
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.processes.run_webhook import webhook_configuration
from tests.apiserver.controllers import Shop, a_shop, until
from tests.apiserver.leading.candidates import Candidate, a_candidate, environment, own_objects
from tests.apiserver.waiting import ROLE, a_role
from tests.conftest import Cluster

pytestmark = [pytest.mark.cluster]

TLS = "plimsoll-admission-tls"
TOKENS = ("plimsoll-feed-token", "plimsoll-peaks-token")
KEEPING: list[dict[str, list[str]]] = [
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "create", "patch"],
    },
    {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["mutatingwebhookconfigurations"],
        "verbs": ["get", "patch"],
    },
]
SECRETS: dict[str, list[str]] = {
    "apiGroups": [""],
    "resources": ["secrets"],
    "verbs": ["get", "create", "update"],
}


@pytest_asyncio.fixture
async def objects(shop: Shop, knowing_cluster: Cluster) -> AsyncIterator[OwnObjects]:
    """The namespace's objects, and a webhook configuration of the same name that calls nobody."""
    body = webhook_configuration("https://127.0.0.1:1", b"")
    body["metadata"]["name"] = shop.namespace
    for each in body["webhooks"]:
        del each["clientConfig"]["caBundle"]
        each["namespaceSelector"] = {"matchLabels": {"nobody": "has-this"}}
    webhooks = client.AdmissionregistrationV1Api(shop.core.api_client)
    await webhooks.create_mutating_webhook_configuration(body)
    try:
        async with own_objects(knowing_cluster.kubeconfig, shop.namespace) as made:
            yield made
    finally:
        await webhooks.delete_mutating_webhook_configuration(shop.namespace)


async def trusted(objects: OwnObjects) -> tuple[bytes, ...]:
    """The authorities that the sizing webhook trusts."""
    found = await objects.webhook(objects.namespace)
    (sizing,) = (each for each in found["webhooks"] if each["name"] == "size.plimsoll.dev")
    bundle = sizing["clientConfig"].get("caBundle") or ""
    return read_authorities(base64.b64decode(bundle))


async def secret(objects: OwnObjects, name: str) -> dict[str, bytes]:
    """A Secret's entries; empty if it is not there."""
    try:
        return data_of(await objects.secret(objects.namespace, name))
    except ApiError:
        return {}


async def is_served(objects: OwnObjects) -> bool:
    """Whether a certificate is in its Secret, and trusted."""
    data = await secret(objects, TLS)
    if not data:
        return False
    served = read_served(data, [f"plimsoll-admission.{objects.namespace}.svc", "127.0.0.1"])
    return served.authorities[0] in await trusted(objects)


async def token(objects: OwnObjects, name: str) -> str | None:
    return (await secret(objects, name)).get("token", b"").decode() or None


async def feeds(one: Candidate, shown: str | None) -> int:
    """The status of a request to the feed."""
    return (await one.get("/v1/feed", shown))[0]


async def patch(shop: Shop, name: str, data: dict[str, Any]) -> None:
    await shop.core.patch_namespaced_secret(name, shop.namespace, {"data": data})


async def test_the_leader_makes_what_is_secret_and_mends_what_others_break(
    shop: Shop, objects: OwnObjects, knowing_cluster: Cluster, tmp_path: Path
) -> None:
    told = environment(shop, tmp_path)
    async with a_candidate(knowing_cluster.kubeconfig, tmp_path, "one", told) as one:
        await until("one leads", one.leads)
        assert await is_served(objects)
        for_feed, for_peaks = [await token(objects, name) for name in TOKENS]
        assert for_feed != for_peaks
        assert [await feeds(one, each) for each in (for_feed, for_peaks, None)] == [200, 401, 401]

        before = await secret(objects, TLS)
        await objects.patch_webhook(
            shop.namespace,
            {"webhooks": [{"name": "size.plimsoll.dev", "clientConfig": {"caBundle": ""}}]},
        )
        await until("trusted again", lambda: is_served(objects))
        assert await secret(objects, TLS) == before

        await patch(shop, TLS, {"tls.key": base64.b64encode(b"half a k").decode()})
        await until("mended", lambda: _differs(objects, before))
        assert await is_served(objects)
        # The replicas' old certificate stays trusted until they have read the new one.
        assert read_authorities(before["ca.crt"])[0] in await trusted(objects)
        assert [each["level"] for each in one.logged("admission's certificate is renewed")] == [
            "info",
            "warning",
        ]

        await patch(shop, TOKENS[0], {"token": base64.b64encode(b"short").decode()})
        await until("another token", lambda: _answers_newest(one, objects, for_feed))
        assert await feeds(one, for_feed) == 401
        assert one.logged("token mended: its secret held none of use")
        assert await one.metric('plimsoll_kept{what="certificate"}') == 1
        assert sorted(await shop.events("Mended")) == [
            "Plimsoll wrote this Secret anew: it held no token of 16 to 512 printable characters",
            "Plimsoll wrote this Secret anew: its tls.key is no key: "
            + one.logged("admission's certificate is renewed")[1]["why"].partition("no key: ")[2],
        ]


async def _differs(objects: OwnObjects, before: dict[str, bytes]) -> bool:
    data = await secret(objects, TLS)
    return data["tls.crt"] != before["tls.crt"] and data["tls.key"].startswith(b"-----BEGIN")


async def _answers_newest(one: Candidate, objects: OwnObjects, before: str | None) -> bool:
    newest = await token(objects, TOKENS[0])
    return newest not in (before, "short") and await feeds(one, newest) == 200


async def test_without_the_right_to_read_secrets_the_leader_says_so_and_works_on(
    shop: Shop, objects: OwnObjects, knowing_cluster: Cluster, tmp_path: Path
) -> None:
    rbac = client.RbacAuthorizationV1Api(shop.core.api_client)

    async def may(*more: dict[str, list[str]]) -> None:
        rules = [*ROLE["rules"], *KEEPING, *more]
        await rbac.patch_cluster_role(shop.namespace, {"rules": rules})

    async with a_role(shop, knowing_cluster, tmp_path) as kubeconfig:
        await may(SECRETS)
        told = environment(shop, tmp_path)
        async with a_candidate(kubeconfig, tmp_path, "one", told) as one:
            await until("one leads", one.leads)
            shown = await token(objects, TOKENS[0])
            await may()
            await until("it says so", lambda: _kept_is(one, "certificate", 0))
            (said, *_) = [
                each
                for each in one.logged("cannot be kept; looking again")
                if each["what"] == "certificate"
            ]
            assert "secrets" in said["why"]
            assert "forbidden" in said["why"]
            # It still serves with what it knows, and does all else as before.
            assert await feeds(one, shown) == 200
            assert (await one.get("/readyz"))[0] == 200
            async with a_shop(knowing_cluster.kubeconfig) as tasks:
                await tasks.pod("still-seen")
                await until("still observing", lambda: _known(one))
            await may(SECRETS)
            await until("kept again", lambda: _kept_is(one, "certificate", 1))
            assert one.process.returncode is None


async def _kept_is(one: Candidate, what: str, value: float) -> bool:
    return await one.metric(f'plimsoll_kept{{what="{what}"}}') == value


async def _known(one: Candidate) -> bool:
    return await one.metric("plimsoll_tasks") == 1
