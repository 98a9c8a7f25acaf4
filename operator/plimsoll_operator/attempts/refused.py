"""Says which pods had more than was written, and were refused by their nodes. Pure.

A kubelet refuses a pod for good before it starts: its node was filled meanwhile, or no single NUMA
node can hold a Guaranteed pod of this size. With its author's size, it might have taken the pod.
"""

from __future__ import annotations

from typing import Final

from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.pods.status import AttemptStatus

REFUSALS: Final = frozenset({"OutOfmemory", "TopologyAffinityError", "UnexpectedAdmissionError"})
"""``status.reason`` of a pod that its node refused, perhaps for its memory."""


def was_refused_raised(watched: WatchedPod, status: AttemptStatus) -> bool:
    """Say whether a node refused the pod, which requested more than its author wrote."""
    refused = status.phase == "Failed" and status.pod_reason in REFUSALS
    return refused and status.started_s is None and _ran_bytes(watched) > _written_bytes(watched)


def grew_while_waiting(watched: WatchedPod) -> bool:
    """Say whether the pod was raised while it waited, perhaps after its node was chosen."""
    note = watched.note
    before_bytes = None if note is None else note.before_bytes
    return before_bytes is not None and before_bytes < _ran_bytes(watched)


def _ran_bytes(watched: WatchedPod) -> int:
    return watched.attempt.request_memory_ran_bytes or 0


def _written_bytes(watched: WatchedPod) -> int:
    return watched.attempt.request_bytes or 0
