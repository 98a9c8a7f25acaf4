"""The two kinds of objects that wait for their turn, for those who release all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.ordering.gate import WITHOUT_NODE, is_held, release_to
from plimsoll_operator.ordering.suspended_jobs import MARKED, resume_to, waits_for_turn


@dataclass(frozen=True, slots=True)
class WaitingKind:
    """How objects that wait are found and released.

    group: the path of the API, with its version. query: lists all that may wait. release: takes an
    object and the nodes it should prefer, and returns a merge patch.
    """

    group: str
    plural: str
    query: Mapping[str, str]
    waits: Callable[[Mapping[str, Any]], bool]
    release: Callable[[Mapping[str, Any], Sequence[str]], dict[str, Any]]


PODS: Final = WaitingKind("/api/v1", "pods", {"fieldSelector": WITHOUT_NODE}, is_held, release_to)
JOBS: Final = WaitingKind(
    "/apis/batch/v1", "jobs", {"labelSelector": MARKED}, waits_for_turn, resume_to
)
