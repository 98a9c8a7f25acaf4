"""Pods that wait for a node, and what is known of their task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from plimsoll_operator.names.labels import DECISION
from plimsoll_operator.sizing.decision_note import note_to_json, read_note
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.controller.ledgers import a_cpu_note
from tests.builders.pods import JOB_UID, APod, a_pod
from tests.rigs.servers.admission_servers import knowledge_of

BEGAN_S = 1_767_225_600.0
LATE_S = BEGAN_S + 6 * 3600
WAITING = a_pod().named("train-1").asking("4Gi").limited("4Gi").with_status(phase="Pending")
PASSED_OVER = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
GATED = {"schedulingGates": [{"name": "example.com/later"}]}


def knowing(known: Knowledge) -> AdmissionState:
    return AdmissionState(default_policy=Policy(mode=Mode.ENFORCE), tasks={known.task: known})


KNOWN = knowing(knowledge_of())


def needing(need_mib: int, lift: Lift | None = None) -> AdmissionState:
    known = replace(knowledge_of(headroom=1.0), max_need_bytes=need_mib * MIB)
    if lift is not None:
        known = replace(known, lifts={f"job:{JOB_UID}": lift})
    return AdmissionState(default_policy=Policy(mode=Mode.ENFORCE), tasks={known.task: known})


def waiting(state: AdmissionState, limit: str | None = "4000Mi", **more: Any) -> APod:
    """As admission left it; its author wrote a request of 4000Mi."""
    pod = a_pod().named("train-1").owned_by_job().asking("4000Mi").limited(limit)
    built = pod.patched(size(pod.built(), state).patch).with_spec(**more).built()
    built["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "1"}
    return APod(built).with_status(phase="Pending", **PASSED_OVER)


def with_cpu(pod: APod, was: int | None = 1000, mode: Mode = Mode.ENFORCE) -> APod:
    """Plimsoll decided on two cores."""
    note = read_note(pod.built())
    assert note is not None
    cpu = a_cpu_note(was, mode)
    return pod.annotated({DECISION: note_to_json(replace(note, cpu=cpu))}).with_cpu("2")
