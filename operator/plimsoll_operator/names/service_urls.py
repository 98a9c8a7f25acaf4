"""Mends URLs made from a Service's environment variables."""

from __future__ import annotations


def with_brackets(url: str) -> str:
    """``http://fd00::1:8081`` becomes ``http://[fd00::1]:8081``; any other URL stays as it is.

    Kubernetes gives a Service's address without brackets, and a manifest cannot know the address
    family; it always writes the port.
    """
    scheme, mark, rest = url.partition("://")
    address, slash, path = rest.partition("/")
    if address.count(":") < 2 or "[" in address or "@" in address:
        return url
    host, _, port = address.rpartition(":")
    return f"{scheme}{mark}[{host}]:{port}{slash}{path}"
