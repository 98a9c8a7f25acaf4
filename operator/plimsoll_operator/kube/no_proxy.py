"""Keeps the environment's proxy away from an API server that NO_PROXY names by a range.

kubectl knows ranges such as 10.96.0.0/12; Python knows names and single addresses only.
"""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit
from urllib.request import getproxies_environment


def with_the_server(no_proxy: str, server: str) -> str:
    """Return NO_PROXY with the server's address, if the server is an address in one of its ranges.

    server: a URL.

    >>> with_the_server("10.96.0.0/12,.svc", "https://10.96.0.1:443")
    '10.96.0.0/12,.svc,10.96.0.1'
    >>> with_the_server("10.96.0.0/12,.svc", "https://192.0.2.7:6443")
    '10.96.0.0/12,.svc'
    """
    try:
        address = ipaddress.ip_address(urlsplit(server).hostname or "")
    except ValueError:
        return no_proxy
    names = [each.strip() for each in no_proxy.split(",")]
    if str(address) in names or not any(_has(each, address) for each in names):
        return no_proxy
    return f"{no_proxy},{address}"


def spare_the_server(server: str) -> None:
    """Write this process's NO_PROXY so that its sessions reach the server as kubectl would."""
    told = getproxies_environment().get("no", "")
    needed = with_the_server(told, server)
    if needed != told:
        # Python prefers the variable in small letters.
        os.environ["no_proxy"] = needed


def _has(name: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return "/" in name and address in ipaddress.ip_network(name, strict=False)
    except ValueError:
        return False
