"""Pods that wait, decided again: what they get, which are left alone, and in which order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.late_binding.resizing import (
    Left,
    Place,
    Resize,
    place_of,
    resize_for,
    unapplied,
    was_passed_over,
)
from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import format_bytes
from plimsoll_operator.pods.queue_managers import MANAGED
from plimsoll_operator.pods.spec import qos_of, sized_container
from plimsoll_operator.sizing.decision_note import (
    CpuNote,
    memory_asked,
    note_from_json,
    note_to_json,
    read_note,
)
from plimsoll_operator.sizing.patch import Memory
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Limits, Mode
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.deciding.cpu import CpuReason
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.kubernetes.waiting_pods import GATED, KNOWN, PASSED_OVER, WAITING, knowing
from tests.builders.pods import JOB_UID, APod, a_pod, decision_of, memory_of
from tests.rigs.servers.admission_servers import knowledge_of

FITS = 1127 * MIB
"""The size by knowledge_of(): 1.1 times its largest need of 1Gi."""


COLD = knowing(replace(knowledge_of(), runs=0, max_need_bytes=None))


def lifting(lift: Lift) -> AdmissionState:
    return knowing(replace(knowledge_of(), lifts={f"job:{JOB_UID}": lift}))


def sized(pod: APod, state: AdmissionState = COLD) -> APod:
    """As admission left it."""
    return pod.patched(size(pod.built(), state).patch)


def resized(pod: APod, state: AdmissionState = KNOWN) -> Resize:
    found = resize_for(pod.built(), state)
    assert isinstance(found, Resize), found
    return found


def why_left(pod: APod, state: AdmissionState = KNOWN) -> str:
    found = resize_for(pod.built(), state)
    assert isinstance(found, Left), found
    return found.why


def noted(pod: APod, found: Resize) -> APod:
    """After the first of the two patches."""
    return pod.annotated({labels.DECISION: note_to_json(found.note)})


def carried_out(pod: APod, found: Resize) -> APod:
    """After both patches."""
    memory = found.memory
    assert memory.request_bytes is not None
    done = noted(pod, found).asking(format_bytes(memory.request_bytes))
    return done if memory.limit_bytes is None else done.limited(format_bytes(memory.limit_bytes))


def asked_by(pod: APod) -> Memory:
    container = sized_container(pod.built())
    return memory_asked(container, read_note(pod.built()))  # type: ignore[arg-type]


def test_a_pod_queued_by_a_cold_task_gets_what_was_learned_since() -> None:
    found = resized(sized(WAITING))
    assert found.memory == Memory(FITS, FITS)
    assert found.freed_bytes == 4 * GIB - FITS
    assert found.note.why.startswith("resized while waiting: 1.1 times the largest need seen")
    assert found.body() == {
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "resources": {"requests": {"memory": "1127Mi"}, "limits": {"memory": "1127Mi"}},
                }
            ]
        }
    }


def test_a_pod_that_admission_never_saw_is_sized_while_it_waits() -> None:
    assert resized(WAITING).memory == Memory(FITS, FITS)


def test_what_was_carried_out_is_not_done_again() -> None:
    found = resized(sized(WAITING))
    assert why_left(carried_out(sized(WAITING), found)) == "the change is too small"


@pytest.mark.parametrize("after", [noted, carried_out])
@pytest.mark.parametrize("before", [WAITING, sized(WAITING), sized(WAITING, KNOWN)])
def test_what_the_user_asked_is_known_after_each_of_the_two_patches(
    before: APod, after: Any
) -> None:
    more = knowing(replace(knowledge_of(), max_need_bytes=3 * GIB))
    pod = before.with_status(**PASSED_OVER)
    assert asked_by(after(pod, resized(pod, more))) == Memory(4 * GIB, 4 * GIB)


def test_after_a_crash_between_the_patches_the_same_is_decided() -> None:
    found = resized(sized(WAITING))
    assert resized(noted(sized(WAITING), found)).memory == found.memory


def test_a_pod_bound_between_the_patches_has_its_annotation_put_right() -> None:
    between = noted(sized(WAITING), resized(sized(WAITING)))
    note = unapplied(between.built())
    assert note is not None
    assert note.allocation_bytes == 4 * GIB
    assert note.why == "4Gi are kept: a node was found before it could be resized"
    right = between.annotated({labels.DECISION: note_to_json(note)})
    assert unapplied(right.built()) is None
    assert asked_by(right) == Memory(4 * GIB, 4 * GIB)


def test_the_annotation_of_a_pod_that_was_resized_is_right_already() -> None:
    for pod in (sized(WAITING), carried_out(WAITING, resized(WAITING)), WAITING):
        assert unapplied(pod.built()) is None


def test_the_annotation_is_read_back_as_it_was_written() -> None:
    note = resized(sized(WAITING)).note
    assert note.before_bytes == 4 * GIB
    assert note_from_json(note_to_json(note)) == note


def test_what_admission_decided_of_the_cpu_stays_as_it_is() -> None:
    cpu = CpuNote(
        request_millicores=500,
        was_millicores=4000,
        mode=Mode.ENFORCE,
        reason=CpuReason.USED,
        why="used",
    )
    cold = read_note(sized(WAITING).built())
    assert cold is not None
    pod = WAITING.annotated({labels.DECISION: note_to_json(replace(cold, cpu=cpu))})
    found = resized(pod.with_cpu("500m"))
    assert found.note.cpu == cpu
    assert "cpu" not in str(found.body())


@pytest.mark.parametrize(
    ("pod", "place"),
    [
        pytest.param(WAITING, Place.WAITING, id="pending"),
        pytest.param(a_pod().asking("4Gi"), Place.WAITING, id="no status yet"),
        pytest.param(WAITING.with_spec(nodeName="node-1"), Place.BOUND, id="a node is found"),
        pytest.param(WAITING.with_status(phase="Running"), Place.BOUND, id="it runs"),
        pytest.param(WAITING.with_status(phase="Succeeded"), Place.OVER, id="it succeeded"),
        pytest.param(WAITING.with_status(phase="Failed"), Place.OVER, id="it failed"),
    ],
)
def test_only_a_pod_without_a_node_waits(pod: APod, place: Place) -> None:
    assert place_of(pod.built()) is place
    assert isinstance(resize_for(pod.built(), KNOWN), Resize) == (place is Place.WAITING)


@pytest.mark.parametrize(
    ("pod", "state", "memory"),
    [
        pytest.param(WAITING, KNOWN, Memory(FITS, 4 * GIB), id="it is lowered"),
        pytest.param(
            WAITING.limited("8Gi"), KNOWN, Memory(FITS, 8 * GIB), id="a limit over the request"
        ),
        pytest.param(
            WAITING.asking("1Gi").limited("1Gi").with_status(**PASSED_OVER),
            KNOWN,
            Memory(FITS, FITS),
            id="it is raised",
        ),
        pytest.param(
            WAITING.asking("512Mi").limited("2Gi").with_status(**PASSED_OVER),
            KNOWN,
            Memory(FITS, 2 * GIB),
            id="its request is raised, and its limit would fall",
        ),
    ],
)
def test_where_no_limit_may_fall_the_request_alone_is_lowered(
    pod: APod, state: AdmissionState, memory: Memory
) -> None:
    found = resize_for(pod.built(), state, limits_fall=False)
    assert isinstance(found, Resize)
    assert found.memory == memory
    done = resize_for(carried_out(pod, found).built(), state, limits_fall=False)
    assert isinstance(done, Left), "once"


def test_a_guaranteed_pod_is_left_where_no_limit_may_fall() -> None:
    found = resize_for(WAITING.with_cpu("1", "1").built(), KNOWN, limits_fall=False)
    assert isinstance(found, Left)
    assert "QoS" in found.why


def test_a_pod_that_is_being_deleted_is_left() -> None:
    pod = WAITING.built()
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert place_of(pod) is Place.OVER


@pytest.mark.parametrize("mode", ["off", "recommend"])
def test_a_pod_that_may_not_be_changed_is_left(mode: str) -> None:
    assert isinstance(resize_for(WAITING.in_mode(mode).built(), KNOWN), Left)


def test_a_pod_recommended_for_and_enforced_since_is_resized() -> None:
    recommended = sized(WAITING, knowing(knowledge_of(mode=Mode.RECOMMEND)))
    assert decision_of(recommended)["mode"] == "recommend"
    found = resized(recommended)
    assert asked_by(carried_out(recommended, found)) == Memory(4 * GIB, 4 * GIB)


def test_a_gated_pod_is_resized_unless_kueue_counted_it() -> None:
    assert resized(WAITING.with_spec(**GATED)).memory == Memory(FITS, FITS)
    held = WAITING.with_spec(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    assert "Kueue" in why_left(held)
    # Kueue has released it, and it waits for a node: Kueue would delete it at another size.
    assert "Kueue" in why_left(WAITING.with_labels({MANAGED: "true"}))


@pytest.mark.parametrize("limits", Limits)
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod().asking("4Gi"), id="a request alone"),
        pytest.param(a_pod().asking("4Gi").limited("8Gi").with_cpu("1"), id="Burstable"),
        pytest.param(WAITING.with_cpu("1", "1"), id="Guaranteed"),
        pytest.param(a_pod().asking("4Gi").limited("8Gi").with_cpu("1", "1"), id="nearly so"),
        pytest.param(a_pod().asking("4Gi").with_cpu("1", "1"), id="nearly so, no limit"),
        pytest.param(a_pod().with_cpu("1"), id="CPU alone"),
    ],
)
def test_a_resize_keeps_the_qos_class_and_every_limit(pod: APod, limits: Limits) -> None:
    state = knowing(knowledge_of(limits=limits))
    found = resized(pod, state)
    after = carried_out(pod, found)
    assert qos_of(after.built()) is qos_of(pod.built())
    assert found.memory.request_bytes == FITS
    if memory_of(pod)[1] is not None:
        assert found.memory.limit_bytes is not None
        assert found.memory.limit_bytes >= FITS


def test_a_best_effort_pod_is_left_for_its_class_is_set() -> None:
    assert "QoS" in why_left(a_pod())


def test_a_limit_that_admission_set_stays_where_the_user_had_none() -> None:
    pod = sized(a_pod().asking("4Gi"), KNOWN)
    assert memory_of(pod) == ("1127Mi", "1127Mi")
    less = knowing(replace(knowledge_of(limits=Limits.KEEP), max_need_bytes=500 * MIB))
    assert resized(pod, less).memory == Memory(550 * MIB, FITS)


@pytest.mark.parametrize(
    ("asked", "worth"),
    [("1100Mi", False), ("1127Mi", False), ("1180Mi", False), ("1190Mi", True), ("1000Mi", True)],
)
def test_a_change_below_a_twentieth_is_not_worth_the_calls(asked: str, worth: bool) -> None:
    pod = a_pod().asking(asked).limited(asked).with_status(**PASSED_OVER)
    assert isinstance(resize_for(pod.built(), KNOWN), Resize) == worth


def test_a_pod_grows_only_after_the_scheduler_has_passed_it_over() -> None:
    small = a_pod().asking("100Mi").limited("100Mi")
    assert not was_passed_over(small.built())
    assert "scheduler" in why_left(small)
    for passed in (small.with_status(**PASSED_OVER), small.with_spec(**GATED)):
        found = resized(passed)
        assert found.memory == Memory(FITS, FITS)
        assert found.freed_bytes < 0


def test_a_later_attempt_is_never_lowered_and_may_be_lifted_on() -> None:
    job = a_pod().owned_by_job().asking("4Gi").limited("4Gi").with_spec(**GATED)
    lift = Lift(allocation_bytes=2 * GIB, attempt=2, after_bytes=GIB)
    lifted = sized(job, lifting(lift))
    assert decision_of(lifted)["attempt"] == 2
    assert "lifted" in why_left(lifted)
    further = replace(lift, allocation_bytes=3 * GIB, attempt=3, after_bytes=2 * GIB)
    found = resized(lifted, lifting(further))
    assert (found.memory.request_bytes, found.note.attempt) == (3 * GIB, 3)
    assert found.note.reason is Reason.LIFTED


def test_a_raised_pod_that_finds_no_room_for_hours_asks_for_what_was_written_again() -> None:
    """Otherwise it waits for ever where others never leave, though it would have run as written."""
    created = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    small = WAITING.asking("512Mi").limited("512Mi").with_status(phase="Pending", **PASSED_OVER)
    built = sized(small, KNOWN).built()
    built["metadata"] |= created
    raised = APod(built)
    assert memory_of(raised)[0] == format_bytes(FITS)
    began_s = 1_767_225_600.0
    assert isinstance(resize_for(raised.built(), KNOWN, began_s + 5 * 3600), Left)
    found = resize_for(raised.built(), KNOWN, began_s + 6 * 3600)
    assert isinstance(found, Resize)
    assert found.memory == Memory(512 * MIB, 512 * MIB)
    assert (found.note.was_request_bytes, found.note.reason) == (512 * MIB, Reason.KEPT)
    assert "in 6 hours no node had room for more" in found.note.why
    as_it_was = noted(raised, found).asking("512Mi").limited("512Mi")
    assert isinstance(resize_for(as_it_was.built(), KNOWN, began_s + 7 * 3600), Left), "for good"
    gated = raised.with_spec(**GATED).built()
    assert isinstance(resize_for(gated, KNOWN, began_s + 7 * 3600), Left), "nobody looked yet"
