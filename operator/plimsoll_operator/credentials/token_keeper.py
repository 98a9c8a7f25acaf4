"""Keeps the bearer tokens of feed and peaks in Secrets: makes them, mends them, reads them."""

from __future__ import annotations

import time

import structlog

from plimsoll_operator.credentials.secrets import (
    ENTRY,
    OPAQUE,
    SecretName,
    data_of,
    manifest,
    mended,
    new_token,
    token_in,
)
from plimsoll_operator.kube.errors import NotFound
from plimsoll_operator.kube.own_objects import OwnObjects

log = structlog.get_logger()


class TokenKeeper:
    """One token. value: what its Secret holds; None until it was seen."""

    def __init__(self, objects: OwnObjects, name: SecretName) -> None:
        self._objects = objects
        self._name = name
        self.value: str | None = None

    async def look(self) -> None:
        """Take up what the Secret holds; make it if it is not there, mend it if it is broken.

        Raises:
            ApiError: if the API server refuses or does not answer; looking again is safe.

        """
        before = None
        try:
            before = await self._objects.secret(self._name.namespace, self._name.name)
        except NotFound:
            log.info("token made", secret=str(self._name))
        found = None if before is None else token_in(data_of(before))
        if found is not None:
            self.value = found
            return
        token = new_token()
        body = manifest(self._name, OPAQUE, {ENTRY: token.encode()}, before)
        if before is None:
            await self._objects.create_secret(body)
        else:
            log.warning("token mended: its secret held none of use", secret=str(self._name))
            await self._objects.replace_secret(body)
            why = "it held no token of 16 to 512 printable characters"
            await self._objects.tell(mended(before, why, time.time(), self._objects.instance))
        self.value = token
