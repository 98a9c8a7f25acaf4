"""Puts together, from the settings, the ``credentials`` that the leader keeps valid."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.credentials.certificate_keeper import CertificateKeeper, CertificatePlan
from plimsoll_operator.credentials.certificate_steps import Clocks
from plimsoll_operator.credentials.keeping_all import Keeping, Look
from plimsoll_operator.credentials.opted_in import OptedInKeeper
from plimsoll_operator.credentials.secrets import SecretName
from plimsoll_operator.credentials.token_file import read_token
from plimsoll_operator.credentials.token_keeper import TokenKeeper
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.leadership.marking import mark
from plimsoll_operator.metrics.process import ProcessMetrics
from plimsoll_operator.processes.ending import beside


class BearerTokens:
    """The tokens that callers must show; None if unknown."""

    def __init__(self, feed: str | None, peaks: str | None) -> None:
        self.feed = feed
        self.peaks = peaks
        self._followers: list[Callable[[], None]] = []

    def follow(self, follower: Callable[[], None]) -> None:
        """Call it now, and after each change."""
        self._followers.append(follower)
        follower()

    def become(self, feed: str | None, peaks: str | None) -> None:
        """Take the tokens that hold now, and tell the followers if they are others."""
        before = self.feed, self.peaks
        self.feed = feed
        self.peaks = peaks
        if (feed, peaks) != before:
            for follower in self._followers:
                follower()


@asynccontextmanager
async def keep(
    settings: ControllerSettings, kube: Kube, metrics: ProcessMetrics
) -> AsyncIterator[BearerTokens]:
    """Keep tokens and certificate valid while the context is open; each was checked before."""
    objects = OwnObjects(kube, settings.namespace, settings.instance)
    from_file = None if settings.token_file is None else read_token(settings.token_file)
    tokens = BearerTokens(from_file, from_file)
    feed = _token(objects, settings.feed_token_secret)
    peaks = _token(objects, settings.peaks_token_secret)
    certificate = _certificate(objects, settings)
    opted_in = OptedInKeeper(objects, settings.webhook, settings.left_alone)
    marking = partial(mark, objects, settings.instance)
    things: dict[str, Look] = {
        **({} if feed is None else {"feed-token": feed.look}),
        **({} if peaks is None else {"peaks-token": peaks.look}),
        **({} if certificate is None else {"certificate": certificate.look}),
        **({} if settings.lease is None else {"leader-label": marking}),
        "opted-in": opted_in.look,
    }

    def looked() -> None:
        tokens.become(
            feed=feed.value if feed else from_file,
            peaks=peaks.value if peaks else from_file,
        )
        metrics.keeps(things, keeping.troubles)
        if certificate is not None:
            metrics.certificate_expires.set(certificate.expires_s or 0.0)

    keeping = Keeping(things, looked)
    await keeping.look()
    async with beside(keeping.run()):
        yield tokens


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
