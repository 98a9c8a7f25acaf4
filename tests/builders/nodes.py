"""Nodes for tests, as the API shows them, and admission's classes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll_operator.sizing.bounds.node_groups import NodeGroups, read_seen
from plimsoll_operator.sizing.bounds.nodes import Nodes

NODE_NAME = "kubernetes.io/hostname"


def a_node(
    memory: str | None = "16Gi",
    name: str = "node-1",
    *,
    cpu: str | None = "8",
    labels: Mapping[str, str] | None = None,
    taints: Sequence[tuple[str, str, str]] = (),
    cordoned: bool = False,
    extended: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A node's object. taints: key, value, effect. extended: amounts of other resources."""
    allocatable = {"memory": memory, "cpu": cpu, **(extended or {})}
    spec: dict[str, Any] = {
        "taints": [dict(zip(("key", "value", "effect"), taint, strict=True)) for taint in taints]
    }
    if cordoned:
        spec["unschedulable"] = True
    return {
        "metadata": {"name": name, "labels": {NODE_NAME: name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": {key: value for key, value in allocatable.items() if value}},
    }


def nodes_of(*documents: dict[str, Any]) -> Nodes:
    """The classes of these nodes; the nodes get new names, so that none replaces another."""
    groups = NodeGroups()
    for number, document in enumerate(documents):
        groups.see(f"node-{number}", read_seen(document))
    return groups.nodes
