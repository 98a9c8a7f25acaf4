"""Finds Plimsoll beside a cluster, as `plimsoll run` starts it: its webhook has a URL."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import NotFound, Refused
from plimsoll_operator.kube.own_objects import WEBHOOKS

WEBHOOK: Final = "plimsoll"
"""The configuration's name; that of `plimsoll run` has no labels of a chart."""
HTTPS_PORT: Final = 443
CONNECTED_WITHIN_S: Final = 2.0


async def runs_outside(objects: ApiServer) -> bool:
    """Say whether a `plimsoll run` registered its webhook; False if that may not be read."""
    with suppress(NotFound, Refused):
        return address_outside([await objects.get(f"{WEBHOOKS}/{WEBHOOK}")]) is not None
    return False


def address_outside(configurations: Sequence[Mapping[str, Any]]) -> str | None:
    """The address of admission, as ``https://host:port``; None if it is a Service of the cluster.

    configurations: Plimsoll's webhook configurations; the first one counts.
    """
    hooks = configurations[0].get("webhooks") if configurations else None
    url = ((hooks or [{}])[0].get("clientConfig") or {}).get("url")
    if url is None:
        return None
    parts = urlsplit(str(url))
    return f"{parts.scheme}://{parts.netloc}"


async def accepts(address: str) -> bool | None:
    """Say whether a connection to the address is accepted from here, within two seconds.

    False if its machine refuses it; None if the machine cannot be reached from here.
    """
    parts = urlsplit(address)
    try:
        async with asyncio.timeout(CONNECTED_WITHIN_S):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or HTTPS_PORT)
    except ConnectionRefusedError:
        return False
    except (OSError, ValueError):  # no such host, no way to it, no answer, or no number of a port
        return None
    writer.close()
    return True
