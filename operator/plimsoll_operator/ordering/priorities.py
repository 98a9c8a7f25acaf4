"""Reads PriorityClasses: a Job's template names one, and only its pods get the number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from plimsoll_operator.pods.spec import mapping, metadata_of


@dataclass(frozen=True, slots=True)
class Priorities:
    """The priority of pods by the name of their class; None for a class that may not preempt.

    usual: the priority of pods that name no class.
    """

    by_class: Mapping[str, int | None] = field(default_factory=dict)
    usual: int | None = 0

    def of(self, template: Mapping[str, Any]) -> int | None:
        """Return the priority that pods of a template's spec get.

        None if it is not known, or they may not preempt: other pods could take their room.
        """
        name = template.get("priorityClassName")
        if not name:
            return self.usual
        return self.by_class.get(str(name))


def read_priorities(classes: Iterable[Mapping[str, Any]]) -> Priorities:
    """Read all PriorityClasses of the cluster."""
    found: dict[str, int | None] = {}
    usual: int | None = 0
    for each in map(mapping, classes):
        value = each.get("value")
        may_wait = isinstance(value, int) and each.get("preemptionPolicy") != "Never"
        priority = value if may_wait and isinstance(value, int) else None
        found[str(metadata_of(each).get("name"))] = priority
        if each.get("globalDefault") is True:
            usual = priority
    return Priorities(found, usual)
