"""Gives a waiting pod what its author wrote, if no node had room for more for hours. Pure.

What was written may fit beside pods that never end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from plimsoll_operator.names.quantity import BadQuantity
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    container_of,
    metadata_of,
    millicores_asked,
    sequence,
    spec_of,
)
from plimsoll_operator.pods.status import read_time, unscheduled
from plimsoll_operator.sizing.cpu_sizing import is_enforced
from plimsoll_operator.sizing.decision_note import DecisionNote, read_note
from plimsoll_operator.sizing.patch import Memory
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.knowledge.knowledge import Lift

WAITS_RAISED_S: Final = 6 * 3600.0
"""A pod that asks for more than its author wrote, and found no node for this long, may find none.
It then gets what was written."""
NODES_SAID: Final = "nodes are available"
"""Kubernetes' own scheduler says then what each node lacks. Others have words of their own."""
GATED: Final = "SchedulingGated"


def has_waited_long(pod: Pod, now_s: float | None, resource: str) -> bool:
    """Say whether schedulers have found no node with enough of a resource for hours.

    resource: "memory" or "cpu".
    """
    passed_over = unscheduled(pod)
    since_s = read_time(passed_over.get("lastTransitionTime"))
    if since_s is None:
        # The API server gives no time to a pod that was made with a gate.
        since_s = read_time(metadata_of(pod).get("creationTimestamp"))
    if now_s is None or since_s is None or now_s - since_s < WAITS_RAISED_S:
        return False
    if sequence(spec_of(pod).get("schedulingGates")) or passed_over.get("reason") == GATED:
        return False  # no scheduler looks, or none has looked since
    message = str(passed_over.get("message") or "")
    return NODES_SAID not in message or f"Insufficient {resource}" in message


def is_raised(
    pod: Pod, container: SizedContainer, wanted: Memory, note: DecisionNote, lift: Lift | None
) -> bool:
    """Say whether the pod asks for more than was written, or would, and may not need it.

    A lift after a kill at what was written is no raise.

    wanted, note: what is decided on the pod now. lift: its run's.
    """
    most_bytes = max(wanted.request_bytes or 0, container.request_bytes or 0)
    return most_bytes > (note.was_request_bytes or 0) and not _is_lifted(pod, note, lift)


def _is_lifted(pod: Pod, note: DecisionNote, lift: Lift | None) -> bool:
    """Say whether its run may have been killed at what was written.

    Without a written limit, no kill was at that.
    """
    if lift is not None:
        limit_bytes = note.was_limit_bytes or 0
        most_bytes = max(limit_bytes, note.was_request_bytes or 0)
        return not lift.as_written and bool(limit_bytes) and lift.after_bytes >= most_bytes
    before = read_note(pod)
    return note.reason is Reason.LIFTED or (before is not None and before.attempt > 1)


def as_written(note: DecisionNote) -> tuple[Memory, DecisionNote]:
    """Return what was written, and the note that says why the pod gets that."""
    request_bytes = note.was_request_bytes
    if request_bytes is None:
        given = "its memory request is zero, as none was written"
    else:
        given = f"the request of {words_for_bytes(request_bytes)} is kept"
    kept = replace(
        note.without_model(),
        allocation_bytes=request_bytes,
        reason=Reason.KEPT,
        why=f"{given}: {NO_ROOM}",
    )
    return Memory(request_bytes, note.was_limit_bytes), kept


NO_ROOM: Final = f"in {round(WAITS_RAISED_S / 3600)} hours no node had room for more"


def written_millicores(pod: Pod, container: SizedContainer) -> int | None:
    """Return the CPU request as it was written, if the pod has more by Plimsoll's decision.

    None if it has not. Zero if nothing was written: the API server lets no request be removed, and
    zero takes as little room on a node. But a request that equals its limit stays then: another
    webhook wrote that limit, and without the request the pod's class could change, which no resize
    may do.
    """
    note = read_note(pod)
    cpu = None if note is None or note.container != container.name else note.cpu
    if cpu is None or not is_enforced(cpu):
        return None
    document = container_of(pod, container.index)
    try:
        has, limit = millicores_asked(document, "requests"), millicores_asked(document, "limits")
    except BadQuantity:
        return None
    if cpu.was_millicores is None and has == limit:
        return None
    written = cpu.was_millicores or 0
    return written if has == cpu.request_millicores and (has or 0) > written else None
