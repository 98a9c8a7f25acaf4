"""A cluster of two real nodes, beside the checkout's own, for a block."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from deploy.local import lifecycle
from deploy.local.layout import Layout, layout_from
from deploy.local.machine import cgroups
from deploy.local.machine.namespaces import move_into_network
from deploy.local.node.nodes import nodes_of

from tests.conftest import Cluster


@contextlib.contextmanager
def two_nodes(core_share: float = 1.0) -> Iterator[Cluster]:
    """Bring it up, with this process in its network, and take it down however the block ends.

    core_share: the share of its core that a node's pods have together.
    """
    home = layout_from(os.environ).home
    handle = lifecycle.Cluster(Layout(home.with_name(f"{home.name}-placing")), dict(os.environ))
    before = os.environ.get("KUBECACHEDIR")
    # All clusters share an address, by which kubectl would take another cluster's kinds for ours.
    os.environ["KUBECACHEDIR"] = str(handle.layout.home / "kubectl-cache")
    try:
        lifecycle.up(handle, lambda text: print(text, file=sys.stderr), nodes=2)
        try:
            if core_share < 1:
                for node in nodes_of(handle.layout):
                    cgroups.limit_cpu(node.cgroup, core_share)
            leave = move_into_network(handle.layout.netns)
            try:
                yield Cluster(handle)
            finally:
                leave()
        finally:
            lifecycle.down(handle)
    finally:
        if before is None:
            del os.environ["KUBECACHEDIR"]
        else:
            os.environ["KUBECACHEDIR"] = before
