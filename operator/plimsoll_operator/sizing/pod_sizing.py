"""Sizes one pod: reads it, looks up its task, decides, and makes the patch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from plimsoll_operator.names.labels import RUN_OF
from plimsoll_operator.pods.attempts import attempts_of
from plimsoll_operator.pods.features import PodFeatures, read_features, within_bounds
from plimsoll_operator.pods.identity import Retrier, RunIdentity, identify
from plimsoll_operator.pods.spec import (
    NotSizable,
    Pod,
    Qos,
    SizedContainer,
    annotations_of,
    other_memory_bytes,
    qos_of,
    sized_container,
)
from plimsoll_operator.pods.workflow_items import Context, context_of
from plimsoll_operator.policy.pod_policy import resolve_policy
from plimsoll_operator.sizing.bounds.caps import PodAmounts, bounds_for, cpu_bounds_for
from plimsoll_operator.sizing.cpu_sizing import (
    cpu_asked,
    decides_class,
    is_enforced,
    left_for_its_class,
    may_size_cpu,
    size_cpu,
)
from plimsoll_operator.sizing.decision_note import (
    CpuNote,
    DecisionNote,
    has_room,
    memory_asked,
    note_to_json,
    read_note,
)
from plimsoll_operator.sizing.keeping_class import (
    cpu_keeps_class,
    limits_in_class,
    memory_in_class,
)
from plimsoll_operator.sizing.patch import (
    Memory,
    Operation,
    is_lowered,
    memory_after,
    patch_for,
    pod_with,
)
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.cpu import CpuAsk
from plimsoll_predictor.core.decision import Ask, Bounds, Decision, Reason
from plimsoll_predictor.core.policy import Limits, Mode
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.deciding.decide import decide
from plimsoll_predictor.deciding.safeguards import why_failures_hold, why_not_lowered
from plimsoll_predictor.knowledge.knowledge import Knowledge

_KEEPS: Final = frozenset({Reason.COLD_START, Reason.KEPT, Reason.NOT_LOWERED})
"""Decisions for what the author wrote, raised to a minimum at most."""


class Treatment(StrEnum):
    """The kind of one answer, for counting."""

    ENFORCED = "enforced"
    RECOMMENDED = "recommended"
    KEPT = "kept"
    OFF = "off"
    PAUSED = "paused"
    EXCLUDED = "excluded"
    NOT_OURS = "not-ours"
    NOT_SIZABLE = "not-sizable"


@dataclass(frozen=True, slots=True)
class Sized:
    """Admission's answer for one pod, and the reason.

    patch: JSON Patch operations; empty leaves the pod as it is.
    identity, decision: None if the pod is not Plimsoll's.
    ignored_features: how many were out of bounds.
    warning: for the creator of the pod; None almost always.
    wanted: the sized container's memory by the decision, whatever the mode.
    note: the decision as it is written on the pod. Both are None if nothing could be sized.
    """

    treatment: Treatment
    patch: list[Operation]
    identity: RunIdentity | None = None
    decision: Decision | None = None
    ignored_features: int = 0
    warning: str | None = None
    wanted: Memory | None = None
    note: DecisionNote | None = None


@dataclass(frozen=True, slots=True)
class _Pod:
    """One pod after reading. words: oddities to report beside the decision; usually empty."""

    body: Pod
    identity: RunIdentity
    container: SizedContainer
    was: Memory
    note: DecisionNote | None
    knowledge: Knowledge
    context: Context
    words: str
    unhealed: str | None


def size(
    pod: Pod, state: AdmissionState, namespace: str | None = None, unhealed: str | None = None
) -> Sized:
    """Size one pod. The same input gives the same answer; nothing is changed.

    namespace: where the pod is created, by the API server; None reads it from the pod.
    unhealed: why a kill may not be noticed at present; None leaves that to the state.
    """
    identity = identify(pod, namespace)
    if identity is None:
        return Sized(Treatment.NOT_OURS, [])
    knowledge = state.knowledge_of(identity.task)
    if state.paused or knowledge.paused:
        return _unsized(identity, Treatment.PAUSED, Reason.PAUSED, "sizing is paused")
    policy, words = resolve_policy(pod, knowledge.policy)
    if policy.mode is Mode.OFF:
        return _unsized(identity, Treatment.OFF, Reason.OFF, "the mode is off")
    container = sized_container(pod)
    if isinstance(container, NotSizable):
        why = f"not sized: {container.why}"
        return _unsized(identity, Treatment.NOT_SIZABLE, Reason.NOT_SIZABLE, why)
    if policy is not knowledge.policy:
        knowledge = replace(knowledge, policy=policy)
    note = read_note(pod)
    was = memory_asked(container, note)
    context = context_of(identity.task, identity.work, state.siblings)
    unhealed = unhealed or state.unhealed
    read = _Pod(pod, identity, container, was, note, knowledge, context, words, unhealed)
    return _sized(read, state)


def _unsized(identity: RunIdentity, treatment: Treatment, reason: Reason, why: str) -> Sized:
    return Sized(treatment, [], identity, Decision(allocation_bytes=None, reason=reason, why=why))


def _sized(read: _Pod, state: AdmissionState) -> Sized:
    policy = read.knowledge.policy
    features = read_features(read.body, policy.feature_sources)
    decision = _decided(read, features, state)
    wanted = _wanted(read, decision)
    if is_lowered(read.was, wanted):
        decision, wanted = _held(read, decision, wanted)
    enforced = policy.mode is Mode.ENFORCE
    decision, wanted = _in_class(read, decision, wanted)
    cpu = _cpu(read, wanted, state)
    note = _note(read, decision, cpu)
    text = note_to_json(note)
    if not has_room(read.body, text):
        # Without the annotation, nobody could tell later what the author had asked.
        why = "not sized: its annotations leave no room for the decision"
        unsized = _unsized(read.identity, Treatment.NOT_SIZABLE, Reason.NOT_SIZABLE, why)
        return replace(unsized, ignored_features=features.ignored, warning=why)
    patch = patch_for(
        read.body,
        read.container,
        wanted if enforced else None,
        text,
        cpu.request_millicores if cpu is not None and is_enforced(cpu) else None,
    )
    if decision.reason in _KEEPS:
        treatment = Treatment.KEPT
    else:
        treatment = Treatment.ENFORCED if enforced else Treatment.RECOMMENDED
    return Sized(
        treatment=treatment,
        patch=patch,
        identity=read.identity,
        decision=decision,
        ignored_features=features.ignored,
        warning=read.words or None,
        wanted=wanted,
        note=note,
    )


def _in_class(read: _Pod, decision: Decision, wanted: Memory) -> tuple[Decision, Memory]:
    """Return what leaves the pod in its quality-of-service class, with the reason."""
    if wanted.request_bytes is None:
        return decision, wanted
    memory = memory_in_class(_as_written(read), read.container, read.was, wanted)
    recommended = memory is None and read.knowledge.policy.mode is not Mode.ENFORCE
    if recommended or (memory == wanted and not _keeps_limit(read, decision, wanted)):
        return decision, wanted
    if memory is None:
        why = (
            "the pod is BestEffort, and a size would make it Burstable: write a request, and it"
            f" is sized; without that: {decision.why}"
        )
        held = replace(decision, allocation_bytes=None, reason=Reason.NOT_LOWERED, why=why)
        return replace(held, bin=None, probability=None, model_version=None), read.was
    why = f"{decision.why}; with an equal limit the pod would become Guaranteed"
    return replace(decision, allocation_bytes=memory.request_bytes, why=why), memory


def _keeps_limit(read: _Pod, decision: Decision, wanted: Memory) -> bool:
    """Say whether the limit is another than the policy says, for the sake of the pod's class."""
    if wanted.request_bytes == wanted.limit_bytes or decision.reason in _KEEPS:
        return False
    limits = read.knowledge.policy.limits
    return limits is Limits.EQUAL and _limits(read, limits) is Limits.KEEP


def _wanted(read: _Pod, decision: Decision) -> Memory:
    allocation_bytes = decision.allocation_bytes
    keeps = decision.reason in _KEEPS
    if allocation_bytes is None or (keeps and allocation_bytes == read.was.request_bytes):
        return read.was
    # That a kept request was raised to a minimum is no reason to lower the limit over it.
    limits = _limits(read, Limits.KEEP if keeps else read.knowledge.policy.limits)
    return memory_after(read.was, allocation_bytes, limits)


def _limits(read: _Pod, limits: Limits) -> Limits:
    return limits_in_class(_as_written(read), read.container, read.was, limits)


def _held(read: _Pod, decision: Decision, wanted: Memory) -> tuple[Decision, Memory]:
    """Return a decision for less than was written, or what is left of it where a safeguard holds.

    The limit stays as written then, and the request is raised at most.
    """
    knowledge, was = read.knowledge, read.was
    # A lift may be closed while the pod it was made for still waits.
    number = max(decision.attempt, read.note.attempt if read.note else 1)
    attempts = attempts_of(read.body, read.identity, knowledge.policy, number)
    held = why_not_lowered(attempts, read.unhealed) or _held_by_failures(read, wanted)
    if held is None:
        return decision, wanted
    request_bytes = max(wanted.request_bytes or 0, was.request_bytes or 0)
    memory = Memory(request_bytes, was.limit_bytes)
    limit = words_for_bytes(was.limit_bytes) if was.limit_bytes else "none"
    if decision.reason is Reason.LIFTED:
        why = f"{decision.why}; {held}, so its limit stays as written ({limit})"
        return replace(decision, allocation_bytes=request_bytes, why=why), memory
    kept = replace(
        decision,
        allocation_bytes=request_bytes,
        reason=Reason.NOT_LOWERED,
        why=f"{held}, so it has no less than was written; without that: {decision.why}",
        bin=None,
        probability=None,
        model_version=None,
    )
    return kept, memory


def _held_by_failures(read: _Pod, wanted: Memory) -> str | None:
    knowledge, identity, note = read.knowledge, read.identity, read.note
    why = why_failures_hold(knowledge, identity.run, wanted.limit_bytes)
    if why is not None:
        return why
    if knowledge.fails_often and identity.retrier is Retrier.PLIMSOLL:
        return "its runs often fail by themselves, and each would have to be tried again as written"
    if note is None or note.attempt <= 1 or note.reason is not Reason.NOT_LOWERED:
        return None
    # An older feed must not lower a retry that Plimsoll made as its author wrote the first pod.
    made = RUN_OF in annotations_of(read.body)
    return f"attempt {note.attempt} was made as its author wrote it" if made else None


def _as_written(read: _Pod) -> Pod:
    """Return the pod as its author wrote it, without Plimsoll's own earlier changes."""
    note, container = read.note, read.container
    cpu = cpu_asked(read.body, container, note) if note is not None and note.cpu else None
    if cpu is None and read.was == Memory(container.request_bytes, container.limit_bytes):
        return read.body
    return pod_with(read.body, container, read.was, cpu)


def _cpu(read: _Pod, wanted: Memory, state: AdmissionState) -> CpuNote | None:
    knowledge, container = read.knowledge, read.container
    ask = cpu_asked(read.body, container, read.note) if may_size_cpu(read.body, knowledge) else None
    if ask is None:
        return read.note.cpu if read.note is not None else None
    qos = qos_of(_as_written(read)) if decides_class(ask) else Qos.BURSTABLE
    namespace = state.namespace(read.identity.task.namespace).cpu
    bounds = cpu_bounds_for(read.body, container.index, ask, namespace, state.nodes)
    note = size_cpu(ask, knowledge, bounds, qos)
    if note.request_millicores is None or note.request_millicores != ask.limit_millicores:
        return note
    memory = wanted if knowledge.policy.mode is Mode.ENFORCE else read.was
    sized = CpuAsk(note.request_millicores, ask.limit_millicores)
    if cpu_keeps_class(_as_written(read), container, memory, sized):
        return note
    return left_for_its_class(note)


def _decided(read: _Pod, features: PodFeatures, state: AdmissionState) -> Decision:
    run, was = read.identity.run, read.was
    other_request_bytes, other_limit_bytes = other_memory_bytes(read.body, read.container)
    memory = PodAmounts(
        request=was.request_bytes,
        limit=was.limit_bytes,
        sets_limit=_limits(read, read.knowledge.policy.limits) is Limits.EQUAL,
        other_request=other_request_bytes,
        other_limit=other_limit_bytes,
        killed=_killed(read),
    )
    namespace = state.namespace(read.identity.task.namespace).bounds
    bounds = bounds_for(read.body, memory, namespace, state.nodes)
    ask = Ask(
        features=within_bounds(features.values, read.context),
        request_bytes=was.request_bytes,
        run=run,
        limit_bytes=None if was.limit_bytes == was.request_bytes else was.limit_bytes,
    )
    decision = _not_below_retry(read, decide(ask, read.knowledge, bounds), bounds)
    words = [decision.why]
    if read.words:
        words.append(read.words)
    if features.ignored:
        words.append(f"{features.ignored} features were out of bounds and ignored")
    return replace(decision, why="; ".join(words)) if len(words) > 1 else decision


def _killed(read: _Pod) -> int | None:
    """Return the allocation that was too small for the attempt before; None if none was."""
    run, note = read.identity.run, read.note
    lift = read.knowledge.lifts.get(run) if run is not None else None
    if lift is not None:
        return lift.after_bytes
    # An older feed may not know the lift of a retry that Plimsoll made at its size.
    return note.allocation_bytes if note and RUN_OF in annotations_of(read.body) else None


def _not_below_retry(read: _Pod, decision: Decision, bounds: Bounds) -> Decision:
    """Keep the lifted size of a retry that Plimsoll made: an older feed must not lower it."""
    note = read.note
    if note is None or note.attempt <= 1 or RUN_OF not in annotations_of(read.body):
        return decision
    if note.allocation_bytes is None or note.allocation_bytes != read.container.request_bytes:
        return decision
    most_bytes = read.knowledge.policy.max_bytes
    if most_bytes is not None:  # it never cuts what the author asked
        most_bytes = max(most_bytes, read.was.request_bytes or 0)
    caps = (note.allocation_bytes, bounds.cap_bytes, most_bytes)
    lifted_bytes = min(cap_bytes for cap_bytes in caps if cap_bytes is not None)
    if (decision.allocation_bytes or 0) >= lifted_bytes:
        return decision
    return replace(
        decision,
        allocation_bytes=lifted_bytes,
        attempt=note.attempt,
        reason=Reason.LIFTED,
        why=f"attempt {note.attempt} keeps the lifted size it was made with",
        bin=None,
        probability=None,
        model_version=None,
    )


def _note(read: _Pod, decision: Decision, cpu: CpuNote | None) -> DecisionNote:
    return DecisionNote(
        task=str(read.identity.task),
        run=read.identity.run,
        attempt=decision.attempt,
        allocation_bytes=decision.allocation_bytes,
        was_request_bytes=read.was.request_bytes,
        was_limit_bytes=read.was.limit_bytes,
        bin=decision.bin,
        probability=decision.probability,
        model=decision.model_version,
        reason=decision.reason,
        why=decision.why,
        mode=read.knowledge.policy.mode,
        container=read.container.name,
        cpu=cpu,
        context=read.context,
    )
