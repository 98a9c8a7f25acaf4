"""Takes each step of certificate_steps.py: keeps admission's certificate and the CA bundle."""

from __future__ import annotations

import base64
import binascii
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import structlog

from plimsoll_operator.credentials.certificate_reading import (
    AUTHORITIES,
    CERTIFICATE,
    KEY,
    Unusable,
    read_authorities,
    read_served,
)
from plimsoll_operator.credentials.certificate_steps import (
    Clocks,
    NextStep,
    Prepared,
    State,
    Step,
    decide,
)
from plimsoll_operator.credentials.issuing import issue
from plimsoll_operator.credentials.keeping_all import if_there, write_secret
from plimsoll_operator.credentials.secrets import TLS, SecretName, data_of, manifest
from plimsoll_operator.kube.errors import ApiError, NotFound
from plimsoll_operator.kube.own_objects import OwnObjects

log = structlog.get_logger()

ADMISSION: Final = "app.kubernetes.io/component=admission"
MOST_STEPS: Final = 6
"""The most steps of one look; more of them would be an endless circle."""


@dataclass(frozen=True, slots=True)
class CertificatePlan:
    """The wanted certificate. names: admission's names. webhook: the configuration's name."""

    secret: SecretName
    names: tuple[str, ...]
    lifetime_s: float
    webhook: str


@dataclass(frozen=True, slots=True)
class _Objects:
    """The objects of one look; None for one that is not there."""

    state: State
    secret: Mapping[str, Any] | None
    webhook: Mapping[str, Any] | None


class CertificateKeeper:
    """``look`` every few seconds, from one controller only: the leader.

    expires_s: when the served certificate ends, Unix seconds; None if none was served.
    """

    def __init__(
        self, objects: OwnObjects, plan: CertificatePlan, clocks: Callable[[], Clocks]
    ) -> None:
        self._objects = objects
        self._plan = plan
        self._clocks = clocks
        self._prepared: Prepared | None = None
        self.expires_s: float | None = None

    async def look(self) -> None:
        """Do what is due now. ApiError if the API server fails; looking again is safe."""
        for _ in range(MOST_STEPS):
            objects = await self._find()
            served = objects.state.served
            self.expires_s = None if served is None else served.not_after_s
            following = decide(objects.state, self._clocks(), self._plan.lifetime_s)
            if following.step in (Step.REST, Step.WAIT):
                return
            await self._do(following, objects)
        log.error("admission's certificate does not settle", secret=str(self._plan.secret))

    async def _find(self) -> _Objects:
        name, served, broken = self._plan.secret, None, None
        secret = await if_there(self._objects.secret(name.namespace, name.name))
        if secret is not None:
            try:
                served = read_served(data_of(secret), self._plan.names)
            except Unusable as error:
                broken = str(error)
        webhook = await if_there(self._objects.webhook(self._plan.webhook))
        published = None if webhook is None else _published(webhook)
        self._see(published or ())
        return _Objects(State(served, broken, published, self._prepared), secret, webhook)

    def _see(self, published: tuple[bytes, ...]) -> None:
        """Note that the new authority is published, even if the answer to that was lost."""
        prepared = self._prepared
        if prepared is None or prepared.published_s is not None:
            return
        if prepared.pair.authority in published:
            self._prepared = replace(prepared, published_s=self._clocks().monotonic_s)

    async def _do(self, following: NextStep, objects: _Objects) -> None:
        words = {"secret": str(self._plan.secret), "why": following.why}
        if following.step is Step.PREPARE:
            say = log.warning if objects.state.broken else log.info
            say("admission's certificate is renewed", **words)
            clocks, lifetime = self._clocks(), timedelta(seconds=self._plan.lifetime_s)
            now = datetime.fromtimestamp(clocks.now_s, UTC)
            self._prepared = Prepared(issue(self._plan.names, now, lifetime))
        elif following.step is Step.DISCARD:
            self._prepared = None
        elif following.step is Step.PUBLISH:
            assert objects.webhook is not None
            await self._publish(objects.webhook, following.trusted)
            log.info("authorities published", count=len(following.trusted), **words)
        elif following.step is Step.SERVE:
            await self._serve(objects, following.trusted)
            log.info("admission's certificate is in its secret", **words)

    async def _publish(self, webhook: Mapping[str, Any], trusted: tuple[bytes, ...]) -> None:
        bundle = base64.b64encode(b"".join(trusted)).decode()
        body = {
            "metadata": {"resourceVersion": webhook["metadata"]["resourceVersion"]},
            "webhooks": [
                {"name": each["name"], "clientConfig": {"caBundle": bundle}}
                for each in webhook.get("webhooks") or []
            ],
        }
        await self._objects.patch_webhook(self._plan.webhook, body)
        if self._prepared is not None:
            self._prepared = replace(self._prepared, published_s=self._clocks().monotonic_s)

    async def _serve(self, objects: _Objects, trusted: tuple[bytes, ...]) -> None:
        assert self._prepared is not None
        pair = self._prepared.pair
        data = {CERTIFICATE: pair.certificate, KEY: pair.key, AUTHORITIES: b"".join(trusted)}
        body = manifest(self._plan.secret, TLS, data, objects.secret)
        await write_secret(self._objects, body, objects.secret, objects.state.broken)
        self._prepared = None
        await self._hurry()

    async def _hurry(self) -> None:
        """Make the kubelets look at the Secret now, by changing the pods that mount it.

        Otherwise they take up to a minute and a half, which is too long for a certificate with a
        short life.
        """
        ends_s = self._clocks().now_s + self._plan.lifetime_s
        words = datetime.fromtimestamp(ends_s, UTC).isoformat(timespec="seconds")
        try:
            for pod in await self._objects.pods(ADMISSION):
                with contextlib.suppress(NotFound):
                    await self._objects.mark_certificate(pod["metadata"]["name"], words)
        except ApiError as error:
            log.info("kubelets are not hurried", why=str(error))


def _published(webhook: Mapping[str, Any]) -> tuple[bytes, ...]:
    """The authorities that all its webhooks trust; empty if they differ or cannot be read."""
    bundles = {
        (each.get("clientConfig") or {}).get("caBundle") or ""
        for each in webhook.get("webhooks") or []
    }
    if len(bundles) != 1:
        return ()
    try:
        return read_authorities(base64.b64decode(bundles.pop(), validate=True))
    except (binascii.Error, ValueError):
        return ()
