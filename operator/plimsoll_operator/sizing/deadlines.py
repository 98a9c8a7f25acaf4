"""Holds back raises of pods that must not wait long, and keeps the CPU of those with a deadline.

A deadline counts from a pod's or Job's start, whether its pods wait or run. Some engines, and
other makers that wait for their pod, fail a pod that is Pending for some minutes (GitLab's runner
for three, by default; Airflow's operator for two), and its next pod, too. A raised pod may wait too
long for room, so such a pod gets more than its author wrote only if it is known to need that. With
less CPU, a pod with a deadline may run too long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from plimsoll_operator.names.labels import JOB_ATTEMPTS
from plimsoll_operator.pods.attempts import has_deadline
from plimsoll_operator.pods.identity import Retrier
from plimsoll_operator.pods.owners import controller_of, is_job
from plimsoll_operator.pods.polled import must_start_soon
from plimsoll_operator.pods.spec import Pod, annotations_of
from plimsoll_operator.sizing.decision_note import CpuNote
from plimsoll_operator.sizing.read_pod import ReadPod
from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.deciding.cpu import CpuReason

_DUE: Final = "it has a deadline, and"
_UNREAD: Final = "nothing says whether its Job has a deadline, so it"
_AWAITED: Final = "its maker may fail it for a late start, and it"


def within_deadline(read: ReadPod, bounds: Bounds) -> Bounds:
    """Return the bounds of the pod's memory: without a known need for more, it is not raised."""
    if _needs_more_than_limit(read):
        return bounds
    why = _why_in_time(read)
    if why is None or (why is _AWAITED and _is_lifted(read)):
        return bounds
    room_bytes = read.was.request_bytes or 0
    if bounds.room_bytes is not None and bounds.room_bytes <= room_bytes:
        return bounds
    return replace(
        bounds,
        room_bytes=room_bytes,
        room_of=f"its request ({why} might wait too long for more)",
        room_remedy="raise the request in its template",
    )


def cpu_within_deadline(read: ReadPod, note: CpuNote) -> CpuNote:
    """Return the decision on the pod's CPU, which does not change the request of such a pod."""
    given = note.request_millicores
    if given in (None, note.was_millicores):
        return note
    if (given or 0) > (note.was_millicores or 0):
        hurry, words = _why_in_time(read), "might wait too long for more CPU"
    else:
        hurry, words = _why_done_in_time(read.body), "might run too long with less CPU"
    if hurry is None:
        return note
    # What was written is written again: an earlier decision on this pod may have changed it.
    return replace(
        note,
        request_millicores=note.was_millicores,
        reason=CpuReason.LEFT,
        why=f"{hurry} {words}",
    )


def _why_in_time(read: ReadPod) -> str | None:
    """Say why the pod must not wait long for room, as far as the word "might"; None if it may."""
    hurry = _why_done_in_time(read.body)
    if hurry is not None or read.identity.retrier is Retrier.PLIMSOLL:  # nobody else watches it
        return hurry
    return _AWAITED if must_start_soon(read.body) else None


def _why_done_in_time(pod: Pod) -> str | None:
    """Say why the pod must not run long, as far as the word "might"; None if it may."""
    if has_deadline(pod):
        return _DUE
    # A deadline of a Job is noted on its template together with its attempts.
    if JOB_ATTEMPTS not in annotations_of(pod) and is_job(controller_of(pod)):
        return _UNREAD
    return None


def needs_more(read: ReadPod) -> bool:
    """Say whether the run, or its task, is known to need more than its written limit.

    A run that was killed at what was written needs more, though nobody knows how much. So does one
    that was killed at less, where Plimsoll made it smaller. A container without a limit may use
    what its node has.
    """
    return _is_lifted(read) or _needs_more_than_limit(read)


def _is_lifted(read: ReadPod) -> bool:
    lift = read.lift
    return lift is not None and not lift.as_written


def _needs_more_than_limit(read: ReadPod) -> bool:
    limit_bytes = read.was.limit_bytes
    return bool(limit_bytes) and (read.knowledge.max_need_bytes or 0) >= (limit_bytes or 0)
