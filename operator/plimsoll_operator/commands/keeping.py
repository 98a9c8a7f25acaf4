"""What the leader keeps in the cluster, put together from the settings: see ``credentials``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from plimsoll_operator.bearer_tokens import read_token
from plimsoll_operator.controller.kube import Kube
from plimsoll_operator.controller.own_objects import OwnObjects
from plimsoll_operator.controller.process_metrics import ProcessMetrics
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.credentials.certificate_keeper import CertificateKeeper, CertificatePlan
from plimsoll_operator.credentials.deciding import Clocks
from plimsoll_operator.credentials.keeping import Keeping, Look
from plimsoll_operator.credentials.secrets import SecretName
from plimsoll_operator.credentials.token_keeper import TokenKeeper
from plimsoll_operator.leadership.marking import mark


@dataclass(slots=True)
class Kept:
    """The tokens to ask for. on_change: called when one is another than before."""

    feed_token: str | None = None
    peaks_token: str | None = None
    on_change: Callable[[], None] = lambda: None

    def set(self, feed: str | None, peaks: str | None) -> None:
        """Take up what was seen last."""
        if (feed, peaks) != (self.feed_token, self.peaks_token):
            self.feed_token, self.peaks_token = feed, peaks
            self.on_change()


@asynccontextmanager
async def keep(
    settings: ControllerSettings, kube: Kube, metrics: ProcessMetrics
) -> AsyncIterator[Kept]:
    """Keep them for as long as the context is open; each was looked at once when it opens."""
    objects = OwnObjects(kube, settings.namespace, settings.instance)
    from_file = None if settings.token_file is None else read_token(settings.token_file)
    kept = Kept(from_file, from_file)
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
        kept.set(feed.value if feed else from_file, peaks.value if peaks else from_file)
        metrics.keeps(things, keeping.troubles)
        if certificate is not None:
            metrics.certificate_expires.set(certificate.expires_s or 0.0)

    keeping = Keeping(things, looked)
    await keeping.look()
    looking = asyncio.create_task(keeping.run())
    try:
        yield kept
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
