"""Says which SizingPolicy applies where, and names the levels that can pause a task."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

SIZING_POLICY_NAME: Final = "default"
"""The name of the one SizingPolicy that is in force in a namespace."""
CLUSTER_POLICY_NAME: Final = "cluster"
"""The name, in Plimsoll's own namespace, of the SizingPolicy for all namespaces."""


class PausedBy(StrEnum):
    """The level that pauses a task; a condition's reason."""

    CLUSTER = "ClusterPaused"
    NAMESPACE = "NamespacePaused"
    TASK = "TaskPaused"


def is_cluster_policy(namespace: str, name: str, own_namespace: str) -> bool:
    """Say whether a SizingPolicy is the default of all namespaces."""
    return name == CLUSTER_POLICY_NAME and namespace == own_namespace


def sizing_policy_problem(namespace: str, name: str, own_namespace: str) -> str | None:
    """Return the reason why a SizingPolicy is not in force; None if it is."""
    if name == SIZING_POLICY_NAME or is_cluster_policy(namespace, name, own_namespace):
        return None
    if name == CLUSTER_POLICY_NAME:
        return (
            f"ignored: the SizingPolicy named {name!r} is the default of all namespaces only in"
            f" Plimsoll's own, {own_namespace}; name this one {SIZING_POLICY_NAME!r}"
        )
    return (
        f"ignored: only the SizingPolicy named {SIZING_POLICY_NAME!r} is its namespace's;"
        " rename it, or write these fields into a TaskProfile's spec"
    )
