"""The network of one pod, cut at the node: its packets are dropped, and nothing reaches it.

A pod's network is a pair of links, one inside the pod, one on the node's bridge. The node's is
taken down, in the local cluster's own network namespace. Addresses and routes in the pod stay, so
that no call of its processes fails at once.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from typing import Any

from tests.conftest import Cluster

BRIDGE = "cni0"


@contextlib.contextmanager
def cut_off(cluster: Cluster, address: str) -> Iterator[None]:
    """Cut the pod with this IP address off, until the block ends."""
    link = _link_to(cluster, address)
    _run(cluster, "ip", "link", "set", link, "down")
    try:
        yield
    finally:
        _run(cluster, "ip", "link", "set", link, "up")


def _link_to(cluster: Cluster, address: str) -> str:
    """The node's link on which its bridge heard the pod last."""
    (neighbour,) = _asked(cluster, "ip", "-json", "neigh", "show", address, "dev", BRIDGE)
    heard = _asked(cluster, "bridge", "-json", "fdb", "show", "br", BRIDGE)
    (link,) = {each["ifname"] for each in heard if each["mac"] == neighbour["lladdr"]}
    return str(link)


def _asked(cluster: Cluster, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_run(cluster, *words))
    return found


def _run(cluster: Cluster, *words: str) -> str:
    done = subprocess.run(cluster.enter(words), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout
