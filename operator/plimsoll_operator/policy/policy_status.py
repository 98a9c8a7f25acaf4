"""Makes a SizingPolicy's status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.names.conditions import (
    ConditionStatus,
    ConditionType,
    Finding,
    conditions_of,
)
from plimsoll_operator.policy.policy_levels import is_cluster_policy, sizing_policy_problem


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """The facts of a SizingPolicy's status.

    own_namespace: Plimsoll's. problems: ignored fields, in words. paused: as the spec says.
    """

    namespace: str
    name: str
    own_namespace: str
    problems: Sequence[str] = ()
    paused: bool = False


def policy_status_of(
    facts: PolicyFacts,
    *,
    previous: Mapping[str, Any] | None = None,
    generation: int | None = None,
    now_s: float,
) -> dict[str, Any]:
    """Return the status. previous, now_s: as in ``plimsoll_operator.profile.status.status_of``.

    generation: of the SizingPolicy that was read.
    """
    old = (previous or {}).get("conditions")
    return {
        "observedGeneration": generation,
        "conditions": conditions_of({ConditionType.IN_FORCE: _in_force(facts)}, old, now_s),
    }


def _in_force(facts: PolicyFacts) -> Finding:
    ignored = sizing_policy_problem(facts.namespace, facts.name, facts.own_namespace)
    if ignored is not None:
        return Finding(ConditionStatus.FALSE, "NotNamedDefault", ignored)
    everywhere = is_cluster_policy(facts.namespace, facts.name, facts.own_namespace)
    words = "in force in every namespace" if everywhere else "in force in its namespace"
    if facts.paused:
        words += (
            "; paused: no pod is sized, lifted or resized, whatever the pod itself says, but a run"
            " that had less than was written gets that; needs are still observed and learned"
        )
    if facts.problems:
        return Finding(ConditionStatus.TRUE, "FieldsIgnored", "; ".join([*facts.problems, words]))
    if facts.paused:
        return Finding(ConditionStatus.TRUE, "Paused", words)
    reason = "ClusterDefault" if everywhere else "NamespaceDefault"
    return Finding(ConditionStatus.TRUE, reason, words)
