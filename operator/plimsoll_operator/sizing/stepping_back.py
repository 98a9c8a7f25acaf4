"""Leaves a pod's memory to somebody else who sets it, and undoes what Plimsoll set before.

If two set the same fields, they undo each other's work, and the pod has another size than its
decision says. So Plimsoll steps back if a VerticalPodAutoscaler sets the memory, or if another
webhook has changed it after Plimsoll decided, in the same creation of the pod.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from plimsoll_operator.names import labels
from plimsoll_operator.pods.autoscalers import (
    CPU,
    MEMORY,
    Autoscaler,
    Autoscalers,
    autoscaler_of,
    updates_on,
)
from plimsoll_operator.pods.creation import webhook_wrote
from plimsoll_operator.pods.spec import Pod, SizedContainer, metadata_of, qos_of
from plimsoll_operator.sizing.decision_note import (
    DecisionNote,
    has_decided,
    is_own_limit,
    memory_asked,
    memory_noted,
)
from plimsoll_operator.sizing.patch import Memory, pod_with
from plimsoll_operator.sizing.read_pod import ReadPod
from plimsoll_predictor.core.decision import Decision, Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import MIB, words_for_bytes

CHANGED: Final = "another webhook changed its memory after Plimsoll had sized it"
FILLED: Final = (
    "another webhook gave it its memory after Plimsoll was asked; if that webhook comes first, the"
    " pod is sized"
)


@dataclass(frozen=True, slots=True)
class Other:
    """Another sizer of a pod's memory. why: in words. sets_cpu: whether it sets the CPU, too."""

    why: str
    sets_cpu: bool = False


def other_sizer(
    pod: Pod, container: SizedContainer, note: DecisionNote | None, autoscalers: Autoscalers
) -> Other | None:
    """Return the other sizer of the container's memory; None almost always.

    note: the decision that is on the pod. autoscalers: of the pod's namespace.
    """
    known = memory_autoscaler(pod, container, autoscalers)
    if known is not None:
        return Other(_by_autoscaler(known.name), known.sets(CPU, container.name))
    seen = updates_on(pod)
    if seen is not None and seen.sets(MEMORY, container.index):
        return Other(_by_autoscaler(seen.name), seen.sets(CPU, container.index))
    if note is None or note.container != container.name:
        return None
    if note.reason is Reason.LEFT:
        there = "resourceVersion" in metadata_of(pod) or webhook_wrote(pod, labels.DECISION)
        return Other(note.why) if there else None
    return _other_webhook(pod, container, note)


def memory_autoscaler(
    pod: Pod, container: SizedContainer, autoscalers: Autoscalers
) -> Autoscaler | None:
    """Return the autoscaler that sets the container's memory; None almost always."""
    found = autoscaler_of(pod, autoscalers)
    return found if found is not None and found.sets(MEMORY, container.name) else None


def sets_cpu(pod: Pod, container: SizedContainer, autoscalers: Autoscalers) -> str | None:
    """Return the name of the autoscaler that sets the container's CPU; None almost always."""
    known = autoscaler_of(pod, autoscalers)
    if known is not None and known.sets(CPU, container.name):
        return known.name
    seen = updates_on(pod)
    return seen.name if seen is not None and seen.sets(CPU, container.index) else None


def _by_autoscaler(name: str) -> str:
    return f"the VerticalPodAutoscaler {name} sets its memory, so Plimsoll leaves the pod alone"


def _other_webhook(pod: Pod, container: SizedContainer, note: DecisionNote) -> Other | None:
    """Return the webhook that has set the request since ``note`` was written on the pod.

    If that webhook is asked again, it may set it again, and Plimsoll is not asked after it.
    """
    # A pod that was left as written, such as one held back by a quota, has its author's request.
    as_written = note.allocation_bytes is None
    left_bytes = note.was_request_bytes if as_written else note.allocation_bytes
    if note.mode is not Mode.ENFORCE or container.request_bytes == left_bytes:
        return None
    if not webhook_wrote(pod, labels.DECISION):
        return None
    return Other(FILLED if as_written else CHANGED)


def memory_before(pod: Pod, container: SizedContainer, note: DecisionNote | None) -> Memory:
    """Return the memory as the pod's author wrote it, even if webhooks changed the limit since."""
    if note is not None and has_decided(container, note) and webhook_wrote(pod, labels.DECISION):
        return memory_noted(container, note)
    return memory_asked(container, note)


def within_limit_of_others(
    read: ReadPod, decision: Decision, wanted: Memory
) -> tuple[Decision, Memory]:
    """Return the decision with the limit that another webhook set beside Plimsoll's request.

    That webhook may hold limits to a ratio or a maximum, or remove them. A size above its maximum
    is cut to it: else the webhook would write the maximum again, and the pod would be refused.
    """
    note, container = read.note, read.container
    if note is None or not has_decided(container, note):
        return decision, wanted
    limit_bytes = container.limit_bytes
    if is_own_limit(limit_bytes, note) or not webhook_wrote(read.body, labels.DECISION):
        return decision, wanted
    if limit_bytes is None or limit_bytes >= (wanted.request_bytes or 0):
        return decision, Memory(wanted.request_bytes, limit_bytes)
    cut = Memory(limit_bytes, limit_bytes)
    written = read.as_written
    if qos_of(pod_with(written, container, cut)) is not qos_of(written):
        cut = Memory(max(limit_bytes // 2, limit_bytes - MIB), limit_bytes)
    why = f"{decision.why}; another webhook set its limit to {words_for_bytes(limit_bytes)}"
    return replace(decision, allocation_bytes=cut.request_bytes, why=why), cut


def memory_left(container: SizedContainer, note: DecisionNote | None) -> Memory:
    """Return the memory that the container has without Plimsoll's changes.

    If its request becomes the author's again, its limit is at least the author's, too.
    """
    now = Memory(container.request_bytes, container.limit_bytes)
    if (
        note is None
        or note.mode is not Mode.ENFORCE
        or note.container != container.name
        or note.allocation_bytes is None
    ):
        return now
    written = Memory(note.was_request_bytes, note.was_limit_bytes)
    is_own_request = now.request_bytes == note.allocation_bytes
    request_bytes = written.request_bytes if is_own_request else now.request_bytes
    if is_own_limit(now.limit_bytes, note):
        limit_bytes = written.limit_bytes
    elif is_own_request and now.limit_bytes and written.limit_bytes:
        limit_bytes = max(now.limit_bytes, written.limit_bytes)
    else:
        limit_bytes = now.limit_bytes
    if limit_bytes is not None:
        limit_bytes = max(limit_bytes, request_bytes or 0)
    return Memory(request_bytes, limit_bytes)
