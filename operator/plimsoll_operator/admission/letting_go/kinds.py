"""Names the two kinds of objects that may wait for their turn, for the code that lets them go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names.json_patch import Operation
from plimsoll_operator.ordering.gate import WITHOUT_NODE, is_held, opening
from plimsoll_operator.ordering.suspended_jobs import MARKED, resuming, waits_for_turn

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """How objects that wait are found and let go.

    root: of the API group's paths. query: selects all that may wait. waits: whether one does.
    letting_go: the JSON Patch that ends its wait, and changes nothing else.
    """

    group: str
    resource: str
    root: str
    query: Mapping[str, str]
    waits: Callable[[Object], bool]
    letting_go: Callable[[Object], list[Operation]]


PODS: Final = Kind("", "pods", "/api/v1", {"fieldSelector": WITHOUT_NODE}, is_held, opening)
JOBS: Final = Kind(
    "batch", "jobs", "/apis/batch/v1", {"labelSelector": MARKED}, waits_for_turn, resuming
)
