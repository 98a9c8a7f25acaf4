"""Decides whether a new Job is created suspended, to wait for its turn as a whole.

Unlike pods behind gates, a Job that waits like this has no pods: its deadline does not run, quotas
do not count it, and pods that know their index start together. An engine that looks for a Job's
pods finds none. So a Job that an engine, an installer or another controller made starts at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from plimsoll_operator.names.json_patch import Operation, pointer
from plimsoll_operator.names.labels import HELD, MAY_WAIT, WAITS
from plimsoll_operator.ordering.holding import (
    HoldOutcome,
    Readiness,
    is_grouped,
    says_when_or_where,
)
from plimsoll_operator.ordering.longest_wait import note_of_wait
from plimsoll_operator.ordering.suspended_jobs import (
    is_queued,
    is_suspended,
    pods_at_once,
    suspending,
)
from plimsoll_operator.pods.creation import wrote_label
from plimsoll_operator.pods.job_attempts import is_made_again, may_start_late
from plimsoll_operator.pods.polled import is_awaited
from plimsoll_operator.pods.spec import EMPTY, annotations_of, labels_of, mapping
from plimsoll_operator.sizing.job_sizing import Moment, pod_of_job, task_and_policy_of
from plimsoll_operator.sizing.node_hint import has_room_for_note
from plimsoll_predictor.core.policy import JobsWait, Mode, Order, Policy
from plimsoll_predictor.core.task import TaskId


@dataclass(frozen=True, slots=True)
class Suspension:
    """The answer for one Job. patch: suspends it. notes: annotations for its template."""

    outcome: HoldOutcome
    patch: list[Operation] = field(default_factory=list)
    notes: Mapping[str, str] = field(default_factory=dict)


_NO_GATES: Mapping[str, str] = {MAY_WAIT: "false"}
"""Whether such a Job waits is decided once, for all of its pods."""


def suspension_of(
    job: Mapping[str, Any], moment: Moment, readiness: Readiness
) -> Suspension | None:
    """Say whether a new Job is suspended; None if nobody asked for it.

    readiness: of this replica, for Jobs.
    """
    task, policy = task_and_policy_of(job, moment)
    if WAITS in labels_of(job):
        return _marked(job)
    if task is None or not _is_wanted(policy, moment):
        return None
    outcome = _why_not(job, task, moment) or readiness.trouble
    if outcome is not None:
        return Suspension(outcome, notes=_NO_GATES)
    return Suspension(HoldOutcome.HELD, suspending(job), {**_NO_GATES, HELD: note_of_wait()})


def _is_wanted(policy: Policy, moment: Moment) -> bool:
    if policy.order is not Order.ENFORCE or policy.jobs_wait is not JobsWait.SUSPENDED:
        return False
    return policy.mode is not Mode.OFF and not policy.paused and not moment.state.paused


def _marked(job: Mapping[str, Any]) -> Suspension | None:
    """Return what becomes of a Job that has the label already; None if it is asked for again.

    It may be a copy of a Job that waited. A Job's resumption removes the label, so Plimsoll had
    suspended the original, and nobody would ever resume the copy: it starts.
    """
    if not wrote_label(job, WAITS):
        return None
    mark = pointer("metadata", "labels", WAITS)
    taken: list[Operation] = [{"op": "remove", "path": mark}]
    if HELD in annotations_of(job) and is_suspended(job):
        taken.append({"op": "replace", "path": "/spec/suspend", "value": False})
    return Suspension(HoldOutcome.CHOSEN, taken)


def _why_not(job: Mapping[str, Any], task: TaskId, moment: Moment) -> HoldOutcome | None:
    pod = pod_of_job(job, EMPTY)
    spec = mapping(job.get("spec"))
    if spec.get("suspend") is True or not pods_at_once(job) or says_when_or_where(pod):
        return HoldOutcome.CHOSEN
    if is_queued(job) or is_grouped(pod):
        return HoldOutcome.GROUPED
    # Its maker would delete it, with its pods, for the hosts that its template gets when it starts.
    if not may_start_late(job) or is_awaited(pod) or is_made_again(job):
        return HoldOutcome.MADE
    if str(task) not in moment.state.ordered or not moment.state.orders_jobs:
        return HoldOutcome.UNKNOWN
    return None if has_room_for_note(job) and has_room_for_note(pod) else HoldOutcome.NO_ROOM
