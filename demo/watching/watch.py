"""The state of the demo's runs, read from their pods and Jobs. Pure.

It reads Kubernetes alone, so that the demo's statements about Plimsoll do not come from Plimsoll:
the demo's own label marks a run's pods, the container's status shows a kill.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from demo.runs.plan import LiveRun, Shape
from demo.runs.pods import CONTAINER, RUN_LABEL

from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_operator.pods.status import AttemptStatus, read_status
from plimsoll_operator.sizing.decision_note import DecisionNote, read_note

Object = Mapping[str, Any]
NEXT_ATTEMPT_WITHIN_S: Final = 240.0
"""A Job waits 10, 20, 40 s before its next pods; Plimsoll creates a bare pod's at once. On a
machine that is busy with other work, all of them take several times as long."""


class AttemptState(StrEnum):
    """How far an attempt is."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    KILLED = "killed"
    """By the kernel, at its memory limit."""
    FAILED = "failed"


ENDED = frozenset({AttemptState.SUCCEEDED, AttemptState.KILLED, AttemptState.FAILED})


class RunState(StrEnum):
    """How far a run is."""

    UNSEEN = "unseen"
    WAITING = "waiting"
    RUNNING = "running"
    LIFTING = "lifting"
    """Its last attempt was OOM-killed; the next is to come, or has not started."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One pod of a run.

    allocation_bytes: the memory limit it runs under.
    note: what Plimsoll wrote on it; None if nothing.
    Times are Unix seconds, None until they are known.
    """

    uid: str
    name: str
    run: str
    namespace: str
    state: AttemptState
    allocation_bytes: int
    created_s: float
    started_s: float | None
    finished_s: float | None
    note: DecisionNote | None

    @property
    def runtime_s(self) -> float:
        """Seconds it ran; 0 while unknown."""
        if self.started_s is None or self.finished_s is None:
            return 0.0
        return max(0.0, self.finished_s - self.started_s)


@dataclass(frozen=True, slots=True)
class RunView:
    """One run and its attempts so far, oldest first."""

    run: LiveRun
    attempts: tuple[Attempt, ...]
    state: RunState

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in (RunState.SUCCEEDED, RunState.FAILED)

    @property
    def kills(self) -> int:
        """How many attempts the kernel killed."""
        return sum(attempt.state is AttemptState.KILLED for attempt in self.attempts)

    @property
    def success(self) -> Attempt | None:
        """The attempt that succeeded; None while none has."""
        done = (each for each in self.attempts if each.state is AttemptState.SUCCEEDED)
        return next(done, None)


def views(runs: Sequence[LiveRun], objects: Iterable[Object]) -> tuple[RunView, ...]:
    """Each run as the cluster shows it, in the order of ``runs``.

    objects: pods and Jobs as ``kubectl get -o json`` gives them, of these and of other runs.
    """
    attempts: dict[tuple[str, str], list[Attempt]] = {}
    given_up: set[tuple[str, str]] = set()
    for each in objects:
        key = (each["metadata"]["namespace"], each["metadata"]["labels"].get(RUN_LABEL, ""))
        if each["kind"] == "Pod":
            attempts.setdefault(key, []).append(attempt_of(each))
        elif _has_failed(each):
            given_up.add(key)
    return tuple(_view(run, attempts.get((run.namespace, run.name), []), given_up) for run in runs)


def attempt_of(pod: Object) -> Attempt:
    """One pod as an attempt."""
    status = read_status(pod, CONTAINER)
    metadata = pod["metadata"]
    return Attempt(
        uid=status.uid,
        name=metadata["name"],
        run=metadata["labels"].get(RUN_LABEL, ""),
        namespace=metadata["namespace"],
        state=_state(status),
        allocation_bytes=_limit_bytes(pod),
        created_s=status.submitted_s or 0.0,
        started_s=status.started_s,
        finished_s=status.finished_s,
        note=read_note(pod),
    )


def _state(status: AttemptStatus) -> AttemptState:
    if status.terminated is not None and status.terminated.reason == "OOMKilled":
        return AttemptState.KILLED
    if status.phase == "Succeeded":
        return AttemptState.SUCCEEDED
    if status.phase == "Failed":
        return AttemptState.FAILED
    return AttemptState.WAITING if status.started_s is None else AttemptState.RUNNING


def _limit_bytes(pod: Object) -> int:
    containers = pod["spec"]["containers"]
    sized = next(each for each in containers if each["name"] == CONTAINER)
    return parse_bytes(sized["resources"]["limits"]["memory"])


def _has_failed(job: Object) -> bool:
    conditions = job.get("status", {}).get("conditions") or []
    return any(each["type"] == "Failed" and each["status"] == "True" for each in conditions)


def _view(run: LiveRun, found: list[Attempt], given_up: set[tuple[str, str]]) -> RunView:
    attempts = tuple(sorted(found, key=lambda attempt: (attempt.created_s, _number(attempt))))
    failed = (run.namespace, run.name) in given_up
    return RunView(run, attempts, _run_state(run, attempts, job_failed=failed))


def _number(attempt: Attempt) -> int:
    """The attempt's number as Plimsoll counts: it separates two of the same second."""
    return attempt.note.attempt if attempt.note else 1


def _run_state(run: LiveRun, attempts: Sequence[Attempt], *, job_failed: bool) -> RunState:
    states = {attempt.state for attempt in attempts}
    if AttemptState.SUCCEEDED in states:
        return RunState.SUCCEEDED
    if job_failed or (run.shape is Shape.POD and AttemptState.FAILED in states):
        return RunState.FAILED
    if AttemptState.RUNNING in states:
        return RunState.RUNNING
    if AttemptState.KILLED in states:
        return RunState.LIFTING
    return RunState.WAITING if attempts else RunState.UNSEEN


def is_overdue(view: RunView, now_s: float) -> bool:
    """Whether a killed run's next attempt should have appeared long ago.

    now_s: Unix seconds.
    """
    if view.state is not RunState.LIFTING:
        return False
    ends_s = [attempt.finished_s for attempt in view.attempts if attempt.finished_s is not None]
    waits = any(attempt.state is AttemptState.WAITING for attempt in view.attempts)
    return not waits and bool(ends_s) and now_s - max(ends_s) > NEXT_ATTEMPT_WITHIN_S


def last_kill_s(views_of_phase: Iterable[RunView], task: str) -> float | None:
    """When the kernel last killed an attempt of a task, in Unix seconds; None if it never did."""
    return max(
        (
            attempt.finished_s
            for view in views_of_phase
            for attempt in view.attempts
            if view.run.task == task
            and attempt.state is AttemptState.KILLED
            and attempt.finished_s is not None
        ),
        default=None,
    )
