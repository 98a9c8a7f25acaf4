"""Says which pods had more than was written, and were refused by their nodes. Pure.

A kubelet refuses a pod for good before it starts: its node was filled meanwhile, or no single NUMA
node can hold a Guaranteed pod of this size. With its author's size, it might have taken the pod. A
node that lacked CPU would have refused the pod with any memory, so then only its CPU counts.
"""

from __future__ import annotations

from typing import Final

from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_operator.sizing.cpu_sizing import is_enforced

REFUSALS: Final = frozenset({"OutOfmemory", "TopologyAffinityError", "UnexpectedAdmissionError"})
"""``status.reason`` of a pod that its node refused, perhaps for its memory."""
LACKS_CPU: Final = "OutOfcpu"
"""The same, for its CPU. The kubelet names CPU first if both are lacking."""


def was_refused_raised(watched: WatchedPod, status: AttemptStatus) -> bool:
    """Say whether a node refused the pod, which requested more than its author wrote."""
    if status.phase != "Failed" or status.started_s is not None:
        return False
    if status.pod_reason == LACKS_CPU:
        return _has_more_cpu(watched)
    return status.pod_reason in REFUSALS and _ran_bytes(watched) > _written_bytes(watched)


def grew_while_waiting(watched: WatchedPod) -> bool:
    """Say whether the pod was raised while it waited, perhaps after its node was chosen."""
    note = watched.note
    before_bytes = None if note is None else note.before_bytes
    return before_bytes is not None and before_bytes < _ran_bytes(watched)


def _has_more_cpu(watched: WatchedPod) -> bool:
    """Say whether the pod requests the CPU that Plimsoll gave it, and its author wrote less."""
    note, has_cores = watched.note, watched.attempt.allocated_cores
    if note is None or note.cpu is None or note.container != watched.attempt.container:
        return False
    given = note.cpu.request_millicores
    if given is None or not is_enforced(note.cpu) or given <= (note.cpu.was_millicores or 0):
        return False
    return has_cores == given / 1000


def _ran_bytes(watched: WatchedPod) -> int:
    return watched.attempt.request_memory_ran_bytes or 0


def _written_bytes(watched: WatchedPod) -> int:
    return watched.attempt.request_bytes or 0
