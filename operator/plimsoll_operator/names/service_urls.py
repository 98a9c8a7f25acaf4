"""Addresses made from a Service's environment variables."""

from __future__ import annotations


def with_brackets(url: str) -> str:
    """``http://fd00::1:8081`` as ``http://[fd00::1]:8081``; any other URL as it is.

    Kubernetes gives a Service's address without brackets, and a manifest cannot tell which kind
    it will be; the port is always written there.
    """
    scheme, mark, rest = url.partition("://")
    address, slash, path = rest.partition("/")
    if address.count(":") < 2 or "[" in address or "@" in address:
        return url
    host, _, port = address.rpartition(":")
    return f"{scheme}{mark}[{host}]:{port}{slash}{path}"
