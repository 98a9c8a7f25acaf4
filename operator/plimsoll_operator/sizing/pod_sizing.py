"""One pod sized: what it is, what is known of it, what is decided, what changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from plimsoll_operator.names.labels import RUN_OF
from plimsoll_operator.pods.features import PodFeatures, read_features
from plimsoll_operator.pods.identity import RunIdentity, identify
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
from plimsoll_operator.sizing.bounds import PodMemory, bounds_for
from plimsoll_operator.sizing.cpu_bounds import ContainerCpu, CpuPlace
from plimsoll_operator.sizing.cpu_sizing import (
    cpu_asked,
    decides_class,
    is_enforced,
    may_size_cpu,
    size_cpu,
)
from plimsoll_operator.sizing.decision_note import (
    CpuNote,
    DecisionNote,
    has_room,
    note_to_json,
    read_note,
)
from plimsoll_operator.sizing.patch import (
    Memory,
    Operation,
    as_written,
    memory_after,
    patch_for,
)
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.decision import Ask, Bounds, Decision, Reason
from plimsoll_predictor.core.policy import Limits, Mode
from plimsoll_predictor.deciding.decide import decide
from plimsoll_predictor.knowledge.knowledge import Knowledge

MEMORY: Final = "memory"

_KEEPS: Final = frozenset({Reason.COLD_START, Reason.KEPT})
"""Decisions for what the author wrote, raised to a minimum at most."""


class Treatment(StrEnum):
    """What became of one request, for counting."""

    ENFORCED = "enforced"
    RECOMMENDED = "recommended"
    KEPT = "kept"
    OFF = "off"
    PAUSED = "paused"
    NOT_OURS = "not-ours"
    NOT_SIZABLE = "not-sizable"


@dataclass(frozen=True, slots=True)
class Sized:
    """What admission answers for one pod, and why.

    patch: JSON Patch operations; empty leaves the pod as it is.
    identity, decision: None if the pod is not Plimsoll's.
    ignored_features: how many were out of bounds.
    warning: for whoever creates the pod; None almost always.
    wanted, note: the sized container's memory by the decision, whatever the mode, and what is
        written on the pod; None where nothing could be sized.
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
    """One pod, read."""

    body: Pod
    identity: RunIdentity
    container: SizedContainer
    was: Memory
    note: DecisionNote | None
    knowledge: Knowledge
    context: Context
    words: str
    """What was odd about the pod, to be said beside the decision; usually empty."""


def size(pod: Pod, state: AdmissionState, namespace: str | None = None) -> Sized:
    """Size one pod. Deterministic; the pod and the state are not changed.

    namespace: where the pod is created, as the API server says it; None if the pod says it.
    """
    identity = identify(pod, namespace)
    if identity is None:
        return Sized(Treatment.NOT_OURS, [])
    knowledge = state.knowledge_of(identity.task)
    if state.paused or knowledge.paused:
        decision = Decision(allocation_bytes=None, reason=Reason.PAUSED, why="sizing is paused")
        return Sized(Treatment.PAUSED, [], identity, decision)
    policy, words = resolve_policy(pod, knowledge.policy)
    if policy.mode is Mode.OFF:
        decision = Decision(allocation_bytes=None, reason=Reason.OFF, why="the mode is off")
        return Sized(Treatment.OFF, [], identity, decision)
    container = sized_container(pod)
    if isinstance(container, NotSizable):
        decision = Decision(
            allocation_bytes=None, reason=Reason.NOT_SIZABLE, why=f"not sized: {container.why}"
        )
        return Sized(Treatment.NOT_SIZABLE, [], identity, decision)
    if policy is not knowledge.policy:
        knowledge = replace(knowledge, policy=policy)
    note = read_note(pod)
    was = memory_asked(container, note)
    context = context_of(identity.task, identity.work, state.siblings)
    read = _Pod(pod, identity, container, was, note, knowledge, context, words)
    return _sized(read, state)


def memory_asked(container: SizedContainer, note: DecisionNote | None) -> Memory:
    """What the user asked: what the container says, unless Plimsoll put it there itself."""
    if (
        note is not None
        and note.mode is Mode.ENFORCE
        and note.container == container.name
        and None not in (note.allocation_bytes, container.request_bytes)
        and container.request_bytes in (note.allocation_bytes, note.before_bytes)
    ):
        return Memory(note.was_request_bytes, note.was_limit_bytes)
    return Memory(container.request_bytes, container.limit_bytes)


def _sized(read: _Pod, state: AdmissionState) -> Sized:
    policy = read.knowledge.policy
    features = read_features(read.body, policy.feature_sources)
    decision = _decided(read, features, state)
    wanted = _wanted(read, decision)
    enforced = policy.mode is Mode.ENFORCE
    if enforced and read.was.request_bytes is None and _leaves_best_effort(read, wanted):
        decision = replace(
            decision, why=f"{decision.why}; the pod was BestEffort, a size makes it Burstable"
        )
    cpu = _cpu(read, wanted, state)
    note = _note(read, decision, cpu)
    text = note_to_json(note)
    if not has_room(read.body, text):
        # Unannotated, nobody could tell later what its author had asked: then rather nothing.
        why = "not sized: its annotations leave no room for the decision"
        left = Decision(allocation_bytes=None, reason=Reason.NOT_SIZABLE, why=why)
        return Sized(Treatment.NOT_SIZABLE, [], read.identity, left, features.ignored, why)
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
    warning = read.words or None
    ignored = features.ignored
    return Sized(treatment, patch, read.identity, decision, ignored, warning, wanted, note)


def _leaves_best_effort(read: _Pod, wanted: Memory) -> bool:
    return wanted.request_bytes is not None and qos_of(_as_written(read)) is Qos.BEST_EFFORT


def _wanted(read: _Pod, decision: Decision) -> Memory:
    allocation_bytes = decision.allocation_bytes
    kept = decision.reason in _KEEPS
    if allocation_bytes is None or (kept and allocation_bytes == read.was.request_bytes):
        return read.was
    # A kept request that had to be raised to a minimum is no reason to lower the limit over it.
    limits = Limits.KEEP if kept else read.knowledge.policy.limits
    # A Guaranteed pod stays one: there the limit follows the request.
    if limits is Limits.KEEP and qos_of(_as_written(read)) is Qos.GUARANTEED:
        limits = Limits.EQUAL
    return memory_after(read.was, allocation_bytes, limits)


def _as_written(read: _Pod) -> Pod:
    """The pod as its author wrote it: what Plimsoll changed at an earlier look is taken back."""
    note, container = read.note, read.container
    cpu = cpu_asked(read.body, container, note) if note is not None and note.cpu else None
    if cpu is None and read.was == Memory(container.request_bytes, container.limit_bytes):
        return read.body
    return as_written(read.body, container, read.was, cpu)


def _cpu(read: _Pod, wanted: Memory, state: AdmissionState) -> CpuNote | None:
    knowledge, container = read.knowledge, read.container
    ask = cpu_asked(read.body, container, read.note) if may_size_cpu(read.body, knowledge) else None
    if ask is None:
        return read.note.cpu if read.note is not None else None
    qos = qos_of(_as_written(read)) if decides_class(ask) else Qos.BURSTABLE
    if qos is Qos.BEST_EFFORT and knowledge.policy.mode is Mode.ENFORCE and wanted.request_bytes:
        qos = Qos.BURSTABLE  # its memory makes it so
    place = CpuPlace(
        state.namespace(read.identity.task.namespace).cpu, state.largest_node_millicores
    )
    return size_cpu(ContainerCpu(read.body, container.index, ask), knowledge, place, qos)


def _decided(read: _Pod, features: PodFeatures, state: AdmissionState) -> Decision:
    run = read.identity.run
    others = other_memory_bytes(read.body, read.container)
    policy = read.knowledge.policy
    lifted = run is not None and run in read.knowledge.lifts
    lifted = lifted or RUN_OF in annotations_of(read.body)
    memory = PodMemory(
        request_bytes=read.was.request_bytes,
        kept_limit_bytes=read.was.limit_bytes if policy.limits is Limits.KEEP else None,
        other_request_bytes=others[0],
        other_limit_bytes=others[1],
        may_wait=lifted,
    )
    bounds = bounds_for(
        read.body,
        memory,
        state.namespace(read.identity.task.namespace).bounds,
        state.largest_node_bytes,
    )
    was = read.was
    ask = Ask(
        features={**features.values, **read.context} if read.context else features.values,
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


def _not_below_retry(read: _Pod, decision: Decision, bounds: Bounds) -> Decision:
    """A retry that Plimsoll made carries its lifted size: an older feed must not lower it again."""
    note = read.note
    if note is None or note.attempt <= 1 or RUN_OF not in annotations_of(read.body):
        return decision
    if note.allocation_bytes is None or note.allocation_bytes != read.container.request_bytes:
        return decision
    caps = (note.allocation_bytes, bounds.cap_bytes, read.knowledge.policy.max_bytes)
    kept_bytes = min(cap_bytes for cap_bytes in caps if cap_bytes is not None)
    if (decision.allocation_bytes or 0) >= kept_bytes:
        return decision
    return replace(
        decision,
        allocation_bytes=kept_bytes,
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
