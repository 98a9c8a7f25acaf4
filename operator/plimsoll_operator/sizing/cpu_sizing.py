"""Sizes one pod's CPU request beside its memory, and never a CPU limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from plimsoll_operator.names.quantity import BadQuantity
from plimsoll_operator.pods.spec import (
    Pod,
    Qos,
    SizedContainer,
    container_of,
    mapping,
    metadata_of,
    millicores_asked,
    spec_of,
)
from plimsoll_operator.sizing.decision_note import CpuNote, DecisionNote
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.deciding.cpu import CpuAsk, CpuBounds, CpuDecision, CpuReason, decide_cpu
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift

_LEFT: Final = {
    Qos.GUARANTEED: "the pod is Guaranteed: its CPU request equals its limit, which is not touched",
    Qos.BEST_EFFORT: "the pod is BestEffort: a CPU request would change its class",
}

_LIMITED_LATER: Final = "another webhook wrote a CPU limit after the request, which stays"


def cpu_asked(pod: Pod, container: SizedContainer, note: DecisionNote | None) -> CpuAsk | None:
    """Return the user's CPU: the container's, unless Plimsoll itself wrote the request.

    None if it cannot be read, or is set for the whole pod (spec.resources).
    """
    of_pod = mapping(spec_of(pod).get("resources"))
    if of_pod and any("cpu" in mapping(of_pod.get(kind)) for kind in ("requests", "limits")):
        return None
    try:
        request = _request_on(pod, container)
        limit = millicores_asked(container_of(pod, container.index), "limits")
    except BadQuantity:
        return None
    request = limit if request is None else request
    earlier = _earlier(container, note)
    if earlier is not None and is_by(earlier, request):
        request = earlier.was_millicores
    return CpuAsk(request, limit)


def _request_on(pod: Pod, container: SizedContainer) -> int | None:
    return millicores_asked(container_of(pod, container.index), "requests")


def _earlier(container: SizedContainer, note: DecisionNote | None) -> CpuNote | None:
    """Return the decision that was applied to the container's CPU; None if none was."""
    cpu = note.cpu if note is not None and note.container == container.name else None
    return cpu if cpu is not None and is_enforced(cpu) else None


def is_by(earlier: CpuNote, request_millicores: int | None) -> bool:
    """Say whether the decision that was applied wrote this request, or gave it back."""
    # A raise where nothing was written is given back as a request of zero.
    return request_millicores in (earlier.request_millicores, earlier.was_millicores or 0)


def may_size_cpu(pod: Pod, knowledge: Knowledge) -> bool:
    """Say whether to decide the CPU. That happens only when a pod is created."""
    if knowledge.cpu is None or knowledge.policy.cpu.mode is Mode.OFF:
        return False
    return "resourceVersion" not in metadata_of(pod)


def decides_class(ask: CpuAsk) -> bool:
    """Say whether changing this request could change the pod's quality-of-service class."""
    return not ask.request_millicores or ask.request_millicores == ask.limit_millicores


def size_cpu(ask: CpuAsk, knowledge: Knowledge, bounds: CpuBounds, qos: Qos) -> CpuNote:
    """Decide one container's CPU request. qos: the pod's class after its memory was sized."""
    policy = knowledge.policy
    if qos in _LEFT:
        decision = CpuDecision(None, CpuReason.LEFT, _LEFT[qos])
    else:
        decision = decide_cpu(ask, knowledge.cpu, policy, bounds)
    return CpuNote(
        request_millicores=decision.request_millicores,
        was_millicores=ask.request_millicores,
        mode=policy.cpu.mode,
        reason=decision.reason,
        why=decision.why,
    )


def left_for_its_class(note: CpuNote) -> CpuNote:
    """Return the decision to leave the CPU request, because the sized one makes the pod Guaranteed.

    A Guaranteed pod with whole CPUs gets processors of its own on nodes that are configured so.
    """
    why = "the request would equal the limit, and the pod would become Guaranteed"
    return replace(note, request_millicores=None, reason=CpuReason.LEFT, why=why)


def left_to_autoscaler(ask: CpuAsk, name: str, policy: Policy) -> CpuNote:
    """Return the decision to leave the CPU request to the VerticalPodAutoscaler that sets it."""
    return CpuNote(
        request_millicores=None,
        was_millicores=ask.request_millicores,
        mode=policy.cpu.mode,
        reason=CpuReason.LEFT,
        why=f"the VerticalPodAutoscaler {name} sets it",
    )


def within_lift(note: CpuNote, lift: Lift | None, *, made_as_written: bool) -> CpuNote:
    """Return the decision that the run's earlier attempts leave.

    It lowers no request after an attempt that ended too early, because a run that is starved of CPU
    may fail by itself. It raises none if a node has refused an attempt for having more.

    lift: the run's. made_as_written: whether Plimsoll made this attempt as its author wrote it.
    """
    given, was = note.request_millicores, note.was_millicores or 0
    if given is None:
        return note
    if given < was and (made_as_written or (lift is not None and lift.as_written)):
        why = "an earlier attempt of this run ended too early, so it has no less than was written"
    elif given > was and lift is not None and lift.exactly:
        why = "a node refused an attempt of this run that had more, so it has what was written"
    else:
        return note
    return replace(note, request_millicores=note.was_millicores, reason=CpuReason.LEFT, why=why)


def decided_before(
    pod: Pod, container: SizedContainer, note: DecisionNote | None
) -> CpuNote | None:
    """Return the decision that wrote the container's CPU request; None if that is not Plimsoll's.

    note: that on the pod.
    """
    earlier = _earlier(container, note)
    if earlier is None or not is_by(earlier, _request_on(pod, container)):
        return None
    return earlier


def taken_back(note: CpuNote, ask: CpuAsk, bounds: CpuBounds, before: CpuNote | None) -> CpuNote:
    """Return the decision that takes an earlier request back where nothing is decided now.

    Another webhook may have written a limit since then. A request above it has the API server
    refuse the pod. Where nothing was written, the request is not raised to that limit, which may be
    a whole node, but as far as a LimitRange demands; without a limit, zero keeps the pod's class as
    well as no request.

    before: the decision that wrote the request; None if the request is not Plimsoll's.
    """
    if note.request_millicores is not None or note.mode is not Mode.ENFORCE or before is None:
        return note
    written, limit = before.was_millicores, ask.limit_millicores
    if limit is None:
        return replace(note, request_millicores=written or 0)
    if written is None:
        written = max(before.request_millicores or 0, bounds.floor_millicores or 0)
    if written < limit and note.why == _LEFT[Qos.GUARANTEED]:
        note = replace(note, why=_LIMITED_LATER)
    return replace(note, request_millicores=min(written, limit))


def is_enforced(note: CpuNote) -> bool:
    """Say whether the decision is applied to the pod, not only written on it."""
    return note.mode is Mode.ENFORCE and note.request_millicores is not None
