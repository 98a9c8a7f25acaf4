"""Keeps the bearer tokens of feed and peaks in Secrets: makes them, mends them, reads them."""

from __future__ import annotations

import structlog

from plimsoll_operator.credentials.keeping_all import if_there, write_secret
from plimsoll_operator.credentials.secrets import (
    ENTRY,
    OPAQUE,
    SecretName,
    data_of,
    manifest,
    new_token,
    token_in,
)
from plimsoll_operator.kube.own_objects import OwnObjects

log = structlog.get_logger()


class TokenKeeper:
    """One token. value: as its Secret holds it; None before the first look."""

    def __init__(self, objects: OwnObjects, name: SecretName) -> None:
        self._objects = objects
        self._name = name
        self.value: str | None = None

    async def look(self) -> None:
        """Read the Secret's token; make the Secret if there is none, mend it if it is broken.

        ApiError if the API server fails; looking again is safe.
        """
        name = self._name
        before = await if_there(self._objects.secret(name.namespace, name.name))
        token = None if before is None else token_in(data_of(before))
        if token is None:
            token = new_token()
            if before is None:
                log.info("token made", secret=str(name))
            else:
                log.warning("token mended: its secret held none of use", secret=str(name))
            broken = "it held no token of 16 to 512 printable characters"
            data = {ENTRY: token.encode()}
            body = manifest(name, OPAQUE, data, before)
            await write_secret(self._objects, body, before, broken)
        self.value = token
