"""Pods that wait: when a small change is worth it, and what stays written on the pod."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from plimsoll_operator.late_binding.resizing import Left, Resize, resize_for, unapplied
from plimsoll_operator.names import labels
from plimsoll_operator.names.labels import RESCUED
from plimsoll_operator.sizing.decision_note import DecisionNote, note_to_json
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.pods import JOB_UID, POD_UID, APod, a_pod
from tests.rigs.servers.admission_servers import knowledge_of

PASSED_OVER = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
WAITING = (
    a_pod()
    .named("train-1")
    .owned_by_job()
    .asking("4000Mi")
    .limited("4000Mi")
    .with_status(phase="Pending", **PASSED_OVER)
)


def knowing(known: Knowledge) -> AdmissionState:
    return AdmissionState(default_policy=Policy(mode=Mode.ENFORCE), tasks={known.task: known})


def needing(need_mib: int) -> AdmissionState:
    """Knowledge by which a pod gets that many MiB."""
    return knowing(replace(knowledge_of(headroom=1.0), max_need_bytes=need_mib * MIB))


def lifted_to(size_mib: int, attempt: int = 2) -> AdmissionState:
    lift = Lift(allocation_bytes=size_mib * MIB, attempt=attempt, after_bytes=GIB)
    return knowing(replace(knowledge_of(), lifts={f"job:{JOB_UID}": lift}))


def found_for(pod: APod, state: AdmissionState) -> Resize | str:
    found = resize_for(pod.built(), state)
    return found.why if isinstance(found, Left) else found


def test_nothing_is_lowered_while_nobody_would_see_a_kill_and_raises_go_on() -> None:
    unhealed = "the controller's store cannot be written"
    lower, higher = needing(1000), needing(8000)
    assert isinstance(found_for(WAITING, lower), Resize)
    for state in (lower, higher):
        state.unhealed = unhealed
    assert found_for(WAITING, lower) == "the change is too small"
    assert isinstance(found_for(WAITING, higher), Resize)


@pytest.mark.parametrize("size_mib", [3801, 4199])
def test_less_than_a_twentieth_is_not_worth_a_resize(size_mib: int) -> None:
    assert found_for(WAITING, needing(size_mib)) == "the change is too small"


@pytest.mark.parametrize("size_mib", [3800, 4200])
def test_a_twentieth_is_worth_a_resize(size_mib: int) -> None:
    assert isinstance(found_for(WAITING, needing(size_mib)), Resize)


@pytest.mark.parametrize("size_mib", [3900, 4100])
def test_a_lifted_attempt_gets_just_what_it_was_lifted_to_however_near(size_mib: int) -> None:
    found = found_for(WAITING, lifted_to(size_mib))
    assert isinstance(found, Resize)
    assert found.memory.request_bytes == size_mib * MIB


def test_a_lifted_attempt_that_has_its_size_is_left_alone() -> None:
    assert found_for(WAITING, lifted_to(4000)) == "the change is too small"


def test_a_pod_made_under_recommend_is_resized_once_its_task_is_enforced() -> None:
    """`plimsoll enforce` says so before it asks."""
    enforced = needing(1000)
    recommended = AdmissionState(
        default_policy=Policy(mode=Mode.RECOMMEND),
        tasks={
            task: replace(known, policy=replace(known.policy, mode=Mode.RECOMMEND))
            for task, known in enforced.tasks.items()
        },
    )
    made = WAITING.patched(size(WAITING.built(), recommended).patch)
    assert found_for(made, recommended) == "its mode is not enforce"
    found = found_for(made, enforced)
    assert isinstance(found, Resize)
    assert found.memory.request_bytes == 1000 * MIB


def note_on(pod: APod) -> DecisionNote:
    note = size(pod.built(), needing(2000)).note
    assert note is not None
    return note


def noted(pod: APod, note: DecisionNote) -> APod:
    return pod.annotated({labels.DECISION: note_to_json(note)})


@pytest.mark.parametrize("attempt", [2, 3])
def test_a_resize_keeps_the_number_of_the_attempt_that_the_pod_is(attempt: int) -> None:
    later = noted(WAITING, replace(note_on(WAITING), attempt=attempt))
    found = found_for(later, needing(8000))
    assert isinstance(found, Resize)
    assert found.note.attempt == attempt


def test_a_resize_takes_the_number_of_the_attempt_that_its_run_has_reached() -> None:
    first = noted(WAITING, note_on(WAITING))
    found = found_for(first, lifted_to(8000, attempt=3))
    assert isinstance(found, Resize)
    assert found.note.attempt == 3


PLANNED = replace(note_on(WAITING), before_bytes=4000 * MIB)
"""A note written before a resize from 4000Mi to 2000Mi."""


def test_a_resize_that_never_came_about_is_put_right() -> None:
    note = unapplied(noted(WAITING, PLANNED).built())
    assert note is not None
    assert (note.allocation_bytes, note.reason) == (4000 * MIB, Reason.KEPT)


def test_a_rescue_up_to_what_it_had_before_it_was_lowered_is_no_resize_undone() -> None:
    rescued = {"uid": POD_UID, "container": "main", "request": "2000Mi", "limit": "2000Mi"}
    lowered = noted(WAITING, PLANNED)
    assert unapplied(lowered.asking("2000Mi").limited("2000Mi").built()) is None
    raised = lowered.annotated({RESCUED: json.dumps({**rescued, "raises": 1})})
    assert unapplied(raised.built()) is None


@pytest.mark.parametrize(
    "note",
    [
        pytest.param(replace(PLANNED, container="other"), id="it speaks of another container"),
        pytest.param(
            replace(PLANNED, before_bytes=3000 * MIB), id="the container had another size"
        ),
        pytest.param(replace(PLANNED, before_bytes=None), id="no resize was meant"),
        pytest.param(
            replace(PLANNED, allocation_bytes=4000 * MIB), id="it asks for what the pod has"
        ),
    ],
)
def test_a_note_that_is_not_of_a_resize_undone_stays(note: DecisionNote) -> None:
    assert unapplied(noted(WAITING, note).built()) is None


def test_a_limit_alone_is_raised_where_a_safeguard_holds_by_now() -> None:
    pod = a_pod().named("train-1").owned_by_job(attempts=1).asking("4000Mi").limited("4000Mi")
    pod = pod.with_status(phase="Pending", **PASSED_OVER)
    note = replace(note_on(WAITING), allocation_bytes=4000 * MIB, was_request_bytes=4000 * MIB)
    sized_before = noted(pod, replace(note, was_limit_bytes=9000 * MIB, mode=Mode.ENFORCE))
    found = found_for(sized_before, needing(2000))
    assert isinstance(found, Resize)
    assert (found.memory.request_bytes, found.memory.limit_bytes) == (4000 * MIB, 9000 * MIB)


def test_a_later_attempts_limit_is_not_lowered_when_its_lift_is_closed() -> None:
    pod = a_pod().named("train-1").owned_by_job(attempts=7).asking("3000Mi").limited("9000Mi")
    pod = pod.with_status(phase="Pending", **PASSED_OVER)
    note = replace(note_on(WAITING), attempt=2, allocation_bytes=3000 * MIB)
    note = replace(note, was_request_bytes=2000 * MIB, was_limit_bytes=9000 * MIB)
    assert "attempt 2" in str(found_for(noted(pod, note), needing(4000)))


@pytest.mark.parametrize(
    ("pod", "is_raised"),
    [
        pytest.param(a_pod().owned_by_job(attempts=7), True, id="its Job makes another"),
        pytest.param(a_pod().owned_by_job(attempts=1), False, id="its Job makes no other"),
        pytest.param(
            a_pod().owned_by_job(attempts=1).with_spec(schedulingGates=[{"name": "later"}]),
            True,
            id="a gate holds it, so that nobody places it at this moment",
        ),
        pytest.param(a_pod(), True, id="bare: Plimsoll makes another"),
        pytest.param(
            a_pod().with_spec(activeDeadlineSeconds=600), True, id="and it has not begun yet"
        ),
        pytest.param(a_pod().annotated({labels.RETRY: "never"}), False, id="its author forbids it"),
        pytest.param(a_pod().restarting("OnFailure"), False, id="bare, and never made again"),
    ],
)
def test_a_waiting_pod_is_raised_only_if_another_follows_where_its_node_refuses_it(
    pod: APod, is_raised: bool
) -> None:
    """The scheduler may place it by its old request in the very same moment."""
    small = pod.named("train-1").asking("1000Mi").limited("1000Mi")
    small = small.with_status(phase="Pending", **PASSED_OVER)
    assert isinstance(found_for(small, needing(4000)), Resize) == is_raised


def test_a_lowered_pod_gets_back_what_was_written_also_if_nobody_makes_another() -> None:
    """At its lower size it would be lost more surely."""
    bare = a_pod().named("train-1").annotated({labels.RETRY: "never"})
    bare = bare.asking("1000Mi").limited("1000Mi").with_status(phase="Pending", **PASSED_OVER)
    note = replace(note_on(WAITING), run=None, allocation_bytes=1000 * MIB)
    found = found_for(noted(bare, note), needing(2000))
    assert isinstance(found, Resize)
    assert (found.memory.request_bytes, found.note.reason) == (4000 * MIB, Reason.NOT_LOWERED)


def test_a_last_attempt_is_raised_to_the_size_that_its_run_was_lifted_to() -> None:
    """At the size that killed its run already, it would be lost more surely."""
    last = a_pod().named("train-1").owned_by_job(attempts=1).asking("1000Mi").limited("1000Mi")
    last = last.with_status(phase="Pending", **PASSED_OVER)
    found = found_for(last, lifted_to(2000))
    assert isinstance(found, Resize)
    assert (found.memory.request_bytes, found.note.reason) == (2000 * MIB, Reason.LIFTED)
