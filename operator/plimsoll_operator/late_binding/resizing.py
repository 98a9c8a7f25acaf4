"""Decides whether a waiting pod is resized, to what, and what is written on it. Pure.

Deciding is admission's own (``sizing.size``). This adds what the API server allows a pod that is
there already (its QoS class stays, limits cannot be removed), and what is worth a call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.names.quantity import format_bytes
from plimsoll_operator.pods.spec import (
    NotSizable,
    Pod,
    SizedContainer,
    mapping,
    metadata_of,
    qos_of,
    sequence,
    sized_container,
    spec_of,
)
from plimsoll_operator.sizing.decision_note import DecisionNote, read_note
from plimsoll_operator.sizing.patch import Memory
from plimsoll_operator.sizing.pod_sizing import MEMORY, Treatment, size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import words_for_bytes

LEAST_VERSION: Final = (1, 33)
"""From here on the resize subresource is there without a feature gate; before, it was alpha."""
RESIZE: Final = "pods/resize"
LEAST_CHANGE: Final = 0.05
"""The least change, as a part of what the container has; less is not worth the calls."""
WHILE_WAITING: Final = "resized while waiting: "
KUEUE_GATES: Final = "kueue.x-k8s.io/"
"""Kueue has counted such a pod against its own quota, at the size that it was created with."""


def why_not(version: Mapping[str, Any], resources: Mapping[str, Any]) -> str | None:
    """Say why the API server cannot resize waiting pods; None if it can.

    version: what ``/version`` answers. resources: what ``/api/v1`` answers.
    """
    known = _number(version.get("major")), _number(version.get("minor"))
    if known < LEAST_VERSION:
        shown = str(version.get("gitVersion") or "of an unknown version")[:64]
        return f"the API server is {shown}; from 1.33 on, pods that wait can be resized"
    for resource in sequence(resources.get("resources")):
        found = mapping(resource)
        if found.get("name") == RESIZE and "patch" in sequence(found.get("verbs")):
            return None
    return f"the API server has no {RESIZE}"


def _number(text: object) -> int:
    """The leading number: some vendors write a minor version as "33+"."""
    digits = re.match(r"\d{1,6}", str(text))
    return int(digits.group()) if digits else 0


class Place(StrEnum):
    """A pod's place on its way to a node."""

    WAITING = "waiting"
    """Never scheduled, and not about to be deleted."""
    BOUND = "bound"
    """It has a node: whatever it asks now was promised to it there."""
    OVER = "over"
    """It ended, or is being deleted."""


_WHY_UNSIZED: Final = {Treatment.OFF: "its mode is off", Treatment.PAUSED: "it is paused"}


@dataclass(frozen=True, slots=True)
class Resize:
    """One waiting pod's new memory.

    memory: request and limit. freed_bytes: how much less it asks; negative if it is raised.
    note: what is written on the pod, before it is resized.
    """

    task: TaskId
    container: str
    memory: Memory
    freed_bytes: int
    note: DecisionNote

    def body(self) -> dict[str, Any]:
        """The strategic merge patch of the pod's ``resize`` subresource."""
        sizes = {"requests": self.memory.request_bytes, "limits": self.memory.limit_bytes}
        resources = {
            kind: {MEMORY: format_bytes(size_bytes)}
            for kind, size_bytes in sizes.items()
            if size_bytes is not None
        }
        return {"spec": {"containers": [{"name": self.container, "resources": resources}]}}


@dataclass(frozen=True, slots=True)
class Left:
    """A pod is left as it is. why: in words."""

    why: str


def place_of(pod: Pod) -> Place:
    """Return the pod's place on its way to a node."""
    phase = mapping(pod.get("status")).get("phase", "Pending")
    if metadata_of(pod).get("deletionTimestamp") or phase in ("Succeeded", "Failed"):
        return Place.OVER
    return Place.BOUND if spec_of(pod).get("nodeName") or phase != "Pending" else Place.WAITING


def was_passed_over(pod: Pod) -> bool:
    """Say whether the scheduler found no node for the pod, or a gate holds the pod back."""
    if sequence(spec_of(pod).get("schedulingGates")):
        return True
    return any(
        mapping(condition).get("type") == "PodScheduled"
        and mapping(condition).get("status") == "False"
        for condition in sequence(mapping(pod.get("status")).get("conditions"))
    )


def resize_for(pod: Pod, state: AdmissionState) -> Resize | Left:
    """Decide what a waiting pod gets by what is known now."""
    if place_of(pod) is not Place.WAITING:
        return Left("it does not wait for a node any more")
    if _is_held_by_kueue(pod):
        return Left("Kueue holds it at the size that its quota was counted for")
    sized, container = size(pod, state), sized_container(pod)
    note, wanted, identity = sized.note, sized.wanted, sized.identity
    if isinstance(container, NotSizable) or note is None or wanted is None or identity is None:
        return Left(_WHY_UNSIZED.get(sized.treatment, "nothing in it can be sized"))
    if note.mode is not Mode.ENFORCE:
        return Left("its mode is not enforce")
    memory = _allowed(pod, container, wanted)
    if memory is None or memory.request_bytes is None:
        return Left("the size would change its QoS class, which is set when it is created")
    why = _not_worth(pod, container, memory, note.reason)
    if why is not None:
        return Left(why)
    written = _written(pod, container, memory, note)
    freed_bytes = (container.request_bytes or 0) - memory.request_bytes
    return Resize(identity.task, container.name, memory, freed_bytes, written)


def unapplied(pod: Pod) -> DecisionNote | None:
    """Return what the annotation should say if the resize that it names never happened.

    None if the resize was carried out, or if no resize was meant.
    """
    note, container = read_note(pod), sized_container(pod)
    if note is None or note.before_bytes is None or isinstance(container, NotSizable):
        return None
    at_bytes = container.request_bytes
    if container.name != note.container or at_bytes != note.before_bytes:
        return None
    if at_bytes == note.allocation_bytes:
        return None
    return replace(
        note,
        allocation_bytes=at_bytes,
        before_bytes=None,
        bin=None,
        probability=None,
        model=None,
        reason=Reason.KEPT,
        why=f"{words_for_bytes(at_bytes)} are kept: a node was found before it could be resized",
    )


def _is_held_by_kueue(pod: Pod) -> bool:
    gates = sequence(spec_of(pod).get("schedulingGates"))
    return any(str(mapping(gate).get("name")).startswith(KUEUE_GATES) for gate in gates)


def _allowed(pod: Pod, container: SizedContainer, wanted: Memory) -> Memory | None:
    """The size wanted, as near as the API server lets a pod come that is there already."""
    request_bytes = wanted.request_bytes
    if request_bytes is None:
        return None
    kept_bytes = container.limit_bytes
    limit_bytes = wanted.limit_bytes
    if limit_bytes is None and kept_bytes is not None:
        limit_bytes = max(kept_bytes, request_bytes)  # a limit cannot be removed
    class_now = qos_of(pod)
    # If limit = request made the pod Guaranteed, the pod keeps the limit that it has.
    for limit in (limit_bytes, None if kept_bytes is None else max(kept_bytes, request_bytes)):
        memory = Memory(request_bytes, limit)
        if qos_of(_resized(pod, container, memory)) is class_now:
            return memory
    return None


def _resized(pod: Pod, container: SizedContainer, memory: Memory) -> Pod:
    spec = spec_of(pod)
    containers = list(sequence(spec.get("containers")))
    document = mapping(containers[container.index])
    resources = dict(mapping(document.get("resources")))
    for kind, size_bytes in (("requests", memory.request_bytes), ("limits", memory.limit_bytes)):
        if size_bytes is not None:
            resources[kind] = {**mapping(resources.get(kind)), MEMORY: format_bytes(size_bytes)}
    containers[container.index] = {**document, "resources": resources}
    return {**pod, "spec": {**spec, "containers": containers}}


def _not_worth(pod: Pod, container: SizedContainer, memory: Memory, reason: Reason) -> str | None:
    """Say why this size is not worth setting or not safe; None if it is both."""
    now_bytes, then_bytes = container.request_bytes, memory.request_bytes
    assert then_bytes is not None
    if now_bytes is None:
        return None
    note = read_note(pod)
    if then_bytes < now_bytes and note is not None and note.attempt > 1:
        return f"attempt {note.attempt} of its run keeps the size that it was lifted to"
    change = abs(then_bytes - now_bytes) / max(now_bytes, 1)
    if then_bytes == now_bytes or (change < LEAST_CHANGE and reason is not Reason.LIFTED):
        return "the change is too small"
    if then_bytes > now_bytes and not was_passed_over(pod):
        # The scheduler may be placing it by its present request; the kubelet refuses one that grew.
        return "it is raised once the scheduler has found no node for it"
    return None


def _written(
    pod: Pod, container: SizedContainer, memory: Memory, note: DecisionNote
) -> DecisionNote:
    before = read_note(pod)
    return replace(
        note,
        allocation_bytes=memory.request_bytes,
        attempt=max(note.attempt, before.attempt if before else 1),
        before_bytes=container.request_bytes,
        why=f"{WHILE_WAITING}{note.why}",
        # Only memory is resized: the CPU that admission set and the user asked still holds.
        cpu=before.cpu if before else None,
    )
