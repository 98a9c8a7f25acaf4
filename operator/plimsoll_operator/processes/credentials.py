"""What the leader keeps in the cluster, put together from the settings: see ``credentials``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.credentials.certificate_keeper import CertificateKeeper, CertificatePlan
from plimsoll_operator.credentials.deciding import Clocks
from plimsoll_operator.credentials.keeping import Keeping, Look
from plimsoll_operator.credentials.secrets import SecretName
from plimsoll_operator.credentials.token_file import read_token
from plimsoll_operator.credentials.token_keeper import TokenKeeper
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.leadership.marking import mark
from plimsoll_operator.metrics.process import ProcessMetrics


@dataclass(frozen=True, slots=True)
class TokensChanged:
    """The bearer tokens to ask for from now on; None where one is not known."""

    feed: str | None = None
    peaks: str | None = None


class BearerTokens:
    """The tokens as they were seen last; the hub hears of each change."""

    def __init__(self, from_file: str | None, hub: Hub) -> None:
        self.latest = TokensChanged(from_file, from_file)
        self.hub = hub

    def set(self, seen: TokensChanged) -> None:
        """Take up what was seen."""
        if seen != self.latest:
            self.latest = seen
            self.hub.publish(seen)


@asynccontextmanager
async def keep(
    settings: ControllerSettings, kube: Kube, metrics: ProcessMetrics
) -> AsyncIterator[BearerTokens]:
    """Keep them for as long as the context is open; each was looked at once when it opens."""
    objects = OwnObjects(kube, settings.namespace, settings.instance)
    from_file = None if settings.token_file is None else read_token(settings.token_file)
    tokens = BearerTokens(from_file, Hub())
    feed = _token(objects, settings.feed_token_secret)
    peaks = _token(objects, settings.peaks_token_secret)
    certificate = _certificate(objects, settings)
    things: dict[str, Look] = {
        **({} if feed is None else {"feed-token": feed.look}),
        **({} if peaks is None else {"peaks-token": peaks.look}),
        **({} if certificate is None else {"certificate": certificate.look}),
        **({} if settings.lease is None else {"leader-label": partial(_mark, objects, settings)}),
    }

    def looked() -> None:
        tokens.set(
            TokensChanged(
                feed=feed.value if feed else from_file, peaks=peaks.value if peaks else from_file
            )
        )
        metrics.keeps(things, keeping.troubles)
        if certificate is not None:
            metrics.certificate_expires.set(certificate.expires_s or 0.0)

    keeping = Keeping(things, looked)
    await keeping.look()
    looking = asyncio.create_task(keeping.run())
    try:
        yield tokens
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def _mark(objects: OwnObjects, settings: ControllerSettings) -> None:
    await mark(objects, settings.instance)


def _token(objects: OwnObjects, secret: str | None) -> TokenKeeper | None:
    if secret is None:
        return None
    return TokenKeeper(objects, SecretName.parse(secret, objects.namespace))


def _certificate(objects: OwnObjects, settings: ControllerSettings) -> CertificateKeeper | None:
    if settings.tls_secret is None:
        return None
    plan = CertificatePlan(
        SecretName.parse(settings.tls_secret, objects.namespace),
        settings.tls_names,
        settings.tls_lifetime_s,
        settings.webhook,
    )
    return CertificateKeeper(objects, plan, lambda: Clocks(time.time(), time.monotonic()))
