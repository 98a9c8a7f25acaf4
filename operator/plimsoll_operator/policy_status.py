"""What a SizingPolicy's status says. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll_operator.conditions import Condition, Verdict, conditions_of
from plimsoll_operator.policies import sizing_policy_problem


def policy_status_of(
    name: str,
    problems: Sequence[str] = (),
    *,
    previous: Mapping[str, Any] | None = None,
    generation: int | None = None,
    now_s: float,
) -> dict[str, Any]:
    """The whole status.

    name: the SizingPolicy's own. problems: fields of it that had to be ignored.
    generation: of the SizingPolicy that was read.
    previous, now_s: as in ``plimsoll_operator.profile_status.status_of``.
    """
    old = (previous or {}).get("conditions")
    return {
        "observedGeneration": generation,
        "conditions": conditions_of([_in_force(name, problems)], old, now_s),
    }


def _in_force(name: str, problems: Sequence[str]) -> Condition:
    ignored = sizing_policy_problem(name)
    if ignored is not None:
        return Condition("InForce", Verdict.FALSE, "NotNamedDefault", ignored)
    if problems:
        return Condition("InForce", Verdict.TRUE, "FieldsIgnored", "; ".join(problems))
    return Condition("InForce", Verdict.TRUE, "NamespaceDefault", "in force in its namespace")
