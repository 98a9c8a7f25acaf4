"""What is expected of raises that are asked for: made, failed, lost, or one of several."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Final

from plimsoll_operator.attempts.watched_pod import SAME_BYTES
from plimsoll_operator.controller.rescue.rescuable_pods import Pending, Rescuable
from plimsoll_operator.pods.spec import Pod, SizedContainer, sized_container
from plimsoll_operator.rescue.raising import with_limit

PENDING_S: Final = 15.0
"""A raise that its node has neither granted nor refused after this time is given up."""
NOTE_AGAIN_S: Final = 2.0
"""A pod without the annotation of its raises is noted again after this pause, which then grows."""
LONGEST_NOTE_PAUSE_S: Final = 60.0
MOST_NOTES: Final = 20


def expect(rescuable: Rescuable, pending: Pending) -> None:
    """Hold a pod as one that is being raised; an earlier raise may still be in flight."""
    before = rescuable.pending
    rescuable.earlier = () if before is None else (*rescuable.earlier, before)
    rescuable.pending, rescuable.raises = pending, rescuable.raises + 1
    rescuable.granted, rescuable.lost = None, None
    rescuable.notes, rescuable.note_due_s = 0, inf  # a raise is noted when it is made
    rescuable.container = _raised(rescuable.container, pending.limit_bytes)
    if rescuable.curve is not None:
        # It nears its limit, whatever its largest need says: it has not rested until now. Memory
        # that comes and goes is given back later each time, and does not use up all raises.
        rescuable.curve = replace(rescuable.curve, since_s=pending.asked_s)


def forget_pending(rescuable: Rescuable) -> None:
    """Take the container from the pod's spec again: what was expected did not come."""
    container = sized_container(rescuable.pod)
    rescuable.pending, rescuable.earlier = None, ()
    if isinstance(container, SizedContainer):
        rescuable.container = container


def take_off(rescuable: Rescuable, failed: Pending) -> None:
    """Count a raise that was not made as none; an earlier or a later one may be in flight."""
    rescuable.raises = max(0, rescuable.raises - 1)
    if rescuable.pending is not failed:
        rescuable.earlier = tuple(each for each in rescuable.earlier if each is not failed)
        return
    fall_back(rescuable, failed)


def fall_back(rescuable: Rescuable, failed: Pending) -> None:
    """Expect the raise before the pending one, which failed; without one, what it had before."""
    rescuable.pending, rescuable.container = None, failed.before
    if rescuable.earlier:
        stands = rescuable.earlier[-1]
        rescuable.pending, rescuable.earlier = stands, rescuable.earlier[:-1]
        rescuable.container = _raised(stands.before, stands.limit_bytes)


def find_again(rescuable: Rescuable, lost: Pending, now_s: float) -> None:
    """Count a raise after all, if its pod shows that only the answer to it was lost."""
    if rescuable.pending is not None or rescuable.limit_bytes < lost.limit_bytes - SAME_BYTES:
        return
    is_known = rescuable.made is not None and rescuable.made.limit_bytes >= lost.limit_bytes
    if not is_known and now_s - lost.asked_s <= PENDING_S:
        if not rescuable.raises:
            rescuable.first = lost.before
        rescuable.pending, rescuable.raises = replace(lost, asked_s=now_s), rescuable.raises + 1
        rescuable.note_due_s = now_s
    rescuable.lost = None


def newest(rescuable: Rescuable) -> Pending | None:
    """Return the newest raise that is expected or was granted."""
    return rescuable.pending or rescuable.made


def is_wanted(rescuable: Rescuable | None, pending: Pending, now_s: float) -> bool:
    """Say whether a raise whose call has failed is worth a second try."""
    in_time = now_s - pending.asked_s <= PENDING_S
    return rescuable is not None and newest(rescuable) is pending and in_time


def undone(rescuable: Rescuable, sent: Pending | None, answer: Pod | None) -> Pending | None:
    """Return the newest raise, if a call made before it reached the API server after it.

    sent: the newest raise when that call was made. answer: the pod; None if it is not known.
    """
    later = newest(rescuable)
    if later is None or later is sent or (sent is not None and later.asked_s < sent.asked_s):
        return None  # or the newest one has failed meanwhile
    container = None if answer is None else sized_container(answer)
    has_bytes = container.limit_bytes if isinstance(container, SizedContainer) else None
    return later if (has_bytes or 0) < later.limit_bytes - SAME_BYTES else None


def is_note_due(rescuable: Rescuable, now_s: float) -> bool:
    """Say whether the note of a pod's raises is to be repeated now, and count that."""
    if rescuable.noted >= rescuable.raises or now_s < rescuable.note_due_s:
        return False
    if rescuable.notes >= MOST_NOTES:
        return False
    rescuable.notes += 1
    rescuable.note_due_s = now_s + min(NOTE_AGAIN_S * 2**rescuable.notes, LONGEST_NOTE_PAUSE_S)
    return True


def _raised(container: SizedContainer, limit_bytes: int) -> SizedContainer:
    memory = with_limit(container, limit_bytes)
    return replace(container, request_bytes=memory.request_bytes, limit_bytes=memory.limit_bytes)
