"""Renews admission's certificate while ``plimsoll run`` runs. On a cluster the leader does it.

As there (``credentials.certificate_steps``), a new authority is trusted before it is shown.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from plimsoll_operator.credentials.certificate_steps import RENEWED_AT, SETTLE_S
from plimsoll_operator.credentials.issuing import issue
from plimsoll_operator.kube.api_server import STRATEGIC_PATCH, ApiServer
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.kube.own_objects import WEBHOOKS
from plimsoll_operator.processes.run_webhook import LIFETIME, NAME, make_certificates, write_pair

log = structlog.get_logger()

LOOK_EVERY_S: Final = 3600.0
"""Not one long sleep: a laptop's clock for sleeping stands still while it is suspended."""


def utc_now() -> datetime:
    """Return the time by the wall clock, by which certificates expire."""
    return datetime.now(UTC)


@dataclass(slots=True)
class RunCertificate:
    """The certificate in a folder, for the hosts. authority: who signed it, PEM; made: when."""

    folder: Path
    hosts: list[str]
    authority: bytes
    made: datetime

    @classmethod
    def make(cls, folder: Path, hosts: list[str], now: datetime) -> RunCertificate:
        """Make a pair and write it into the folder."""
        return cls(folder, hosts, make_certificates(folder, hosts, now), now)

    async def keep(self, api: ApiServer, now: Callable[[], datetime] = utc_now) -> None:
        """Renew it in time, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if now() < self.made + RENEWED_AT * LIFETIME:
                continue
            try:
                await self._renew(api, now())
            except (ApiError, OSError) as error:
                # The old one is valid for months; the next look tries again.
                log.warning("admission's certificate is not renewed yet", why=str(error))

    async def _renew(self, api: ApiServer, now: datetime) -> None:
        pair = issue(self.hosts, now, LIFETIME)
        await _trust(api, pair.authority + self.authority)
        await asyncio.sleep(SETTLE_S)
        write_pair(self.folder, pair)
        self.authority, self.made = pair.authority, now
        log.info("admission's certificate is renewed", folder=str(self.folder))


async def _trust(api: ApiServer, authorities: bytes) -> None:
    path = f"{WEBHOOKS}/{NAME}"
    client = {"caBundle": base64.b64encode(authorities).decode()}
    # Nothing else changes: the controller writes the names of namespaces there.
    webhooks = [
        {"name": each["name"], "clientConfig": client} for each in (await api.get(path))["webhooks"]
    ]
    await api.patch(path, {"webhooks": webhooks}, STRATEGIC_PATCH)
