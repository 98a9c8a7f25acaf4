"""A raised pod gives back only what it waits for, by what the scheduler says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.late_binding.resizing import Left, Resize, resize_for
from plimsoll_operator.late_binding.restoring_written import has_waited_long
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import MIB
from tests.builders.pods import APod, a_pod
from tests.rigs.servers.admission_servers import knowledge_of

BEGAN_S = 1_767_225_600.0
LATE_S = BEGAN_S + 6 * 3600
NODES = "0/5 nodes are available: "
END = ". preemption: 0/5 nodes are available: 5 No preemption victims found."


def waiting(message: str, reason: str = "Unschedulable", since: str | None = None) -> APod:
    """A pod of 2026 whose author wrote 4000Mi, raised to 5000Mi."""
    pod = a_pod().named("train-1").owned_by_job().asking("4000Mi").limited("4000Mi")
    built = pod.patched(size(pod.built(), STATE).patch).built()
    built["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "1"}
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    conditions = [{**condition, "lastTransitionTime": since}]
    return APod(built).with_status(phase="Pending", conditions=conditions)


KNOWN = replace(knowledge_of(headroom=1.0), max_need_bytes=5000 * MIB)
STATE = AdmissionState(default_policy=Policy(mode=Mode.ENFORCE), tasks={KNOWN.task: KNOWN})


@pytest.mark.parametrize(
    ("message", "memory", "cpu"),
    [
        pytest.param(f"{NODES}5 Insufficient memory{END}", True, False, id="memory"),
        pytest.param(f"{NODES}5 Insufficient cpu{END}", False, True, id="CPU"),
        pytest.param(
            f"{NODES}2 Insufficient memory, 3 Insufficient nvidia.com/gpu{END}",
            True,
            False,
            id="memory on some nodes, a GPU on others",
        ),
        pytest.param(f"{NODES}5 Insufficient nvidia.com/gpu{END}", False, False, id="a GPU"),
        pytest.param(
            f"{NODES}5 node(s) had untolerated taint(s){END}", False, False, id="no taint tolerated"
        ),
        pytest.param("the queue has no room", True, True, id="another scheduler's words"),
        pytest.param("", True, True, id="no words"),
    ],
)
def test_it_waits_for(message: str, *, memory: bool, cpu: bool) -> None:
    pod = waiting(message).built()
    assert has_waited_long(pod, LATE_S, "memory") == memory
    assert has_waited_long(pod, LATE_S, "cpu") == cpu
    assert isinstance(resize_for(pod, STATE, LATE_S), Resize if memory else Left)


def test_it_waits_since_the_scheduler_first_found_no_node() -> None:
    pod = waiting(f"{NODES}5 Insufficient memory", since="2026-01-01T01:00:00Z").built()
    assert not has_waited_long(pod, LATE_S, "memory")
    assert has_waited_long(pod, LATE_S + 3600, "memory")


def test_a_scheduler_that_has_not_looked_since_a_gate_went_says_nothing() -> None:
    pod = waiting("Scheduling is blocked due to non-empty scheduling gates", "SchedulingGated")
    assert not has_waited_long(pod.built(), LATE_S, "memory")
