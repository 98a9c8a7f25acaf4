"""Holds back raises of pods with a deadline, and leaves their CPU request as it was written.

A deadline counts from a pod's or Job's start, whether its pods wait or run. A raised pod may wait
too long for room, so such a pod gets more than its author wrote only if it is known to need that.
With less CPU it may run too long.
"""

from __future__ import annotations

from dataclasses import replace

from plimsoll_operator.pods.attempts import has_deadline
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.sizing.decision_note import CpuNote
from plimsoll_operator.sizing.read_pod import ReadPod
from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.deciding.cpu import CpuReason


def within_deadline(read: ReadPod, bounds: Bounds) -> Bounds:
    """Return the bounds of the pod's memory: without a known need for more, it is not raised."""
    if not has_deadline(read.body) or _needs_more(read):
        return bounds
    room_bytes = read.was.request_bytes or 0
    if bounds.room_bytes is not None and bounds.room_bytes <= room_bytes:
        return bounds
    return replace(
        bounds,
        room_bytes=room_bytes,
        room_of="its request (it has a deadline, and might wait too long for more)",
        room_remedy="raise the request in its template",
    )


def cpu_within_deadline(pod: Pod, note: CpuNote) -> CpuNote:
    """Return the decision on the pod's CPU, which changes no request."""
    given = note.request_millicores
    if given in (None, note.was_millicores) or not has_deadline(pod):
        return note
    if (given or 0) > (note.was_millicores or 0):
        why = "it has a deadline, and might wait too long for more CPU"
    else:
        why = "it has a deadline, and might run too long with less CPU"
    # What was written is written again: an earlier decision on this pod may have changed it.
    return replace(note, request_millicores=note.was_millicores, reason=CpuReason.LEFT, why=why)


def _needs_more(read: ReadPod) -> bool:
    """Say whether the task is known to need more than its written limit.

    A run that was killed at what was written needs more, though nobody knows how much. A container
    without a limit may use what its node has.
    """
    limit_bytes = read.was.limit_bytes
    return bool(limit_bytes) and (read.knowledge.max_need_bytes or 0) >= (limit_bytes or 0)
