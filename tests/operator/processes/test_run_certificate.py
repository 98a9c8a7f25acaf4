"""``plimsoll run`` renews admission's certificate, and the API server trusts it at all times."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography import x509

from plimsoll_operator.credentials.certificate_reading import (
    AUTHORITIES,
    CERTIFICATE,
    KEY,
    read_served,
)
from plimsoll_operator.kube.api_server import STRATEGIC_PATCH, ApiServer
from plimsoll_operator.kube.errors import Unreachable
from plimsoll_operator.processes import run_certificate
from plimsoll_operator.processes.run_certificate import RunCertificate
from plimsoll_operator.processes.run_webhook import LIFETIME, webhook_configuration

HOSTS = ["127.0.0.1", "localhost"]
MADE = datetime(2026, 1, 1, tzinfo=UTC)


class Server:
    """The API server's webhook configuration. away: how many reads fail."""

    def __init__(self, folder: Path, authority: bytes) -> None:
        self.folder = folder
        self.kept = webhook_configuration("https://127.0.0.1:9443", authority)
        self.away = 0
        self.shown_when_trusted: list[bytes] = []

    async def get(self, _path: str) -> dict[str, Any]:
        if self.away:
            self.away -= 1
            raise Unreachable("it is away")
        return self.kept

    async def patch(self, _path: str, body: Mapping[str, Any], content: str) -> dict[str, Any]:
        assert content == STRATEGIC_PATCH, "else it would replace all that webhooks say"
        assert [each["name"] for each in body["webhooks"]] == [
            each["name"] for each in self.kept["webhooks"]
        ]
        for kept, patch in zip(self.kept["webhooks"], body["webhooks"], strict=True):
            kept["clientConfig"] |= patch["clientConfig"]
        self.shown_when_trusted.append((self.folder / CERTIFICATE).read_bytes())
        return self.kept

    def trusted(self) -> list[x509.Certificate]:
        (bundle,) = {each["clientConfig"]["caBundle"] for each in self.kept["webhooks"]}
        return x509.load_pem_x509_certificates(base64.b64decode(bundle))


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_certificate, "LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(run_certificate, "SETTLE_S", 0.001)


@pytest.mark.parametrize("away", [0, 2])
async def test_it_is_renewed_at_two_thirds_of_its_life(tmp_path: Path, away: int) -> None:
    certificate = RunCertificate.make(tmp_path, HOSTS, MADE)
    old, server = certificate.authority, Server(tmp_path, certificate.authority)
    before, server.away = (tmp_path / CERTIFICATE).read_bytes(), away
    now, looks = MADE + timedelta(days=243), 0

    def clock() -> datetime:
        nonlocal looks
        looks += 1
        return now

    keeping = asyncio.create_task(certificate.keep(cast(ApiServer, server), clock))
    async with asyncio.timeout(30):
        while looks < 5:
            await asyncio.sleep(0.001)
        assert not server.shown_when_trusted, "it is not due"
        now = MADE + timedelta(days=244)
        while certificate.made == MADE:
            await asyncio.sleep(0.001)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert server.shown_when_trusted == [before], "the new one is trusted before it is shown"
    new = certificate.authority
    data = {each: (tmp_path / each).read_bytes() for each in (CERTIFICATE, KEY)}
    served = read_served({**data, AUTHORITIES: new}, HOSTS)
    assert served.not_after_s == (now + LIFETIME).timestamp()
    assert server.trusted() == [x509.load_pem_x509_certificate(each) for each in (new, old)]
