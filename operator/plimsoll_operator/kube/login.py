"""Gives kopf the credentials of our own calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import kopf

from plimsoll_operator.kube.api_server import api_settings


def login_with(
    kubeconfig: str | None, context: str | None
) -> Callable[..., Awaitable[kopf.ConnectionInfo]]:
    """Return a login handler; kopf calls it again when its credentials are no longer accepted."""

    async def login(**_: Any) -> kopf.ConnectionInfo:
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
        )

    return login
