"""Finds Plimsoll beside a cluster, as `plimsoll run` starts it: its webhook has a URL."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import NotFound
from plimsoll_operator.kube.own_objects import WEBHOOKS

WEBHOOK: Final = "plimsoll"
"""The configuration's name; that of `plimsoll run` has no labels of a chart."""
HTTPS_PORT: Final = 443
ANSWERS_WITHIN_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Admission:
    """Admission that is no Service of the cluster.

    address: as ``https://host:port``. authority: the certificate that it is trusted by, as PEM;
    empty if the configuration has none that can be read.
    """

    address: str
    authority: str


async def runs_outside(objects: ApiServer) -> bool:
    """Say whether a `plimsoll run` registered its webhook.

    Raises:
        Refused: if that may not be read.
    """
    with suppress(NotFound):
        return admission_outside([await objects.get(f"{WEBHOOKS}/{WEBHOOK}")]) is not None
    return False


def admission_outside(configurations: Sequence[Mapping[str, Any]]) -> Admission | None:
    """Find admission's address; None if it is a Service of the cluster.

    configurations: Plimsoll's webhook configurations; the first one counts.
    """
    hooks = configurations[0].get("webhooks") if configurations else None
    client = (hooks or [{}])[0].get("clientConfig") or {}
    if client.get("url") is None:
        return None
    parts = urlsplit(str(client["url"]))
    return Admission(f"{parts.scheme}://{parts.netloc}", _pem(client.get("caBundle")))


def _pem(bundle: object) -> str:
    try:
        return base64.b64decode(str(bundle or ""), validate=True).decode("ascii")
    except ValueError:
        return ""


async def answers(admission: Admission, api_server: str) -> bool | None:
    """Say whether admission answers from here, within two seconds besides the lookup of its name.

    False if its machine refuses the connection, or if another program answers. None if that cannot
    be known from here: nothing answers in time, or there is no way to it. Where its address is one
    that each machine has for itself, a refusal tells only of this machine: it is None, too, if the
    API server's address is another.

    api_server: its URL.
    """
    parts = urlsplit(admission.address)
    try:
        port = parts.port or HTTPS_PORT
        trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusted.load_verify_locations(cadata=admission.authority)
        found = await asyncio.get_running_loop().getaddrinfo(
            parts.hostname, port, type=socket.SOCK_STREAM
        )
    except (OSError, ValueError):  # no such host, no number of a port, or no certificate
        return None
    addresses = [str(each[4][0]) for each in found]
    name = str(parts.hostname)
    said = await asyncio.gather(*(_answers_at(each, port, trusted, name) for each in addresses))
    if True in said:
        return True
    if None in said or (all(map(_is_loopback, addresses)) and not _is_here(api_server)):
        return None
    return False


async def _answers_at(address: str, port: int, trusted: ssl.SSLContext, name: str) -> bool | None:
    try:
        async with asyncio.timeout(ANSWERS_WITHIN_S):
            _, writer = await asyncio.open_connection(
                address, port, ssl=trusted, server_hostname=name
            )
    except (ssl.SSLError, ConnectionError):
        return False
    except OSError:  # no way to it, or no answer
        return None
    writer.transport.abort()
    return True


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host == "localhost" or _is_loopback(host)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
