"""The settings of a kubeconfig. Tokens of its plugin or its identity provider end within hours."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import structlog
import yaml
from kubernetes_asyncio import client, config

log = structlog.get_logger()

_TOKEN: Final = "BearerToken"
RENEWED_WITHIN_S: Final = 30.0
"""A plugin that takes longer hangs."""


def token_of(settings: client.Configuration) -> str | None:
    """Return the token that the next call shows; None if it shows a certificate, or nothing."""
    token: str | None = settings.api_key.get(_TOKEN)
    return token


def filled(files: Iterable[str]) -> dict[str, Any]:
    """Return the documents of those files that are there and name anything, as kubectl does.

    Raises:
        OSError, ValueError, yaml.YAMLError: if a file cannot be read.

    """
    documents: dict[str, Any] = {}
    for file in files:
        path = Path(os.path.expanduser(file))
        # It is not there, either, for a process without a home folder or the right to see it.
        if os.path.exists(path):
            document = yaml.safe_load(path.read_text())
            if document is not None and not _is_blank(document):
                documents[file] = document
    return documents


def first_context(documents: Mapping[str, Any]) -> str | None:
    """Return the current context of the first file that has one: that is kubectl's choice."""
    found = (each.get("current-context") for each in documents.values() if isinstance(each, dict))
    return next((str(context) for context in found if context), None)


def _is_blank(document: Any) -> bool:
    parts = ("clusters", "contexts", "users")
    return isinstance(document, dict) and not any(document.get(part) for part in parts)


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
