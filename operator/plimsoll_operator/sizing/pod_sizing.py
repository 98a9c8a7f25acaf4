"""Sizes one pod: reads it, looks up its task, decides, and makes the patch."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from plimsoll_operator.names.labels import FEATURE_PREFIX
from plimsoll_operator.pods.attempts import attempts_of, why_not_told_apart
from plimsoll_operator.pods.features import PodFeatures, read_features, within_bounds
from plimsoll_operator.pods.identity import Retrier, RunIdentity, identify
from plimsoll_operator.pods.spec import (
    NotSizable,
    Pod,
    Qos,
    other_memory_bytes,
    qos_of,
    sized_container,
    text_of,
)
from plimsoll_operator.pods.workflow_items import context_of
from plimsoll_operator.policy.pod_policy import resolve_policy
from plimsoll_operator.sizing.as_written import patch_as_written
from plimsoll_operator.sizing.bounds.caps import PodAmounts, bounds_for, cpu_bounds_for
from plimsoll_operator.sizing.chunk_floor import why_chunk_holds, with_chunk_floor
from plimsoll_operator.sizing.cpu_sizing import (
    cpu_asked,
    decided_before,
    decides_class,
    is_enforced,
    left_for_its_class,
    left_to_autoscaler,
    may_size_cpu,
    size_cpu,
    taken_back,
    within_lift,
)
from plimsoll_operator.sizing.deadlines import cpu_within_deadline, within_deadline
from plimsoll_operator.sizing.decision_note import (
    CpuNote,
    DecisionNote,
    has_room,
    note_to_json,
    read_note,
)
from plimsoll_operator.sizing.keeping_qos_class import (
    cpu_keeps_class,
    limits_in_class,
    memory_in_class,
)
from plimsoll_operator.sizing.no_next_pod import why_none_may_follow
from plimsoll_operator.sizing.own_retries import killed, made_as_written, not_below_retry
from plimsoll_operator.sizing.patch import Memory, is_lowered, memory_after, patch_for
from plimsoll_operator.sizing.read_pod import ReadPod
from plimsoll_operator.sizing.read_requests import cpu_unless_read, memory_unless_read
from plimsoll_operator.sizing.sized import Sized, Treatment
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_operator.sizing.stepping_back import (
    Other,
    memory_before,
    memory_left,
    other_sizer,
    sets_cpu,
    within_limit_of_others,
)
from plimsoll_predictor.core.decision import Ask, Decision, Reason
from plimsoll_predictor.core.policy import Limits, Mode
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.deciding.cpu import CpuAsk, CpuBounds
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.deciding.safeguards import (
    why_failures_hold,
    why_not_believed,
    why_not_lowered,
)
from plimsoll_predictor.splitting.spark.given import MOST_STEPS
from plimsoll_predictor.splitting.spark.steps import FEATURE

_STEPS: Final = frozenset(str(step) for step in range(1, MOST_STEPS + 1))
_KEEPS: Final = frozenset({Reason.COLD_START, Reason.KEPT, Reason.NOT_LOWERED})
"""Decisions for what the author wrote, at most raised to a minimum."""


def size(
    pod: Pod,
    state: AdmissionState,
    namespace: str | None = None,
    unhealed: str | None = None,
    now_s: float | None = None,
) -> Sized:
    """Size one pod. The same input gives the same answer; nothing is changed.

    namespace: where the pod is created, by the API server; None reads it from the pod.
    unhealed: why a kill may not be noticed at present; None leaves that to the state.
    now_s: the moment of the decision, Unix seconds; None decides without regard to how long the
        task's attempts have been running.
    """
    identity = identify(pod, namespace)
    if identity is None:
        return Sized(Treatment.NOT_OURS, [])
    knowledge = state.knowledge_of(identity.task)
    if state.paused or knowledge.paused:
        return _unsized(pod, identity, Treatment.PAUSED, Reason.PAUSED, "sizing is paused")
    policy, words = resolve_policy(pod, knowledge.policy)
    if policy.mode is Mode.OFF:
        return _unsized(pod, identity, Treatment.OFF, Reason.OFF, "the mode is off")
    container = sized_container(pod)
    if isinstance(container, NotSizable):
        why = f"not sized: {container.why}"
        unsized = _unsized(pod, identity, Treatment.NOT_SIZABLE, Reason.NOT_SIZABLE, why)
        mistakes = "; ".join(filter(None, (words, why)))
        return replace(unsized, warning=mistakes) if container.is_mistake else unsized
    if policy is not knowledge.policy:
        knowledge = replace(knowledge, policy=policy)
    note = read_note(pod)
    was = memory_before(pod, container, note)
    knowledge = with_chunk_floor(pod, was, knowledge)
    context = context_of(identity.task, identity.work, state.siblings)
    unhealed = unhealed or state.unhealed
    read = ReadPod(pod, identity, container, was, note, knowledge, context, words, unhealed, now_s)
    if policy.mode is Mode.ENFORCE:
        autoscalers = state.namespace(identity.task.namespace).autoscalers
        other = other_sizer(pod, container, note, autoscalers)
        if other is not None:
            return _left(read, other, state)
    return _sized(read, state)


def _left(read: ReadPod, other: Other, state: AdmissionState) -> Sized:
    """Leave the memory to the other sizer, as in recommend mode: nobody lifts the run."""
    memory = memory_left(read.container, read.note)
    cpu = None if other.sets_cpu else _cpu(read, memory, state)
    decision = Decision(
        allocation_bytes=None, reason=Reason.LEFT, why=other.why, attempt=read.attempt
    )
    note = _note(replace(read, was=memory), decision, cpu)
    note = replace(note, mode=Mode.RECOMMEND)
    text = note_to_json(note)
    if not has_room(read.body, text):
        return _unsized(read.body, read.identity, Treatment.LEFT, Reason.LEFT, other.why)
    millicores = cpu.request_millicores if cpu is not None and is_enforced(cpu) else None
    patch = patch_for(read.body, read.container, memory, text, millicores)
    return Sized(Treatment.LEFT, patch, read.identity, decision, wanted=memory, note=note)


def _unsized(
    pod: Pod, identity: RunIdentity, treatment: Treatment, reason: Reason, why: str
) -> Sized:
    decision = Decision(allocation_bytes=None, reason=reason, why=why)
    return Sized(treatment, patch_as_written(pod), identity, decision)


def _sized(read: ReadPod, state: AdmissionState) -> Sized:
    policy = read.knowledge.policy
    features = read_features(read.body, policy.feature_sources)
    decision = _decided(read, features, state)
    wanted = _wanted(read, decision)
    if is_lowered(read.was, wanted):
        decision, wanted = _held(read, decision, wanted, state)
    enforced = policy.mode is Mode.ENFORCE
    if decision.allocation_bytes is not None and wanted != read.was:
        decision, wanted = _partitions_first(read, decision, wanted, state)
        decision, wanted = memory_unless_read(read, decision, wanted)
    decision, wanted = _in_class(read, decision, wanted)
    decision, wanted = within_limit_of_others(read, decision, wanted)
    cpu = _cpu(read, wanted, state)
    note = _note(read, decision, cpu)
    text = note_to_json(note)
    if not has_room(read.body, text):
        # Without the annotation, nobody would know later what the author had asked.
        why = "not sized: its annotations leave no room for the decision"
        unsized = _unsized(read.body, read.identity, Treatment.NOT_SIZABLE, Reason.NOT_SIZABLE, why)
        return replace(unsized, ignored_features=features.ignored, warning=why)
    # A recommendation leaves the pod as it is, or undoes the size of its Job's template.
    as_written = read.was if read.note is not None and read.note.template else None
    patch = patch_for(
        read.body,
        read.container,
        wanted if enforced else as_written,
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


def _in_class(read: ReadPod, decision: Decision, wanted: Memory) -> tuple[Decision, Memory]:
    """Return the decision and memory that keep the pod's quality-of-service class."""
    if wanted.request_bytes is None:
        return decision, wanted
    memory = memory_in_class(read.as_written, read.container, read.was, wanted)
    recommended = memory is None and read.knowledge.policy.mode is not Mode.ENFORCE
    if recommended or (memory == wanted and not _keeps_limit(read, decision, wanted)):
        return decision, wanted
    if memory is None:
        why = (
            "the pod is BestEffort, and a size would make it Burstable: write a request, and it"
            f" is sized; without that: {decision.why}"
        )
        held = replace(
            decision.without_model(), allocation_bytes=None, reason=Reason.NOT_LOWERED, why=why
        )
        return held, read.was
    why = f"{decision.why}; with an equal limit the pod would become Guaranteed"
    return replace(decision, allocation_bytes=memory.request_bytes, why=why), memory


def _keeps_limit(read: ReadPod, decision: Decision, wanted: Memory) -> bool:
    """Say whether the limit differs from the policy's, to keep the pod's class."""
    if wanted.request_bytes == wanted.limit_bytes or decision.reason in _KEEPS:
        return False
    limits = read.knowledge.policy.limits
    return limits is Limits.EQUAL and _limits(read, limits) is Limits.KEEP


def _wanted(read: ReadPod, decision: Decision) -> Memory:
    allocation_bytes = decision.allocation_bytes
    keeps = decision.reason in _KEEPS
    if allocation_bytes is None or (keeps and allocation_bytes == read.was.request_bytes):
        return read.was
    # A kept request may be raised to a minimum; that is no reason to lower the limit above it.
    limits = _limits(read, Limits.KEEP if keeps else read.knowledge.policy.limits)
    return memory_after(read.was, allocation_bytes, limits)


def _limits(read: ReadPod, limits: Limits) -> Limits:
    return limits_in_class(read.as_written, read.container, read.was, limits)


def _held(
    read: ReadPod, decision: Decision, wanted: Memory, state: AdmissionState
) -> tuple[Decision, Memory]:
    """Return a decision for less than was written, or what a safeguard leaves of it.

    With a safeguard, the limit stays as written, and the request may only be raised. Beside a limit
    of zero it stays, too: the kubelet takes that for none, but the API server refuses the pod.
    """
    knowledge, was = read.knowledge, read.was
    # A lift may be closed while its pod still waits.
    number = max(decision.attempt, read.note.attempt if read.note else 1)
    attempts = attempts_of(read.body, read.identity, knowledge.policy, number)
    namespace = state.namespace(read.identity.task.namespace).bounds
    held = (
        why_not_lowered(attempts, read.unhealed)
        or why_not_believed(attempts, knowledge, read.identity.run, read.now_s)
        or why_none_may_follow(read, namespace)
        or why_not_told_apart(read.identity)
        or why_chunk_holds(read.body)
        or _held_by_failures(read, wanted)
    )
    if held is None:
        return decision, wanted
    raised_bytes = wanted.request_bytes or 0 if was.limit_bytes != 0 else 0
    request_bytes = max(raised_bytes, was.request_bytes or 0)
    memory = Memory(request_bytes, was.limit_bytes)
    limit = words_for_bytes(was.limit_bytes) if was.limit_bytes else "none"
    if decision.reason is Reason.LIFTED:
        why = f"{decision.why}; {held}, so its limit stays as written ({limit})"
        return replace(decision, allocation_bytes=request_bytes, why=why), memory
    kept = replace(
        decision.without_model(),
        allocation_bytes=request_bytes,
        reason=Reason.NOT_LOWERED,
        why=f"{held}, so it has no less than was written; without that: {decision.why}",
    )
    return kept, memory


def _partitions_first(
    read: ReadPod, decision: Decision, wanted: Memory, state: AdmissionState
) -> tuple[Decision, Memory]:
    """Return a decision for an executor whose partitions are smaller, and were not too large yet.

    It gets what was written: earlier executors needed more only for their larger partitions. Within
    a run only memory helps, so a lift stays.
    """
    raised = (wanted.limit_bytes or 0) > (read.was.limit_bytes or 0)
    if not raised or decision.reason is Reason.LIFTED:
        return decision, wanted
    step = text_of(read.body, f"{FEATURE_PREFIX}{FEATURE}")
    if step is None or step not in _STEPS or state.smaller.get(read.identity.task) != int(step):
        return decision, wanted
    why = (
        f"its application's partitions are made smaller before it has more than was written, step"
        f" {step} of {MOST_STEPS}; without that: {decision.why}"
    )
    kept = replace(
        decision.without_model(),
        allocation_bytes=read.was.request_bytes,
        reason=Reason.KEPT,
        why=why,
    )
    return kept, read.was


def _held_by_failures(read: ReadPod, wanted: Memory) -> str | None:
    knowledge, identity = read.knowledge, read.identity
    why = why_failures_hold(knowledge, identity.run, wanted.limit_bytes)
    if why is not None:
        return why
    if knowledge.fails_often and identity.retrier is Retrier.PLIMSOLL:
        return "its runs often fail by themselves, and each would have to be tried again as written"
    # An older feed must not lower a retry that Plimsoll made at the size that its author wrote.
    note = read.note if made_as_written(read) else None
    return f"attempt {note.attempt} was made as its author wrote it" if note else None


def _cpu(read: ReadPod, wanted: Memory, state: AdmissionState) -> CpuNote | None:
    knowledge, container = read.knowledge, read.container
    ask = cpu_asked(read.body, container, read.note) if may_size_cpu(read.body, knowledge) else None
    if ask is None:
        return read.note.cpu if read.note is not None else None
    namespace = state.namespace(read.identity.task.namespace)
    by = sets_cpu(read.body, container, namespace.autoscalers)
    if by is not None:
        return left_to_autoscaler(ask, by, knowledge.policy)
    bounds = cpu_bounds_for(read.body, container.index, ask, namespace.cpu, state.nodes)
    note = _cpu_decided(read, ask, wanted, bounds)
    return taken_back(note, ask, bounds, decided_before(read.body, container, read.note))


def _cpu_decided(read: ReadPod, ask: CpuAsk, wanted: Memory, bounds: CpuBounds) -> CpuNote:
    knowledge, container = read.knowledge, read.container
    qos = qos_of(read.as_written) if decides_class(ask) else Qos.BURSTABLE
    note = size_cpu(ask, knowledge, bounds, qos)
    note = within_lift(note, read.lift, made_as_written=made_as_written(read))
    note = cpu_unless_read(read, cpu_within_deadline(read, note))
    if note.request_millicores is None or note.request_millicores != ask.limit_millicores:
        return note
    memory = wanted if knowledge.policy.mode is Mode.ENFORCE else read.was
    sized = CpuAsk(note.request_millicores, ask.limit_millicores)
    if cpu_keeps_class(read.as_written, container, memory, sized):
        return note
    return left_for_its_class(note)


def _decided(read: ReadPod, features: PodFeatures, state: AdmissionState) -> Decision:
    run, was = read.identity.run, read.was
    other_request_bytes, other_limit_bytes = other_memory_bytes(read.body, read.container)
    memory = PodAmounts(
        request=was.request_bytes,
        limit=was.limit_bytes,
        sets_limit=_limits(read, read.knowledge.policy.limits) is Limits.EQUAL,
        other_request=other_request_bytes,
        other_limit=other_limit_bytes,
        killed=killed(read),
    )
    namespace = state.namespace(read.identity.task.namespace).bounds
    bounds = within_deadline(read, bounds_for(read.body, memory, namespace, state.nodes))
    ask = Ask(
        features=within_bounds(features.values, read.context),
        request_bytes=was.request_bytes,
        run=run,
        limit_bytes=None if was.limit_bytes == was.request_bytes else was.limit_bytes,
        now_s=read.now_s,
    )
    decision = not_below_retry(read, decide(ask, read.knowledge, bounds), bounds)
    words = [decision.why]
    if read.words:
        words.append(read.words)
    if features.ignored:
        words.append(f"{features.ignored} features were out of bounds and ignored")
    return replace(decision, why="; ".join(words)) if len(words) > 1 else decision


def _note(read: ReadPod, decision: Decision, cpu: CpuNote | None) -> DecisionNote:
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
