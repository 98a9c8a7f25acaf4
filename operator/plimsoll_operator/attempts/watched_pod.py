"""A watched pod, read once: whose attempt it is, how it was sized, how its lives went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.attempts.observation import Attempt
from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import BadQuantity, parse_millicores
from plimsoll_operator.pods.features import read_features
from plimsoll_operator.pods.identity import Retrier, RunIdentity, identify
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    mapping,
    said_of,
    sequence,
    sized_container,
    spec_of,
)
from plimsoll_operator.pods.status import AttemptStatus, last_life, read_status
from plimsoll_operator.pods.workflow_items import NO_CONTEXT
from plimsoll_operator.sizing.cpu_sizing import cpu_asked
from plimsoll_operator.sizing.decision_note import DecisionNote, read_note
from plimsoll_operator.sizing.pod_sizing import memory_asked
from plimsoll_predictor.core.policy import Mode, Policy, Retry
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPod:
    """One pod as the controller acts on it.

    lives: the attempt's states to look at, oldest first; two after an in-place restart.
    note: what admission decided; None if it was not asked or failed open.
    """

    task: TaskId
    retrier: Retrier
    policy: Policy
    mode: Mode
    retry: Retry
    attempt: Attempt
    status: AttemptStatus
    lives: tuple[AttemptStatus, ...]
    note: DecisionNote | None
    cpu_request: float

    @property
    def limit_bytes(self) -> int | None:
        """What the kernel enforces; None if nothing."""
        return self.attempt.limit_bytes


def read_pod(pod: Pod, knowledge_of: Callable[[TaskId], Knowledge]) -> WatchedPod | None:
    """Read a pod; None if it is not Plimsoll's or has no container that could be sized."""
    identity, sized = identify(pod), sized_container(pod)
    if identity is None or not isinstance(sized, SizedContainer):
        return None
    policy = knowledge_of(identity.task).policy
    note = read_note(pod)
    status, earlier = read_status(pod, sized.name), last_life(pod, sized.name)
    return WatchedPod(
        task=identity.task,
        retrier=identity.retrier,
        policy=policy,
        mode=_mode(pod, note, policy),
        retry=_retry(pod, policy),
        attempt=_attempt(pod, identity, sized, note, policy),
        status=status,
        lives=(earlier, status) if earlier else (status,),
        note=note,
        cpu_request=_cpu(pod),
    )


def _attempt(
    pod: Pod,
    identity: RunIdentity,
    sized: SizedContainer,
    note: DecisionNote | None,
    policy: Policy,
) -> Attempt:
    container = mapping(sequence(spec_of(pod)["containers"])[sized.index])
    context = note.context if note else NO_CONTEXT
    resources = mapping(container.get("resources"))
    return Attempt(
        task=identity.task,
        run=identity.run or "",
        number=note.attempt if note else 1,
        # As when it was decided: its author's, and over them what was known of its item.
        features={**read_features(pod, policy.feature_sources).values, **context},
        work=identity.work,
        container=sized.name,
        request_bytes=memory_asked(sized, note).request_bytes,
        # The kubelet takes a limit of nothing for no limit.
        limit_bytes=sized.limit_bytes or None,
        image=str(container.get("image") or "") or None,
        model_version=note.model if note else None,
        containers=len(sequence(spec_of(pod).get("containers"))),
        request_cores=_asked_cores(pod, sized, note),
        allocated_cores=_cores(mapping(resources.get("requests"))),
        request_memory_ran_bytes=sized.request_bytes,
        limit_cores=_cores(mapping(resources.get("limits"))),
        requested_s=_requested_s(pod),
    )


_REACH: Final = (Mode.OFF, Mode.RECOMMEND, Mode.ENFORCE)


def _mode(pod: Pod, note: DecisionNote | None, policy: Policy) -> Mode:
    """How far Plimsoll may go: no further than now, nor than when the pod was decided.

    The decision is written on the pod, where others may write too: alone it allows nothing.
    """
    try:
        now = Mode(said_of(pod, labels.MODE) or policy.mode)
    except ValueError:
        now = policy.mode
    return now if note is None else min(now, note.mode, key=_REACH.index)


def _retry(pod: Pod, policy: Policy) -> Retry:
    try:
        return Retry(said_of(pod, labels.RETRY) or policy.retry)
    except ValueError:
        return policy.retry


def _cpu(pod: Pod) -> float:
    """Cores requested by all containers; what cannot be read counts as nothing."""
    return sum(
        _cores(mapping(mapping(mapping(c).get("resources")).get("requests"))) or 0.0
        for c in sequence(spec_of(pod).get("containers"))
    )


def _requested_s(pod: Pod) -> float | None:
    """How long the pod may run at most, by its own spec; a Job's deadline is of all its pods."""
    deadline = spec_of(pod).get("activeDeadlineSeconds")
    if isinstance(deadline, bool) or not isinstance(deadline, int) or deadline <= 0:
        return None
    return float(deadline)


def _asked_cores(pod: Pod, sized: SizedContainer, note: DecisionNote | None) -> float | None:
    """What the user asked for the sized container; None if nothing that can be read."""
    asked = cpu_asked(pod, sized, note)
    if asked is None or asked.request_millicores is None:
        return None
    return asked.request_millicores / 1000


def _cores(requests: Mapping[str, Any]) -> float | None:
    try:
        return parse_millicores(requests["cpu"]) / 1000
    except (KeyError, BadQuantity):
        return None
