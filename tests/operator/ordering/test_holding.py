"""Which pods wait for a turn, and which never do, whatever the policy says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.ordering.gate import is_held
from plimsoll_operator.ordering.holding import (
    MOST_UNHEARD_S,
    Holding,
    HoldOutcome,
    Readiness,
    hold_for,
)
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Order
from tests.builders.engines.marks import MARKS
from tests.builders.pods import APod, a_pod
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of

READY = Readiness(age_s=1.0, watched=True)
STATE = AdmissionState(
    tasks={TRAIN: knowledge_of(order=Order.ENFORCE)}, ordered=frozenset({str(TRAIN)})
)
POD = (
    a_pod()
    .named("train-1", None)
    .labelled("train")
    .asking("2Gi")
    .limited("2Gi")
    .restarting("Never")
)
OF_A_JOB = POD.owned_by_job().annotated({labels.MAY_WAIT: "true"})


def held(
    pod: APod = POD, state: AdmissionState = STATE, readiness: Readiness = READY
) -> Holding | None:
    document = pod.built()
    return hold_for(document, size(document, state), state, readiness)


def outcome(
    pod: APod = POD, state: AdmissionState = STATE, readiness: Readiness = READY
) -> HoldOutcome | None:
    holding = held(pod, state, readiness)
    return None if holding is None else holding.outcome


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(POD, id="a bare pod"),
        pytest.param(POD.restarting("OnFailure"), id="a bare pod that is restarted in place"),
        pytest.param(OF_A_JOB, id="the pod of a plain Job"),
        pytest.param(POD.with_spec(nodeSelector={"kubernetes.io/os": "linux"}), id="on Linux"),
        pytest.param(
            POD.with_spec(
                tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
            ),
            id="with the tolerations of all pods",
        ),
        pytest.param(POD.with_spec(priority=1000), id="of a priority"),
    ],
)
def test_who_waits(pod: APod) -> None:
    holding = held(pod)
    assert holding is not None
    assert holding.outcome is HoldOutcome.HELD
    sized = size(pod.built(), STATE)
    after = pod.patched([*sized.patch, *holding.patch]).built()
    assert is_held(after)
    assert labels.HELD in after["metadata"]["annotations"]


WHERE: dict[str, Any] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"odd": 1}]}}


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (POD.with_spec(nodeName="node-1"), HoldOutcome.CHOSEN),
        (POD.with_spec(nodeSelector={"pool": "gpu"}), HoldOutcome.CHOSEN),
        (POD.with_spec(affinity=WHERE), HoldOutcome.CHOSEN),
        (POD.with_spec(affinity=APART), HoldOutcome.CHOSEN),
        (POD.with_spec(tolerations=[{"operator": "Exists"}]), HoldOutcome.CHOSEN),
        (POD.with_spec(topologySpreadConstraints=[{"maxSkew": 1}]), HoldOutcome.CHOSEN),
        (POD.with_spec(schedulerName="volcano"), HoldOutcome.CHOSEN),
        (POD.with_spec(resourceClaims=[{"name": "gpu"}]), HoldOutcome.CHOSEN),
        (POD.with_spec(preemptionPolicy="Never"), HoldOutcome.CHOSEN),
        (POD.with_spec(schedulingGates=[{"name": "example.com/mine"}]), HoldOutcome.CHOSEN),
        (POD.with_labels({"kueue.x-k8s.io/queue-name": "team"}), HoldOutcome.GROUPED),
        (POD.with_labels({"jobset.sigs.k8s.io/jobset-name": "it"}), HoldOutcome.GROUPED),
        (POD.annotated({"scheduling.k8s.io/group-name": "it"}), HoldOutcome.GROUPED),
        (POD.with_spec(workloadRef={"name": "it"}), HoldOutcome.GROUPED),
        (POD.owned_by("PyTorchJob", "bert", version="kubeflow.org/v1"), HoldOutcome.MADE),
        (POD.owned_by("ReplicaSet", "web", version="apps/v1"), HoldOutcome.MADE),
        (POD.owned_by_job(), HoldOutcome.MADE),
        (POD.owned_by_job().annotated({labels.MAY_WAIT: "false"}), HoldOutcome.MADE),
        (POD.annotated({"helm.sh/hook": "test"}), HoldOutcome.MADE),
    ],
)
def test_who_never_waits(pod: APod, why: HoldOutcome) -> None:
    holding = held(pod)
    assert holding is not None
    assert (holding.outcome, list(holding.patch)) == (why, [])


@pytest.mark.parametrize("engine", MARKS)
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(OF_A_JOB, id="a Job's pod"),
        pytest.param(POD, id="a bare pod"),
        pytest.param(POD.restarting("OnFailure"), id="a bare pod that is restarted in place"),
    ],
)
def test_an_engines_pods_start_at_once(pod: APod, engine: str) -> None:
    """Their engine fails the run if they do not start within minutes."""
    assert outcome(pod.with_labels(MARKS[engine])) is HoldOutcome.MADE


@pytest.mark.parametrize(
    ("readiness", "why"),
    [
        (Readiness(age_s=1.0, watched=False), HoldOutcome.UNWATCHED),
        (Readiness(age_s=None, watched=True), HoldOutcome.SILENT),
        (Readiness(age_s=MOST_UNHEARD_S + 0.1, watched=True), HoldOutcome.SILENT),
    ],
)
def test_no_gate_is_made_that_might_stay(readiness: Readiness, why: HoldOutcome) -> None:
    assert outcome(readiness=readiness) is why


def test_whose_task_the_controller_does_not_order_starts_at_once() -> None:
    assert outcome(state=replace(STATE, ordered=frozenset())) is HoldOutcome.UNKNOWN


def test_a_later_attempt_starts_at_once() -> None:
    pod = OF_A_JOB.annotated(
        {
            "batch.kubernetes.io/job-completion-index": "0",
            "batch.kubernetes.io/job-index-failure-count": "1",
        }
    )
    assert outcome(pod) is HoldOutcome.LATER


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param({}, id="nobody asked"),
        pytest.param({"order": Order.ENFORCE, "mode": Mode.OFF}, id="it is off"),
        pytest.param({"order": Order.ENFORCE, "paused": True}, id="it is paused"),
    ],
)
def test_where_nobody_asks_for_it_no_pod_waits(policy: dict[str, Any]) -> None:
    state = replace(STATE, tasks={TRAIN: knowledge_of(**policy)})
    assert held(state=state) is None


def test_who_is_held_already_is_not_held_twice() -> None:
    gate = [{"name": labels.ORDER_GATE}]
    assert held(POD.with_spec(schedulingGates=gate)) is None
