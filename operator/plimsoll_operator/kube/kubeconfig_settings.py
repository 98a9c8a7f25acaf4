"""The settings of a kubeconfig. Tokens of its plugin or its identity provider end within hours."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog
from kubernetes_asyncio import client, config

log = structlog.get_logger()

_TOKEN: Final = "BearerToken"
RENEWED_WITHIN_S: Final = 30.0
"""A plugin that takes longer hangs."""


def token_of(settings: client.Configuration) -> str | None:
    """Return the token that the next call shows; None if it shows a certificate, or nothing."""
    token: str | None = settings.api_key.get(_TOKEN)
    return token


class KubeconfigSettings(client.Configuration):  # type: ignore[misc]  # it has no types
    """An address and credentials. kubeconfig, context: where they are from; None for the usual."""

    def __init__(self, kubeconfig: str | None, context: str | None) -> None:
        super().__init__()
        self._kubeconfig = kubeconfig
        self._context = context
        self._renewing: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Read the kubeconfig, and run its plugin. It raises what the client and the disk raise."""
        await self._load_into(self)

    async def renew(self, refused: str | None) -> bool:
        """Get another token than the one that was refused; return whether there is one.

        It is got once, however many calls wait for it, and also if they stop waiting.
        """
        if token_of(self) == refused:
            if self._renewing is None or self._renewing.done():
                self._renewing = asyncio.create_task(self._renew())
            await asyncio.shield(self._renewing)
        return token_of(self) != refused

    async def _renew(self) -> None:
        loaded = client.Configuration()
        try:
            async with asyncio.timeout(RENEWED_WITHIN_S):
                await self._load_into(loaded)
        # A plugin or a provider may fail in any way; the call is then refused, as without it.
        except Exception as error:
            log.warning("the kubeconfig gives no new token", why=f"{error!r:.300}")
        else:
            self.api_key = loaded.api_key

    async def _load_into(self, settings: client.Configuration) -> None:
        await config.load_kube_config(
            config_file=self._kubeconfig, context=self._context, client_configuration=settings
        )
