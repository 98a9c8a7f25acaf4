"""Whatever certificate is in the Secret, admission has a good one soon, and it is trusted."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives import serialization
from kubernetes_asyncio import client

from plimsoll_operator.credentials.certificate_keeper import CertificateKeeper, CertificatePlan
from plimsoll_operator.credentials.certificate_reading import read_authorities, read_served
from plimsoll_operator.credentials.certificate_steps import SETTLE_S, Clocks
from plimsoll_operator.credentials.issuing import Pair, issue
from plimsoll_operator.credentials.keeping_all import Keeping
from plimsoll_operator.credentials.secrets import SecretName, data_of
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.processes.run_webhook import webhook_configuration
from tests.apiserver.controllers import Shop
from tests.apiserver.leading.candidates import own_objects
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

TLS = "plimsoll-admission-tls"
LIFETIME_S = 86_400.0


@dataclass(slots=True)
class Kept:
    """A keeper on the real API server, whose clocks a test sets."""

    shop: Shop
    objects: OwnObjects
    now_s: float
    monotonic_s: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        return (f"plimsoll-admission.{self.shop.namespace}.svc",)

    def keeping(self) -> Keeping:
        """A keeper as in a leader that has just begun."""
        name = SecretName(self.shop.namespace, TLS)
        plan = CertificatePlan(name, self.names, LIFETIME_S, self.shop.namespace)
        keeper = CertificateKeeper(self.objects, plan, lambda: Clocks(self.now_s, self.monotonic_s))
        return Keeping({"certificate": keeper.look}, lambda: None)

    async def settle(self, keeping: Keeping) -> None:
        """Look twice, and in between let API servers have time to learn a new authority."""
        await keeping.look()
        self.monotonic_s += SETTLE_S
        await keeping.look()

    async def data(self) -> dict[str, bytes]:
        return data_of(await self.objects.secret(self.shop.namespace, TLS))

    async def trusted(self) -> tuple[bytes, ...]:
        found = await self.objects.webhook(self.shop.namespace)
        return read_authorities(base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"]))

    async def write(self, pair: Pair) -> None:
        entries = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": pair.authority}
        data = {name: base64.b64encode(value).decode() for name, value in entries.items()}
        await self.shop.core.patch_namespaced_secret(TLS, self.shop.namespace, {"data": data})


@pytest_asyncio.fixture
async def kept(shop: Shop, knowing_cluster: Cluster) -> AsyncIterator[Kept]:
    """Installed a while ago: a certificate is served and trusted. The webhook calls nobody."""
    body = webhook_configuration("https://127.0.0.1:1", b"")
    body["metadata"]["name"] = shop.namespace
    for each in body["webhooks"]:
        del each["clientConfig"]["caBundle"]
        each["namespaceSelector"] = {"matchLabels": {"nobody": "has-this"}}
    webhooks = client.AdmissionregistrationV1Api(shop.core.api_client)
    await webhooks.create_mutating_webhook_configuration(body)
    try:
        async with own_objects(knowing_cluster.kubeconfig, shop.namespace) as objects:
            made = Kept(shop, objects, datetime.now(UTC).timestamp())
            await made.settle(made.keeping())
            yield made
    finally:
        await webhooks.delete_mutating_webhook_configuration(shop.namespace)


def a_pair(kept: Kept, *, age_s: float = 0.0, name: str | None = None) -> Pair:
    began = datetime.fromtimestamp(kept.now_s - age_s, UTC)
    return issue((name,) if name else kept.names, began, timedelta(seconds=LIFETIME_S))


def with_a_passphrase(pair: Pair) -> Pair:
    key = serialization.load_pem_private_key(pair.key, None)
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"passphrase"),
    )
    return Pair(pair.authority, pair.certificate, text)


WRONG: dict[str, Callable[[Kept], Pair]] = {
    "one that has expired": lambda kept: a_pair(kept, age_s=2 * LIFETIME_S),
    "one for another name": lambda kept: a_pair(kept, name="other.svc"),
    "one of the future": lambda kept: a_pair(kept, age_s=-LIFETIME_S),
    "a key with a passphrase": lambda kept: with_a_passphrase(a_pair(kept)),
    "half a certificate": lambda _: Pair(b"-----BEGIN CERT", b"-----BEGIN CERT", b"-----BE"),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_certificate_is_replaced_by_a_good_one_that_is_trusted(
    kept: Kept, wrong: str
) -> None:
    shown = read_served(await kept.data(), kept.names).authorities[0]
    await kept.write(WRONG[wrong](kept))
    keeping = kept.keeping()
    await kept.settle(keeping)
    assert keeping.troubles == {}
    served = read_served(await kept.data(), kept.names)
    assert served.not_before_s < kept.now_s < served.not_after_s
    assert served.authorities[0] in await kept.trusted()
    assert served.authorities[0] != shown


async def test_a_secret_that_is_deleted_comes_back_when_its_authority_is_trusted(
    kept: Kept,
) -> None:
    shown = read_served(await kept.data(), kept.names).authorities[0]
    await kept.shop.core.delete_namespaced_secret(TLS, kept.shop.namespace)
    keeping = kept.keeping()
    await keeping.look()
    new, old = await kept.trusted()
    assert old == shown
    kept.monotonic_s += SETTLE_S
    await keeping.look()
    assert read_served(await kept.data(), kept.names).authorities[0] == new
    assert shown in await kept.trusted()


async def test_a_secret_that_nobody_may_change_is_said_and_kept_again_once_it_is_gone(
    kept: Kept,
) -> None:
    await kept.write(a_pair(kept, age_s=2 * LIFETIME_S))
    await kept.shop.core.patch_namespaced_secret(TLS, kept.shop.namespace, {"immutable": True})
    keeping = kept.keeping()
    await kept.settle(keeping)
    assert "immutable" in keeping.troubles["certificate"]
    await kept.shop.core.delete_namespaced_secret(TLS, kept.shop.namespace)
    await kept.settle(keeping)
    assert keeping.troubles == {}
    assert read_served(await kept.data(), kept.names).not_after_s > kept.now_s
