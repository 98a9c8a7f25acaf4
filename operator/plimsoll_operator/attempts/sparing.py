"""Says which running pods of a Job are marked, so that the Job does not count their failure. Pure.

The Job's podFailurePolicy uses the mark (``pods/uncounted.py``). Only a pod whose limit is lower
than its author wrote has one, and only while few pods of its run have failed: whatever goes wrong,
a Job makes a handful of pods more than its author allowed, and then fails as it would have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.names import labels
from plimsoll_operator.pods.identity import Retrier
from plimsoll_operator.pods.spec import Pod, mapping, metadata_of, sequence
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.record import is_lowered_limit

_BEFORE_ITS_END: Final = (None, "Pending", "Running")
_REASON: Final = "LimitLowered"


def is_marked(pod: Pod) -> bool:
    """Say whether the pod has the mark."""
    conditions = sequence(mapping(pod.get("status")).get("conditions"))
    return any(
        mapping(each).get("type") == labels.LOWERED and mapping(each).get("status") == "True"
        for each in conditions
    )


def has_failed(pod: Pod) -> bool:
    """Say whether the pod has ended and failed."""
    return mapping(pod.get("status")).get("phase") == "Failed"


def is_to_be_marked(pod: Pod, watched: WatchedPod, failed: int) -> bool:
    """Say whether to mark a pod whose Job uses the mark. failed: its run's failed marked pods."""
    phase = mapping(pod.get("status")).get("phase")
    if phase not in _BEFORE_ITS_END or "deletionTimestamp" in metadata_of(pod) or is_marked(pod):
        return False
    if watched.retrier is not Retrier.JOB or watched.mode is not Mode.ENFORCE:
        return False
    return failed < watched.policy.max_lifts and _is_lowered(watched)


def _is_lowered(watched: WatchedPod) -> bool:
    note = watched.note
    return note is not None and is_lowered_limit(watched.limit_bytes, note.was_limit_bytes or 0)


def mark(now: str) -> Mapping[str, Any]:
    """Return the condition. now: RFC 3339."""
    return {
        "type": labels.LOWERED,
        "status": "True",
        "reason": _REASON,
        "message": "Plimsoll lowered its limit; its Job does not count its failure.",
        "lastTransitionTime": now,
    }
