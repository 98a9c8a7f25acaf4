"""Leaves a request as it was written if its own pod is told it (Downward API, resourceFieldRef).

Such a program may take as much heap as it requests, or as many threads: another request makes it
another program. A larger heap may not fit the limit any more, and fewer threads are slower on an
idle node, too. A lower limit beside the same request would reserve no less and risk a kill, so all
the memory stays as it was written. It is raised for a run or a task that is known to need more than
the limit that was written: as written, it would be killed anyway.
"""

from __future__ import annotations

from dataclasses import replace

from plimsoll_operator.pods.spec import reads_request
from plimsoll_operator.sizing.deadlines import needs_more
from plimsoll_operator.sizing.decision_note import CpuNote
from plimsoll_operator.sizing.patch import Memory, is_lowered
from plimsoll_operator.sizing.read_pod import ReadPod
from plimsoll_predictor.core.decision import Decision, Reason
from plimsoll_predictor.deciding.cpu import CpuReason


def memory_unless_read(
    read: ReadPod, decision: Decision, wanted: Memory
) -> tuple[Decision, Memory]:
    """Return the decision and memory, or what was written if the pod is told its memory request.

    It is asked only about a pod whose memory would change.
    """
    if not is_lowered(read.was, wanted) and needs_more(read):
        return decision, wanted
    if not reads_request(read.body, read.container, "memory"):
        return decision, wanted
    kept = replace(
        decision.without_model(),
        allocation_bytes=read.was.request_bytes,
        reason=Reason.KEPT,
        why=f"its program reads its memory request, which stays; without that: {decision.why}",
    )
    return kept, read.was


def cpu_unless_read(read: ReadPod, note: CpuNote) -> CpuNote:
    """Return the decision on the pod's CPU, which changes no request that the pod is told."""
    if note.request_millicores in (None, note.was_millicores):
        return note
    if not reads_request(read.body, read.container, "cpu"):
        return note
    why = "its program reads its CPU request, and may start as many threads"
    # What was written is written again: an earlier decision on this pod may have changed it.
    return replace(note, request_millicores=note.was_millicores, reason=CpuReason.LEFT, why=why)
