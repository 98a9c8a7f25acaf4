"""Keeps ends whose reason comes later, as they were first seen, until their pods say more.

A watch may skip states: the next one seen can be the next life's end. And a pod that is deleted in
the second in which it ended looks as if the deletion had ended it, because both times are whole
seconds. What was seen says otherwise. A restarted controller knows only what is there now.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Final

from plimsoll_operator.attempts.over import waits_for_its_reason
from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.pods.status import AttemptStatus

MOST: Final = 10_000
"""Ends whose reason comes later at one time; most of them wait for a second."""


@dataclass(slots=True)
class PassedOver:
    """Ends that were not judged yet, one of each pod."""

    _ends: OrderedDict[str, AttemptStatus] = field(init=False, default_factory=OrderedDict)
    """Pod UID -> its attempt's end as it was first seen. No deletion had been asked for."""

    def __len__(self) -> int:
        return len(self._ends)

    def passes(self, pod: Pod, watched: WatchedPod, status: AttemptStatus) -> bool:
        """Say whether the next event tells why an attempt ended; keep the end if so.

        An earlier life's end is told.
        """
        if status is not watched.status:
            return False
        if not waits_for_its_reason(pod, status, watched.retrier):
            return False
        kept = self._ends.get(status.uid)
        if kept is None or kept.attempt_uid != status.attempt_uid:
            self._ends[status.uid] = status
            if len(self._ends) > MOST:
                self._ends.popitem(last=False)
        return True

    def recalled(self, watched: WatchedPod) -> WatchedPod:
        """Return the pod with the end that was seen before, if its present state hides it."""
        now = watched.status
        kept = self._ends.get(now.uid)
        if kept is None:
            return watched
        if kept.attempt_uid == now.attempt_uid:
            return _deleted_later(watched, kept) if now.being_deleted and now.ended else watched
        if any(kept.attempt_uid == life.attempt_uid for life in watched.lives):
            return watched
        return replace(watched, lives=(_earlier(kept, now), *watched.lives))

    def judged(self, status: AttemptStatus) -> None:
        """Forget an end that was judged."""
        kept = self._ends.get(status.uid)
        if kept is not None and kept.attempt_uid == status.attempt_uid:
            del self._ends[status.uid]

    def gone(self, uid: str) -> None:
        """Forget a pod that was deleted."""
        self._ends.pop(uid, None)


def _deleted_later(watched: WatchedPod, kept: AttemptStatus) -> WatchedPod:
    """Return the end as it was, with all that was said since except when deletion was asked for."""
    now = watched.status
    end = replace(
        kept,
        phase=now.phase,
        pod_reason=now.pod_reason,
        pod_message=now.pod_message,
        disruption=now.disruption,
        being_deleted=now.being_deleted,
    )
    return replace(watched, status=end, lives=(*watched.lives[:-1], end))


def _earlier(kept: AttemptStatus, now: AttemptStatus) -> AttemptStatus:
    """Return the end of an earlier life. What ended the pod ended only a later one."""
    return replace(
        kept,
        phase=now.phase,
        pod_reason=None,
        pod_message="",
        disruption=None,
        being_deleted=now.being_deleted,
    )
