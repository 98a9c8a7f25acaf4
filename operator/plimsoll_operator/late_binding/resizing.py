"""Decides whether a waiting pod is resized, to which size, and what is written on it. Pure.

The size is admission's (``pod_sizing.size``). The API server allows an existing pod less: its QoS
class stays, and limits cannot be removed. Some changes are not worth the calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.attempts.watched_pod import read_pod
from plimsoll_operator.late_binding.restoring_written import (
    NO_ROOM,
    as_written,
    has_waited_long,
    is_raised,
    written_millicores,
)
from plimsoll_operator.names.quantity import format_bytes, format_millicores
from plimsoll_operator.pods.identity import Retrier
from plimsoll_operator.pods.queue_managers import is_counted_by_kueue
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
from plimsoll_operator.pods.status import FINAL_PHASES, unscheduled
from plimsoll_operator.sizing.decision_note import DecisionNote, read_note, with_own_limit
from plimsoll_operator.sizing.patch import Memory, is_lowered, pod_with
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.rescued_note import before_rescue
from plimsoll_operator.sizing.sized import Sized, Treatment
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode, Retry
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import words_for_bytes

LEAST_CHANGE: Final = 0.05
"""The least change, as a share of the container's request; a smaller one is not worth the calls."""
WHILE_WAITING: Final = "resized while waiting: "


class Place(StrEnum):
    """A pod's place on its way to a node."""

    WAITING = "waiting"
    """It was never scheduled and is not being deleted."""
    BOUND = "bound"
    """It has a node, which has promised it what it asks for now."""
    OVER = "over"
    """It ended, or is being deleted."""


_WHY_UNSIZED: Final = {Treatment.OFF: "its mode is off", Treatment.PAUSED: "it is paused"}


@dataclass(frozen=True, slots=True)
class Resize:
    """One waiting pod's new memory.

    freed_bytes: how much less it asks for; negative if it is raised.
    note: the decision that is written on the pod before it is resized.
    cpu_millicores: its CPU request; None leaves that.
    """

    task: TaskId
    container: str
    memory: Memory
    freed_bytes: int
    note: DecisionNote
    cpu_millicores: int | None = None

    def body(self) -> dict[str, Any]:
        """Return the strategic merge patch of the pod's ``resize`` subresource."""
        sizes = {"requests": self.memory.request_bytes, "limits": self.memory.limit_bytes}
        resources = {
            kind: {"memory": format_bytes(size_bytes)}
            for kind, size_bytes in sizes.items()
            if size_bytes is not None
        }
        if self.cpu_millicores is not None:
            cpu = format_millicores(self.cpu_millicores)
            resources.setdefault("requests", {})["cpu"] = cpu
        return {"spec": {"containers": [{"name": self.container, "resources": resources}]}}


@dataclass(frozen=True, slots=True)
class Left:
    """A pod that is left as it is, and the reason in words."""

    why: str


def place_of(pod: Pod) -> Place:
    """Return the pod's place on its way to a node."""
    phase = mapping(pod.get("status")).get("phase", "Pending")
    if metadata_of(pod).get("deletionTimestamp") or phase in FINAL_PHASES:
        return Place.OVER
    return Place.BOUND if spec_of(pod).get("nodeName") or phase != "Pending" else Place.WAITING


def was_passed_over(pod: Pod) -> bool:
    """Say whether the scheduler found no node for the pod, or a gate holds the pod back."""
    return bool(sequence(spec_of(pod).get("schedulingGates")) or unscheduled(pod))


def resize_for(
    pod: Pod,
    state: AdmissionState,
    now_s: float | None = None,
    *,
    limits_fall: bool = True,
    cpu_falls: bool = True,
) -> Resize | Left:
    """Decide a waiting pod by its task's present knowledge.

    now_s: as in ``size``. limits_fall: whether the API server lets a limit be lowered.
    cpu_falls: whether it lets the pod's CPU request be given back.
    """
    if place_of(pod) is not Place.WAITING:
        return Left("it does not wait for a node any more")
    if is_counted_by_kueue(pod):
        return Left("Kueue counted it at the size that it has, and would delete it at another")
    sized, container = size(pod, state, now_s=now_s), sized_container(pod)
    if isinstance(container, NotSizable) or sized.note is None or sized.identity is None:
        return Left(_WHY_UNSIZED.get(sized.treatment, "nothing in it can be sized"))
    found = _with_memory(pod, sized, state, now_s, limits_fall=limits_fall)
    late = cpu_falls and has_waited_long(pod, now_s, "cpu")
    return _with_written_cpu(found, pod, container, sized.identity.task) if late else found


def _with_memory(
    pod: Pod, sized: Sized, state: AdmissionState, now_s: float | None, *, limits_fall: bool
) -> Resize | Left:
    """Decide a waiting pod's memory. sized: what admission would decide now."""
    container, note, wanted = sized_container(pod), sized.note, sized.wanted
    identity = sized.identity
    if isinstance(container, NotSizable) or note is None or wanted is None or identity is None:
        return Left("nothing in it can be sized")
    if note.mode is not Mode.ENFORCE:
        return Left("its mode is not enforce")
    late = has_waited_long(pod, now_s, "memory")
    lift = state.knowledge_of(identity.task).lifts.get(identity.run or "")
    gives_back = late and is_raised(pod, container, wanted, note, lift)
    if gives_back and (wanted.request_bytes or 0) > (note.was_request_bytes or 0):
        wanted, note = as_written(note)
    memory = _allowed(pod, container, wanted, limits_fall=limits_fall)
    if memory is None:
        return Left("the size would change its QoS class, which is set when it is created")
    if gives_back and (memory.request_bytes or 0) < (container.request_bytes or 0):
        return _resized(pod, container, memory, note)
    why = _not_worth(pod, container, memory, note.reason)
    why = why or _not_safe(pod, memory, note.reason, state)
    return _resized(pod, container, memory, note) if why is None else Left(why)


def _resized(pod: Pod, container: SizedContainer, memory: Memory, note: DecisionNote) -> Resize:
    written = _written(pod, container, memory, note)
    freed_bytes = (container.request_bytes or 0) - (memory.request_bytes or 0)
    return Resize(TaskId.parse(note.task), container.name, memory, freed_bytes, written)


def _with_written_cpu(
    found: Resize | Left, pod: Pod, container: SizedContainer, task: TaskId
) -> Resize | Left:
    """Add the CPU request as it was written, if the pod waits for more.

    The mode of its memory does not matter: what Plimsoll raised, it gives back.
    """
    millicores, note = written_millicores(pod, container), read_note(pod)
    if millicores is None or note is None:
        return found
    if isinstance(found, Left):
        now_bytes, as_it_is = container.request_bytes, note
        if note.mode is Mode.ENFORCE:
            if now_bytes not in (note.allocation_bytes, note.was_request_bytes):
                return found
            as_it_is = replace(note, allocation_bytes=now_bytes, before_bytes=now_bytes)
            as_it_is = with_own_limit(as_it_is, container, note)
        memory = Memory(now_bytes, container.limit_bytes)
        found = Resize(task, container.name, memory, 0, as_it_is)
    written = note.cpu is not None and note.cpu.was_millicores is not None
    given = "as written" if written else "zero, as none was written"
    why = f"{WHILE_WAITING}its CPU request is {given}: {NO_ROOM}"
    why = f"{why}; {found.note.why.removeprefix(WHILE_WAITING)}"
    return replace(found, cpu_millicores=millicores, note=replace(found.note, why=why))


def unapplied(pod: Pod) -> DecisionNote | None:
    """Return the note that a pod should have if the resize that its note names never happened.

    None if the resize was carried out, or if no resize was meant. A rescue may have raised the pod
    since then, so only what it had before its rescue tells.
    """
    note, container = read_note(pod), sized_container(pod)
    if note is None or note.before_bytes is None or isinstance(container, NotSizable):
        return None
    at_bytes = before_rescue(pod, container).request_bytes
    if container.name != note.container or at_bytes != note.before_bytes:
        return None
    if at_bytes == note.allocation_bytes:
        return None
    return replace(
        note.without_model(),
        allocation_bytes=at_bytes,
        before_bytes=None,
        reason=Reason.KEPT,
        why=f"{words_for_bytes(at_bytes)} are kept: a node was found before it could be resized",
    )


def _allowed(
    pod: Pod, container: SizedContainer, wanted: Memory, *, limits_fall: bool
) -> Memory | None:
    """Return the size nearest to the wanted one that the API server allows an existing pod.

    It lets no request be removed; zero takes as little room on a node.
    """
    request_bytes = wanted.request_bytes
    if request_bytes is None:
        if container.request_bytes is None:
            return None
        request_bytes = 0
        wanted = Memory(request_bytes, wanted.limit_bytes)
    limit_bytes = container.limit_bytes
    own = Memory(request_bytes, None if limit_bytes is None else max(limit_bytes, request_bytes))
    falls = (wanted.limit_bytes or 0) < (limit_bytes or 0)
    # A limit cannot be removed. Where limit = request would make the pod Guaranteed, its own stays.
    keeps = wanted.limit_bytes is None or (falls and not limits_fall)
    for memory in (own if keeps else wanted, own):
        if qos_of(pod_with(pod, container, memory)) is qos_of(pod):
            return memory
    return None


def _not_worth(pod: Pod, container: SizedContainer, memory: Memory, reason: Reason) -> str | None:
    """Say why this size is not worth setting or not safe; None if nothing speaks against it."""
    now_bytes, then_bytes = container.request_bytes, memory.request_bytes
    assert then_bytes is not None
    if now_bytes is None:
        return None
    note = read_note(pod)
    if then_bytes < now_bytes and note is not None and note.attempt > 1:
        return f"attempt {note.attempt} of its run keeps the size that it was lifted to"
    was = Memory(now_bytes, container.limit_bytes)
    if note is not None and note.attempt > 1 and is_lowered(was, memory):
        return f"attempt {note.attempt} of its run keeps the limit that it has"
    if then_bytes == now_bytes and is_lowered(memory, was):
        return None  # a safeguard holds by now: its limit is raised, which no scheduler checks
    change = abs(then_bytes - now_bytes) / max(now_bytes, 1)
    if then_bytes == now_bytes or (change < LEAST_CHANGE and reason is not Reason.LIFTED):
        return "the change is too small"
    if then_bytes > now_bytes and not was_passed_over(pod):
        # The scheduler may place the pod by its present request; the kubelet refuses one that grew.
        return "it is raised once the scheduler has found no node for it"
    return None


def _not_safe(pod: Pod, memory: Memory, reason: Reason, state: AdmissionState) -> str | None:
    """Say why a raise may end the run; None if it cannot, as far as is known.

    The scheduler may choose a node by the old request in the same moment. While a gate holds the
    pod back, it does not look. Where nobody knows how many attempts are left, some count as left.
    """
    container = sized_container(pod)
    if isinstance(container, NotSizable) or sequence(spec_of(pod).get("schedulingGates")):
        return None
    if (memory.request_bytes or 0) <= (container.request_bytes or 0):
        return None
    if reason is Reason.LIFTED:
        return None  # at the size that killed its run already, it would be lost more surely
    watched = read_pod(pod, state.knowledge_of)
    if watched is None or watched.has_less:
        return None  # at a size below the written one, its run would be lost more surely
    by_plimsoll = watched.retrier is Retrier.PLIMSOLL
    if watched.retry is Retry.AUTO if by_plimsoll else watched.attempts.left != 0:
        return None
    return "it would grow, and perhaps nobody makes another if it finds its node too full then"


def _written(
    pod: Pod, container: SizedContainer, memory: Memory, note: DecisionNote
) -> DecisionNote:
    before = read_note(pod)
    written = replace(
        note,
        allocation_bytes=memory.request_bytes,
        attempt=max(note.attempt, before.attempt if before else 1),
        before_bytes=container.request_bytes,
        why=f"{WHILE_WAITING}{note.why}",
        # Admission's decision on CPU still says what was written, also if that is given back.
        cpu=before.cpu if before else None,
    )
    return with_own_limit(written, container, before)
