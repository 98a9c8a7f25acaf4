"""One pod's CPU request sized, beside its memory: requests only, never a limit."""

from __future__ import annotations

from typing import Final

from plimsoll_operator.names.quantity import BadQuantity
from plimsoll_operator.pods.spec import (
    Pod,
    Qos,
    SizedContainer,
    mapping,
    metadata_of,
    sequence,
    spec_of,
)
from plimsoll_operator.sizing.cpu_bounds import (
    ContainerCpu,
    CpuPlace,
    cpu_bounds_for,
    millicores_asked,
)
from plimsoll_operator.sizing.decision_note import CpuNote, DecisionNote
from plimsoll_predictor.core.cpu import CpuAsk, CpuDecision, CpuReason, decide_cpu
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.knowledge.knowledge import Knowledge

_LEFT: Final = {
    Qos.GUARANTEED: "the pod is Guaranteed: its CPU request equals its limit, which is not touched",
    Qos.BEST_EFFORT: "the pod is BestEffort: a CPU request alone would change its class",
}


def cpu_asked(pod: Pod, container: SizedContainer, note: DecisionNote | None) -> CpuAsk | None:
    """What the user asked: what the container says, unless Plimsoll put it there itself.

    None if it cannot be read, or is set for the whole pod (spec.resources).
    """
    whole = mapping(spec_of(pod).get("resources"))
    if whole and any("cpu" in mapping(whole.get(kind)) for kind in ("requests", "limits")):
        return None
    document = mapping(sequence(spec_of(pod).get("containers"))[container.index])
    try:
        request = millicores_asked(document, "requests")
        limit = millicores_asked(document, "limits")
    except BadQuantity:
        return None
    request = limit if request is None else request
    cpu = note.cpu if note is not None and note.container == container.name else None
    if cpu is not None and is_enforced(cpu) and cpu.request_millicores == request:
        request = cpu.was_millicores
    return CpuAsk(request, limit)


def may_size_cpu(pod: Pod, knowledge: Knowledge) -> bool:
    """Whether there is anything to decide: CPU is sized when a pod is made, and not again."""
    if knowledge.cpu is None or knowledge.policy.cpu.mode is Mode.OFF:
        return False
    return "resourceVersion" not in metadata_of(pod)


def decides_class(ask: CpuAsk) -> bool:
    """Whether changing this request could change the pod's quality-of-service class."""
    return ask.request_millicores is None or ask.request_millicores == ask.limit_millicores


def size_cpu(container: ContainerCpu, knowledge: Knowledge, place: CpuPlace, qos: Qos) -> CpuNote:
    """Decide one container's CPU request. qos: the pod's class, its memory sized already."""
    policy = knowledge.policy
    if qos in _LEFT:
        decision = CpuDecision(None, CpuReason.LEFT, _LEFT[qos])
    else:
        bounds = cpu_bounds_for(container, place)
        decision = decide_cpu(container.ask, knowledge.cpu, policy, bounds)
    return CpuNote(
        request_millicores=decision.request_millicores,
        was_millicores=container.ask.request_millicores,
        mode=policy.cpu.mode,
        reason=decision.reason,
        why=decision.why,
    )


def is_enforced(note: CpuNote) -> bool:
    """Whether the pod gets, or got, what was decided."""
    return note.mode is Mode.ENFORCE and note.request_millicores is not None
