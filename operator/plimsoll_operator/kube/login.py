"""Gives kopf the credentials of our own calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import kopf

from plimsoll_operator.kube.api_server import api_settings

AGAIN_AFTER_S: Final = 1.0
"""Credentials that were refused are shown again after this pause."""
LONGEST_S: Final = 300.0
"""Credentials that are refused for longer are wrong: kopf ends, and a new start reads them anew."""
CALM_S: Final = 30.0
"""Credentials that were accepted for longer are right."""


def login_with(
    kubeconfig: str | None,
    context: str | None,
    clock_s: Callable[[], float] = time.monotonic,
    pause_s: float = AGAIN_AFTER_S,
) -> Callable[..., Awaitable[kopf.ConnectionInfo]]:
    """Return a login handler; kopf calls it again when its credentials are no longer accepted."""
    logins = _Logins(clock_s)

    async def login(**_: Any) -> kopf.ConnectionInfo:
        if logins.count:
            await asyncio.sleep(pause_s)
        settings = await api_settings(kubeconfig, context)
        key = settings.api_key.get("BearerToken") or settings.api_key.get("authorization") or ""
        scheme, _space, token = key.rpartition(" ")
        return kopf.ConnectionInfo(
            server=settings.host,
            ca_path=settings.ssl_ca_cert,
            insecure=not settings.verify_ssl,
            certificate_path=settings.cert_file,
            private_key_path=settings.key_file,
            scheme=(scheme or "Bearer") if token else None,
            token=token or None,
            username=settings.username or None,
            password=settings.password or None,
            proxy_url=settings.proxy,
            # Our own calls use the environment's proxy, too.
            trust_env=True,
            # kopf takes none that equal those that were refused. An API server that restarts may
            # refuse a good token once.
            priority=logins.number(),
        )

    return login


@dataclass(slots=True)
class _Logins:
    """Numbers logins, until they have followed each other for too long."""

    clock_s: Callable[[], float]
    count: int = field(default=0, init=False)
    _began_s: float = field(default=0.0, init=False)
    _latest_s: float = field(default=0.0, init=False)

    def number(self) -> int:
        """Return the number of this login; that of the login before if it is one too many."""
        now_s = self.clock_s()
        if self.count == 0 or now_s - self._latest_s > CALM_S:
            self._began_s = now_s
        self._latest_s = now_s
        if now_s - self._began_s <= LONGEST_S:
            self.count += 1
        return self.count
