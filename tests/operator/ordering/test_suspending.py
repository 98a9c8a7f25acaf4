"""Which new Jobs wait suspended, and which start whatever the policy says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.ordering.holding import MOST_UNHEARD_S, HoldOutcome, Readiness
from plimsoll_operator.ordering.suspended_jobs import waits_for_turn
from plimsoll_operator.ordering.suspending import Suspension, suspension_of
from plimsoll_operator.sizing.job_sizing import Moment
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import JobsWait, Mode, Order
from tests.builders.engines.marks import MARKS
from tests.builders.kubernetes.gate_servers import a_job
from tests.builders.pods import APod, a_pod
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of

READY = Readiness(age_s=1.0, watched=True)
WANTED: dict[str, Any] = {"order": Order.ENFORCE, "jobs_wait": JobsWait.SUSPENDED}
STATE = AdmissionState(
    tasks={TRAIN: knowledge_of(**WANTED)}, ordered=frozenset({str(TRAIN)}), orders_jobs=True
)
POD = a_pod().labelled("train").asking("2Gi")
Job = dict[str, Any]


def of(job: Job, state: AdmissionState = STATE, readiness: Readiness = READY) -> Suspension | None:
    return suspension_of(job, Moment(state, "shop"), readiness)


def why(job: Job, **changed: Any) -> HoldOutcome | None:
    suspension = of(job, **changed)
    return None if suspension is None else suspension.outcome


def with_metadata(**metadata: Any) -> Job:
    job = a_job("train", pod=POD)
    job["metadata"].update(metadata)
    return job


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_job("train", pod=POD), id="a plain Job"),
        pytest.param(a_job("train", pod=POD, suspend=False), id="whose author says it starts"),
        pytest.param(a_job("train", pod=POD, activeDeadlineSeconds=60), id="with a deadline"),
        pytest.param(
            a_job("train", pod=POD, completionMode="Indexed", completions=4, parallelism=4),
            id="whose indexes run side by side",
        ),
        pytest.param(with_metadata(labels={"team": "a"}, annotations={"b": "c"}), id="with labels"),
    ],
)
def test_who_waits(job: Job) -> None:
    suspension = of(job)
    assert suspension is not None
    assert suspension.outcome is HoldOutcome.HELD
    assert waits_for_turn(APod(job).patched(suspension.patch).built())
    # Its pods are neither held again nor taken for pods without an order.
    assert suspension.notes[labels.MAY_WAIT] == "false"
    assert labels.HELD in suspension.notes


OWNER = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "controller": True}


@pytest.mark.parametrize(
    ("job", "outcome"),
    [
        (a_job("train", pod=POD, suspend=True), HoldOutcome.CHOSEN),
        (a_job("train", pod=POD, parallelism=0), HoldOutcome.CHOSEN),
        (a_job("train", pod=POD.with_spec(nodeSelector={"pool": "gpu"})), HoldOutcome.CHOSEN),
        (a_job("train", pod=POD.with_spec(schedulingGates=[{"name": "a/b"}])), HoldOutcome.CHOSEN),
        (with_metadata(labels={"kueue.x-k8s.io/queue-name": "team"}), HoldOutcome.GROUPED),
        (with_metadata(annotations={"kueue.x-k8s.io/queue-name": "team"}), HoldOutcome.GROUPED),
        (a_job("train", pod=POD.with_labels({"jobset.sigs.k8s.io/x": "y"})), HoldOutcome.GROUPED),
        (with_metadata(ownerReferences=[OWNER]), HoldOutcome.MADE),
        (with_metadata(annotations={"helm.sh/hook": "pre-install"}), HoldOutcome.MADE),
        (a_job("train", pod=POD, managedBy="kueue.x-k8s.io/multikueue"), HoldOutcome.MADE),
        # Terraform deletes a Job with another template than its plan's, and its pods with it.
        (with_metadata(managedFields=[{"manager": "HashiCorp"}]), HoldOutcome.MADE),
        (with_metadata(annotations={"large": "x" * 250_000}), HoldOutcome.NO_ROOM),
    ],
)
def test_who_starts_at_once(job: Job, outcome: HoldOutcome) -> None:
    suspension = of(job)
    assert suspension is not None
    assert (suspension.outcome, suspension.patch) == (outcome, [])


@pytest.mark.parametrize("engine", MARKS)
def test_an_engines_job_starts_at_once(engine: str) -> None:
    assert why(a_job("train", pod=POD.with_labels(MARKS[engine]))) is HoldOutcome.MADE


@pytest.mark.parametrize(
    ("readiness", "outcome"),
    [
        (Readiness(age_s=1.0, watched=False), HoldOutcome.UNWATCHED),
        (Readiness(age_s=None, watched=True), HoldOutcome.SILENT),
        (Readiness(age_s=MOST_UNHEARD_S + 0.1, watched=True), HoldOutcome.SILENT),
    ],
)
def test_no_job_is_suspended_that_might_stay_so(readiness: Readiness, outcome: HoldOutcome) -> None:
    assert why(a_job("train", pod=POD), readiness=readiness) is outcome


@pytest.mark.parametrize("changed", [{"ordered": frozenset()}, {"orders_jobs": False}])
def test_none_is_suspended_that_the_controller_would_not_resume(changed: dict[str, Any]) -> None:
    assert why(a_job("train", pod=POD), state=replace(STATE, **changed)) is HoldOutcome.UNKNOWN


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param({}, id="nobody asked"),
        pytest.param({**WANTED, "jobs_wait": JobsWait.GATED}, id="its pods wait one by one"),
        pytest.param({**WANTED, "order": Order.NEVER}, id="there is no order"),
        pytest.param({**WANTED, "mode": Mode.OFF}, id="it is off"),
        pytest.param({**WANTED, "paused": True}, id="it is paused"),
    ],
)
def test_where_nobody_asks_for_it_no_job_is_touched(policy: dict[str, Any]) -> None:
    state = replace(STATE, tasks={TRAIN: knowledge_of(**policy)})
    assert of(a_job("train", pod=POD), state=state) is None
    assert of(a_job("train", pod=POD), state=replace(STATE, paused=True)) is None


def test_who_is_asked_for_again_stays_as_it_is() -> None:
    job = a_job("train", pod=POD)
    first = of(job)
    assert first is not None
    assert of(APod(job).patched(first.patch).built()) is None


@pytest.mark.parametrize(
    ("held", "queued", "suspended"),
    [
        pytest.param(True, False, False, id="nobody else would ever resume it"),
        pytest.param(True, True, True, id="a queue's"),
        pytest.param(False, False, True, id="without Plimsoll's note it is its author's"),
    ],
)
def test_a_copy_of_a_job_that_waited_starts(*, held: bool, queued: bool, suspended: bool) -> None:
    marks = {labels.WAITS: "true", **({"kueue.x-k8s.io/queue-name": "q"} if queued else {})}
    copied = a_job("train", pod=POD, labels=marks, suspend=True)
    if held:
        copied["metadata"]["annotations"] = {labels.HELD: "{}"}
    fields: dict[str, Any] = {"f:metadata": {"f:labels": {f"f:{labels.WAITS}": {}}}}
    copied["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": fields}]
    suspension = of(copied)
    assert suspension is not None
    after = APod(copied).patched(suspension.patch).built()
    assert after["spec"]["suspend"] is suspended
    assert not waits_for_turn(after)
