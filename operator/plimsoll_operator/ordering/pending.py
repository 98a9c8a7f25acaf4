"""Reads pods that the scheduler has: those without a node and without a gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from plimsoll_operator.names.labels import HELD
from plimsoll_operator.ordering.asks import Asked, asked_by
from plimsoll_operator.ordering.gate import gates_of
from plimsoll_operator.pods.owners import controller_of
from plimsoll_operator.pods.spec import (
    Pod,
    annotations_of,
    metadata_of,
    spec_of,
)
from plimsoll_operator.pods.status import read_time, unscheduled
from plimsoll_operator.sizing.bounds.selecting import Wanted, read_wanted

_NO_ROOM: Final = ("Insufficient ", "Too many pods")
"""The scheduler's words for a node that is full. Few other reasons change when a pod there ends."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A pod that the scheduler has.

    outside: whether it never waited for its turn. lacks_room: whether the scheduler found a node
    full, on which it may run. wanted: the nodes that it selects; None if they are not known.
    made_by: the UID of its controller.
    """

    created_s: float
    priority: int
    asked: Asked = ()
    outside: bool = True
    lacks_room: bool = False
    wanted: Wanted | None = None
    made_by: str | None = None


def priority_of(pod: Pod) -> int:
    """Return the pod's priority; 0 if nobody set one."""
    priority = spec_of(pod).get("priority")
    return priority if isinstance(priority, int) and not isinstance(priority, bool) else 0


def pending_of(pod: Pod) -> Pending | None:
    """Return the pod as one that waits for the scheduler; None if it does not."""
    spec, meta = spec_of(pod), metadata_of(pod)
    if spec.get("nodeName") or gates_of(pod) or meta.get("deletionTimestamp"):
        return None
    created_s = read_time(meta.get("creationTimestamp"))
    if created_s is None:
        return None
    uid = (controller_of(pod) or {}).get("uid")
    return Pending(
        created_s,
        priority_of(pod),
        asked_by(pod),
        outside=HELD not in annotations_of(pod),
        lacks_room=_lacks_room(pod),
        wanted=read_wanted(spec),
        made_by=None if uid is None else str(uid),
    )


def _lacks_room(pod: Pod) -> bool:
    """Say whether the scheduler found a node full, on which the pod may run."""
    message = str(unscheduled(pod).get("message"))
    return any(words in message for words in _NO_ROOM)
