"""A certificate is renewed even if the API server's answers are lost on their way."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from plimsoll_operator.credentials.certificate_keeper import CertificateKeeper, CertificatePlan
from plimsoll_operator.credentials.certificate_reading import AUTHORITIES, CERTIFICATE, KEY
from plimsoll_operator.credentials.certificate_steps import SETTLE_S, Clocks
from plimsoll_operator.credentials.issuing import issue
from plimsoll_operator.credentials.secrets import TLS, SecretName, data_of, manifest
from plimsoll_operator.kube.errors import Unreachable
from plimsoll_operator.kube.own_objects import OwnObjects

NAMES = ("plimsoll-admission.plimsoll.svc",)
PLAN = CertificatePlan(
    SecretName("plimsoll", "plimsoll-admission-tls"), NAMES, 86_400.0, "plimsoll"
)
START_S = 1_800_000_000.0


@dataclass(slots=True)
class Server:
    """The API server's Secret and webhook configuration, and the keeper's clocks.

    lost: how many patches are made without an answer.
    """

    kept: dict[str, Any]
    bundle: bytes
    lost: int = 0
    passed_s: float = 0.0
    written: list[Mapping[str, Any]] = field(default_factory=list)

    async def secret(self, _namespace: str, _name: str) -> dict[str, Any]:
        return deepcopy(self.kept)

    async def replace_secret(self, body: Mapping[str, Any]) -> dict[str, Any]:
        self.written.append(body)
        self.kept = dict(body)
        return self.kept

    async def webhook(self, _name: str) -> dict[str, Any]:
        config = {"caBundle": base64.b64encode(self.bundle).decode()}
        one = {"name": "size.plimsoll.dev", "clientConfig": config}
        return {"metadata": {"resourceVersion": "1"}, "webhooks": [one]}

    async def patch_webhook(self, _name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        (one,) = body["webhooks"]
        self.bundle = base64.b64decode(one["clientConfig"]["caBundle"])
        if self.lost > 0:
            self.lost -= 1
            raise Unreachable("the connection was reset")
        return {}

    async def pods(self, _selector: str) -> list[dict[str, Any]]:
        return []

    def clocks(self) -> Clocks:
        return Clocks(START_S + self.passed_s, self.passed_s)


@pytest.fixture
def server() -> Server:
    """A served certificate whose time is nearly over."""
    made = datetime.fromtimestamp(START_S, UTC) - timedelta(seconds=PLAN.lifetime_s * 0.9)
    pair = issue(NAMES, made, timedelta(seconds=PLAN.lifetime_s))
    data = {CERTIFICATE: pair.certificate, KEY: pair.key, AUTHORITIES: pair.authority}
    return Server(manifest(PLAN.secret, TLS, data, None), pair.authority)


@pytest.mark.parametrize("lost", [0, 1], ids=["answered", "the answer is lost"])
async def test_a_new_authority_that_was_published_is_served_after_its_pause(
    server: Server, lost: int
) -> None:
    server.lost = lost
    keeper = CertificateKeeper(cast(OwnObjects, server), PLAN, server.clocks)
    if lost:
        with pytest.raises(Unreachable):
            await keeper.look()
    await keeper.look()
    server.passed_s += SETTLE_S - 1
    await keeper.look()
    assert server.written == []
    server.passed_s += 1
    await keeper.look()
    (written,) = server.written
    assert data_of(written)[AUTHORITIES] == server.bundle
