"""Reads a watched pod once: its attempt, its sizes, and how its lives went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from plimsoll_operator.attempts.observation import Attempt
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import BadQuantity
from plimsoll_operator.pods.attempts import attempts_of
from plimsoll_operator.pods.engines.row import Executions
from plimsoll_operator.pods.features import read_features, within_bounds
from plimsoll_operator.pods.identity import Retrier, RunIdentity, identify
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    annotations_of,
    container_of,
    mapping,
    millicores_asked,
    overhead_of,
    sequence,
    sized_container,
    spec_of,
)
from plimsoll_operator.pods.status import AttemptStatus, last_life, read_status
from plimsoll_operator.pods.workflow_items import NO_CONTEXT
from plimsoll_operator.policy.pod_policy import resolve_policy
from plimsoll_operator.sizing.cpu_sizing import cpu_asked
from plimsoll_operator.sizing.decision_note import DecisionNote, memory_asked, read_note
from plimsoll_operator.sizing.patch import Memory
from plimsoll_operator.sizing.rescued_note import before_rescue, enforced_limit
from plimsoll_predictor.core.bounded_text import MOST_IMAGE_BYTES, bounded_or_none
from plimsoll_predictor.core.policy import Mode, Policy, Rescue, Retry
from plimsoll_predictor.core.record import is_lowered_limit
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.deciding.safeguards import Attempts
from plimsoll_predictor.knowledge.knowledge import Knowledge

_MOST_VERSION_BYTES: Final = 64
_LONGEST_S: Final = 2**53
SAME_BYTES: Final = 1 << 16
"""Limits in a spec and in the kernel differ by less than this: the kernel counts pages."""
_BESIDE_BYTES: Final = 16 * MIB
"""A pod's peak is above its container's by less than this: its pause container, and the runtime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPod:
    """One pod as the controller acts on it.

    attempts: the attempts that are made of its run, and which of them it is.
    lives: the attempt's states to look at, oldest first; two after an in-place restart.
    mode: the least of its policy's and of admission's, when it was read; see ``mode_by``.
    executions: how many executions of the task may have the key of its run.
    note: admission's decision; None if admission was not asked or failed open.
    sandboxed: its RuntimeClass has an overhead, as those of virtual machines and gVisor have.
    raised_bytes: the limit in its spec, if a rescue may have raised it to that; else None.
    """

    task: TaskId
    retrier: Retrier
    policy: Policy
    mode: Mode
    retry: Retry
    attempt: Attempt
    attempts: Attempts
    status: AttemptStatus
    lives: tuple[AttemptStatus, ...]
    note: DecisionNote | None
    noted_mode: Mode
    cpu_request: float
    sandboxed: bool
    raised_bytes: int | None = None
    executions: Executions = Executions.ONE

    def mode_by(self, own: Mode) -> Mode:
        """Return the mode by a newer policy, which has ``own`` for it.

        Others may write the note, too, so it can only lower the mode.
        """
        return min(own, self.noted_mode, key=_REACH.index)

    @property
    def limit_bytes(self) -> int | None:
        """Return the limit that the kernel enforces; None if there is none."""
        return self.attempt.limit_bytes

    def measured_container(self, status: AttemptStatus) -> str | None:
        """Return the ID of the container whose own cgroup shows its memory; None if none does.

        In a sandbox, which has an overhead, all containers are inside one process of the node, and
        their own cgroups are empty: only the pod's is measured.
        """
        return None if self.sandboxed else status.container_id

    def as_it_ran(self, own: PeakReport | None, best: PeakReport | None) -> WatchedPod:
        """Return an ended pod with the limit under which its container ended, as far as is known.

        Neither its spec nor its status shows whether a rescue came in time. When in doubt, none
        did: then a run that its own lower limit may have ended gets what its author wrote.

        own: the report of the container's own cgroup, whose limit is set last; None without one.
        best: what says most about its memory, which may be newer, and cannot be above its limit.
        """
        if self.raised_bytes is None or self.sandboxed or not self.limit_bytes:
            return self
        limit_bytes = (None if own is None else own.limit_bytes) or self.limit_bytes
        if best is not None and best.kernel_peak_bytes > limit_bytes + _BESIDE_BYTES:
            limit_bytes = max(limit_bytes, min(best.kernel_peak_bytes, self.raised_bytes))
        for exact_bytes in (self.limit_bytes, self.raised_bytes):
            if abs(limit_bytes - exact_bytes) <= SAME_BYTES:
                limit_bytes = exact_bytes
        return replace(self, attempt=replace(self.attempt, limit_bytes=limit_bytes))

    @property
    def sandbox_limit_bytes(self) -> int | None:
        """Return the limit within its sandbox; None without a limit or a sandbox."""
        return self.limit_bytes if self.sandboxed else None

    @property
    def written_limit_bytes(self) -> int | None:
        """Return the limit as its author wrote it; None if there was none."""
        return self.limit_bytes if self.note is None else self.note.was_limit_bytes

    @property
    def written(self) -> Memory:
        """Return the request and limit as its author wrote them."""
        attempt = self.attempt
        return Memory(attempt.request_bytes, attempt.written_limit_bytes or None)

    @property
    def is_lowered(self) -> bool:
        """Say whether its limit is lower than its author wrote, by its own decision."""
        return is_lowered_limit(self.limit_bytes, self.attempt.written_limit_bytes or 0)

    @property
    def has_less(self) -> bool:
        """Say whether its limit or its request is lower than its author wrote."""
        attempt = self.attempt
        ran_bytes, asked_bytes = attempt.request_memory_ran_bytes, attempt.request_bytes
        return self.is_lowered or (ran_bytes or 0) < (asked_bytes or 0)


def read_pod(pod: Pod, knowledge_of: Callable[[TaskId], Knowledge]) -> WatchedPod | None:
    """Read a pod; None if it is not Plimsoll's or has no container that could be sized."""
    identity, sized = identify(pod), sized_container(pod)
    if identity is None or not isinstance(sized, SizedContainer):
        return None
    policy, note = knowledge_of(identity.task).policy, read_note(pod)
    own, _ = resolve_policy(pod, policy)
    noted_mode = Mode.ENFORCE if note is None else note.mode
    status, earlier = read_status(pod, sized.name), last_life(pod, sized.name)
    attempt = _attempt(pod, identity, sized, note, policy)
    note = _of_the_pod(note)
    return WatchedPod(
        task=identity.task,
        retrier=identity.retrier,
        policy=policy,
        mode=min(own.mode, noted_mode, key=_REACH.index),
        retry=own.retry,
        attempt=attempt,
        attempts=attempts_of(pod, identity, own, note.attempt if note else 1),
        status=status,
        lives=(earlier, status) if earlier else (status,),
        note=note,
        noted_mode=noted_mode,
        cpu_request=_cpu(pod),
        sandboxed=bool(overhead_of(pod)),
        raised_bytes=sized.limit_bytes if _may_be_rescued(pod, own) else None,
        executions=identity.executions,
    )


def _may_be_rescued(pod: Pod, policy: Policy) -> bool:
    """Say whether a rescue may have raised a pod; its annotation comes after the raise."""
    return policy.rescue is not Rescue.NEVER or labels.RESCUED in annotations_of(pod)


def _of_the_pod(note: DecisionNote | None) -> DecisionNote | None:
    """Return a pod's own decision. A template's only says what its author wrote."""
    return None if note is None or note.template else note


def _attempt(
    pod: Pod,
    identity: RunIdentity,
    sized: SizedContainer,
    note: DecisionNote | None,
    policy: Policy,
) -> Attempt:
    container = container_of(pod, sized.index)
    asked, written = cpu_asked(pod, sized, note), memory_asked(before_rescue(pod, sized), note)
    note = _of_the_pod(note)
    context = note.context if note else NO_CONTEXT
    return Attempt(
        task=identity.task,
        run=identity.run or "",
        number=note.attempt if note else 1,
        # As in the decision, known needs of the item come before the author's features.
        features=within_bounds(read_features(pod, policy.feature_sources).values, context),
        work=identity.work,
        container=sized.name,
        request_bytes=written.request_bytes,
        # The kubelet treats a limit of zero as no limit.
        limit_bytes=enforced_limit(pod, sized) or None,
        image=bounded_or_none(container.get("image"), MOST_IMAGE_BYTES),
        model_version=bounded_or_none(note.model, _MOST_VERSION_BYTES) if note else None,
        containers=len(sequence(spec_of(pod).get("containers"))),
        request_cores=_cores(asked.request_millicores if asked else None),
        allocated_cores=_cores_of(container, "requests"),
        request_memory_ran_bytes=sized.request_bytes,
        limit_cores=_cores_of(container, "limits"),
        requested_s=_requested_s(pod),
        written_limit_bytes=written.limit_bytes or 0,
    )


_REACH: Final = (Mode.OFF, Mode.RECOMMEND, Mode.ENFORCE)


def _cpu(pod: Pod) -> float:
    """Return the cores that all containers request; an unreadable request counts as nothing."""
    containers = sequence(spec_of(pod).get("containers"))
    return sum(_cores_of(mapping(container), "requests") or 0.0 for container in containers)


def _requested_s(pod: Pod) -> float | None:
    """Return the pod's longest runtime. A Job's deadline covers all its pods, so it is not read."""
    deadline = spec_of(pod).get("activeDeadlineSeconds")
    if isinstance(deadline, bool) or not isinstance(deadline, int) or deadline <= 0:
        return None
    return float(min(deadline, _LONGEST_S))


def _cores_of(container: Mapping[str, Any], kind: str) -> float | None:
    try:
        return _cores(millicores_asked(container, kind))
    except BadQuantity:
        return None


def _cores(millicores: int | None) -> float | None:
    return None if millicores is None else millicores / 1000
