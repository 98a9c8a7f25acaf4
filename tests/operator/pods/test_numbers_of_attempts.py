"""How often a run is tried: what Jobs, engines, people and restart policies say."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.attempts import attempts_of
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.job_attempts import attempts_of_job
from plimsoll_predictor.core.policy import Policy, Retry
from tests.builders.engines.job_patches import patch_for_job
from tests.builders.pods import APod, a_pod

POLICY = Policy(max_lifts=3)
AIRFLOW = a_pod().with_labels({"dag_id": "etl", "task_id": "load", "run_id": "monday"})


def of_a_jobset(**jobs: str) -> APod:
    """A pod of a Job that tries seven times. jobs: what JobSet's labels say of its other Jobs."""
    its = {"jobset_name": "train", "replicatedjob_name": "workers", **jobs}
    names = {f"jobset.sigs.k8s.io/{key.replace('_', '-')}": value for key, value in its.items()}
    return a_pod().owned_by_job(attempts=7).with_labels(names)


def argo(node: str, template: dict[str, Any] | None = None) -> APod:
    pod = a_pod().with_labels({"workflows.argoproj.io/workflow": "etl-x7k2p"})
    pod = pod.annotated({"workflows.argoproj.io/node-name": node})
    text = json.dumps({"name": "load", **(template or {})})
    return pod.with_environment({"ARGO_TEMPLATE": text})


def to_risk(pod: APod, policy: Policy = POLICY, lifted: int = 1) -> int | None:
    body = pod.built()
    identity = identify(body)
    assert identity is not None
    return attempts_of(body, identity, policy, lifted).to_risk


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(a_pod(), 3, id="Plimsoll retries a bare pod as often as it lifts"),
        pytest.param(
            a_pod().annotated({labels.ATTEMPTS: "1"}), 0, id="unless its author says one attempt"
        ),
        pytest.param(a_pod().annotated({labels.ATTEMPTS: "2"}), 1, id="or two"),
        pytest.param(a_pod().annotated({labels.ATTEMPTS: "9"}), 3, id="but no more than it lifts"),
        pytest.param(a_pod().annotated({labels.ATTEMPTS: "one"}), 3, id="and no number is none"),
        pytest.param(a_pod().restarting("OnFailure"), 0, id="restarted in place"),
        pytest.param(a_pod().restarting("Always"), 0, id="restarted in place, always"),
        pytest.param(
            a_pod().restarting("Always").annotated({labels.ATTEMPTS: "9"}),
            0,
            id="restarted in place, whatever its author says",
        ),
        pytest.param(a_pod().owned_by_job(attempts=1), 0, id="backoffLimit 0"),
        pytest.param(a_pod().owned_by_job(attempts=2), 0, id="backoffLimit 1 is for evictions"),
        pytest.param(a_pod().owned_by_job(attempts=3), 1, id="backoffLimit 2"),
        pytest.param(a_pod().owned_by_job(attempts=7), 3, id="more than lifts help"),
        pytest.param(
            a_pod().restarting("OnFailure").owned_by_job(attempts=6), 2, id="OnFailure, the default"
        ),
        pytest.param(
            a_pod().restarting("OnFailure").owned_by_job(attempts=4),
            0,
            id="OnFailure, no more than its restarts while the controller is away",
        ),
        pytest.param(a_pod().owned_by_job(attempts=None), None, id="a Job nobody saw"),
        pytest.param(of_a_jobset(global_replicas="1"), 3, id="a JobSet's only Job"),
        pytest.param(of_a_jobset(global_replicas="2"), 0, id="another Job may fail with it"),
        pytest.param(of_a_jobset(replicatedjob_replicas="2"), 0, id="so it is in an old JobSet"),
        pytest.param(of_a_jobset(job_global_index="1"), 0, id="or it has another Job before it"),
        pytest.param(
            of_a_jobset(replicatedjob_replicas="1", job_global_index="0"),
            3,
            id="an old JobSet that shows no other Job",
        ),
        pytest.param(of_a_jobset(global_replicas="many"), 3, id="nonsense is no other Job"),
        pytest.param(
            of_a_jobset(global_replicas="2").annotated({labels.ATTEMPTS: "3"}),
            1,
            id="people say how often a JobSet of several Jobs bears a failure",
        ),
        pytest.param(
            of_a_jobset(global_replicas="2").annotated({labels.ATTEMPTS: "1"}), 0, id="or never"
        ),
        pytest.param(
            a_pod().with_spec(activeDeadlineSeconds=3600), 0, id="a bare pod with a deadline"
        ),
        pytest.param(
            a_pod().owned_by_job(attempts=7).with_spec(activeDeadlineSeconds=3600),
            0,
            id="a Job's pod with a deadline",
        ),
        pytest.param(
            a_pod().with_labels({"kueue.x-k8s.io/max-exec-time-seconds": "600"}),
            0,
            id="a bare pod with a deadline that Kueue keeps",
        ),
        pytest.param(
            AIRFLOW.with_labels({"max_tries": "2"}).annotated({labels.JOB_DEADLINE: "true"}),
            0,
            id="a pod of an engine's Job with a deadline",
        ),
        pytest.param(
            a_pod().with_container("own", restartPolicy="OnFailure"), 0, id="a container's own"
        ),
        pytest.param(
            argo("e(0)", {"retryStrategy": {"limit": 5, "backoff": {"maxDuration": "1h"}}}),
            0,
            id="Argo cuts later attempts off",
        ),
        pytest.param(AIRFLOW, None, id="Airflow does not say it"),
        pytest.param(AIRFLOW.with_labels({"max_tries": "0"}), 0, id="Airflow without retries"),
        pytest.param(AIRFLOW.with_labels({"max_tries": "2"}), 1, id="Airflow with two"),
        pytest.param(
            AIRFLOW.with_labels({"max_tries": "2", "try_number": "3"}), 0, id="Airflow's last try"
        ),
        pytest.param(AIRFLOW.with_labels({"max_tries": "many"}), None, id="no number"),
        pytest.param(AIRFLOW.annotated({labels.ATTEMPTS: "3"}), 1, id="its author says it"),
        pytest.param(
            AIRFLOW.with_labels({"max_tries": "0"}).annotated({labels.ATTEMPTS: "3"}),
            0,
            id="its author says more than Airflow makes",
        ),
        pytest.param(
            argo("e(0)[0].load").annotated({labels.ATTEMPTS: "3"}),
            0,
            id="Argo repeats the step around it, and each is another node",
        ),
        pytest.param(AIRFLOW.annotated({labels.ATTEMPTS: "1"}), 0, id="its author says one"),
        pytest.param(AIRFLOW.annotated({labels.ATTEMPTS: "0"}), None, id="nonsense is nothing"),
        pytest.param(AIRFLOW.annotated({labels.ATTEMPTS: "-2"}), None, id="so is a negative one"),
        pytest.param(AIRFLOW.annotated({labels.ATTEMPTS: "9" * 400}), None, id="and a long one"),
        pytest.param(argo("etl.load"), 0, id="Argo without a retryStrategy"),
        pytest.param(
            argo("etl.load(0)", {"retryStrategy": {"limit": "2"}}), 1, id="Argo's first of three"
        ),
        pytest.param(
            argo("etl.load(1)", {"retryStrategy": {"limit": 2}}), 0, id="Argo's second of three"
        ),
        pytest.param(
            argo("etl.load(0)", {"retryStrategy": {"limit": 2, "retryPolicy": "OnError"}}),
            0,
            id="Argo retries errors, and a kill is a failure",
        ),
        pytest.param(
            argo("etl.load(0)", {"retryStrategy": {"limit": 2, "expression": "false"}}),
            None,
            id="Argo decides by an expression",
        ),
        pytest.param(argo("etl.load(0)"), None, id="Argo's strategy is the workflow's"),
        pytest.param(
            a_pod().owned_by("PyTorchJob", "train", version="kubeflow.org/v1"),
            None,
            id="an owner that nobody knows",
        ),
    ],
)
def test_what_a_pod_says(pod: APod, expected: int | None) -> None:
    assert to_risk(pod) == expected


def test_a_job_of_several_makes_its_attempts_though_none_is_risked() -> None:
    """So whoever was killed at what was written is lifted, and what was lowered is given back."""
    body = of_a_jobset(global_replicas="2").built()
    identity = identify(body)
    assert identity is not None
    found = attempts_of(body, identity, POLICY)
    assert (found.most, found.left, found.to_risk) == (7, 6, 0)


def test_a_policy_says_it_for_engines() -> None:
    assert to_risk(AIRFLOW, replace(POLICY, attempts=3)) == 1


def test_a_policy_for_engines_is_none_for_jobs() -> None:
    assert to_risk(a_pod().owned_by_job(attempts=None), replace(POLICY, attempts=3)) is None
    assert to_risk(a_pod().owned_by_job(attempts=1), replace(POLICY, attempts=3)) == 0


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        pytest.param({"spark-role": "driver", "spark-app-id": "s"}, 1, id="Spark's driver"),
        pytest.param({"spark-role": "executor", "spark-app-id": "s"}, None, id="its executors"),
        pytest.param({"ray.io/cluster": "r", "ray.io/group": "headgroup"}, 1, id="Ray's head"),
        pytest.param({"ray.io/cluster": "r", "ray.io/group": "cpu"}, None, id="its workers"),
    ],
)
def test_a_policy_is_none_for_pods_whose_work_goes_to_others_of_their_size(
    marks: dict[str, str], expected: int | None
) -> None:
    pod = a_pod().with_labels(marks)
    assert to_risk(pod, replace(POLICY, attempts=3)) == expected
    assert to_risk(pod.annotated({labels.ATTEMPTS: "3"})) == 1, "people say it on the pods"


def test_a_pod_that_says_never_to_retry_has_one_attempt() -> None:
    assert to_risk(a_pod(), replace(POLICY, retry=Retry.NEVER)) == 0


def test_without_lifts_no_attempt_helps() -> None:
    assert to_risk(a_pod().owned_by_job(attempts=7), replace(POLICY, max_lifts=0)) == 0


def test_lifts_count_the_attempts_where_the_engine_does_not() -> None:
    assert to_risk(a_pod().owned_by_job(attempts=3), lifted=3) == 0


def a_job(restarts: str = "Never", **spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {labels.TASK: "train"}},
        "spec": {"restartPolicy": restarts, "containers": [{"name": "main"}]},
    }
    return {"kind": "Job", "spec": {"template": template, **spec}}


def ending(action: str, operator: str, *codes: int) -> dict[str, Any]:
    on_exit = {"operator": operator, "values": list(codes)}
    return {"podFailurePolicy": {"rules": [{"action": action, "onExitCodes": on_exit}]}}


def when(action: str, condition: str) -> dict[str, Any]:
    """A podFailurePolicy with one rule for pods with a condition."""
    rule = {"action": action, "onPodConditions": [{"type": condition, "status": "True"}]}
    return {"podFailurePolicy": {"rules": [rule]}}


@pytest.mark.parametrize(
    ("job", "attempts"),
    [
        pytest.param(a_job(), 7, id="Kubernetes' default"),
        pytest.param(a_job(backoffLimit=0), 1, id="no second attempt"),
        pytest.param(a_job(backoffLimit=1), 2, id="one more"),
        pytest.param(a_job(backoffLimit=2, parallelism=8, completions=8), 1, id="eight share two"),
        pytest.param(a_job(backoffLimit=8, parallelism=8, completions=8), 2, id="8 share 8"),
        pytest.param(a_job(backoffLimit=2, parallelism=8, completions=1), 3, id="one of eight"),
        pytest.param(a_job(backoffLimit=6, completions=90), 1, id="90, one after the other"),
        pytest.param(a_job(backoffLimit=6, parallelism=2, completions=3), 3, id="three share six"),
        pytest.param(a_job(backoffLimit=6, parallelism=3), 1, id="three workers of a queue"),
        pytest.param(a_job(backoffLimit=6, parallelism=0), 1, id="any number may share them later"),
        pytest.param(
            a_job(backoffLimit=2, parallelism=0, completions=1), 3, id="held back, but one"
        ),
        pytest.param(
            a_job(backoffLimitPerIndex=0, completions=90, parallelism=90), 1, id="none an index"
        ),
        pytest.param(
            a_job(backoffLimitPerIndex=1, completions=90, parallelism=90), 2, id="one an index"
        ),
        pytest.param(a_job(backoffLimit=6, activeDeadlineSeconds=60), 1, id="a deadline"),
        pytest.param(a_job("OnFailure", backoffLimit=1), 1, id="its restart is the only one"),
        pytest.param(a_job("OnFailure", backoffLimit=2), 2, id="a restart, then a new pod"),
        pytest.param(a_job(**ending("FailJob", "In", 137)), 1, id="a kill ends the Job"),
        pytest.param(a_job(**ending("FailIndex", "In", 42, 3)), 1, id="a JVM's end ends the index"),
        pytest.param(a_job(**ending("FailJob", "NotIn", 0, 42)), 1, id="all but these end it"),
        pytest.param(a_job(**ending("FailJob", "In", 42)), 1, id="any code ends it"),
        pytest.param(a_job(**when("FailJob", "DisruptionTarget")), 1, id="an eviction ends it"),
        pytest.param(a_job(**when("FailIndex", "DisruptionTarget")), 1, id="or the index"),
        pytest.param(a_job(**when("Ignore", "DisruptionTarget")), 7, id="evictions do not count"),
        pytest.param(a_job(**when("FailJob", "ConfigIssue")), 7, id="no size causes this end"),
        pytest.param(
            a_job(backoffLimitPerIndex=3, backoffLimit=3, completions=10), 1, id="both limits hold"
        ),
        pytest.param(
            a_job(backoffLimitPerIndex=3, backoffLimit=2147483647, completions=10),
            4,
            id="as the API server writes it",
        ),
        pytest.param(a_job(**ending("Count", "In", 137)), 7, id="a kill is counted"),
        pytest.param(a_job(backoffLimit=10**12), 1000, id="a large number"),
        pytest.param(a_job(backoffLimit="many"), 7, id="nonsense, which the API server refuses"),
        pytest.param({"spec": None}, 7, id="nothing"),
    ],
)
def test_how_often_a_job_surely_tries_a_run(job: dict[str, Any], attempts: int) -> None:
    assert attempts_of_job(job) == attempts


def test_the_number_is_written_beside_what_is_on_the_template() -> None:
    job = a_job(backoffLimit=1)
    job["spec"]["template"]["metadata"]["annotations"] = {"a": "b"}
    path = "/spec/template/metadata/annotations/plimsoll.dev~1job-attempts"
    assert patch_for_job(job) == [{"op": "add", "path": path, "value": "2"}]
    job["spec"]["template"]["metadata"]["annotations"][labels.JOB_ATTEMPTS] = "2"
    assert patch_for_job(job) == []


def test_a_job_whose_annotations_leave_no_room_is_left_alone() -> None:
    job = a_job()
    full = {"a": "b" * (labels.MAX_ALL_ANNOTATIONS_BYTES - 1)}
    job["spec"]["template"]["metadata"]["annotations"] = full
    assert patch_for_job(job) == []
    room = len(labels.JOB_ATTEMPTS) + 1
    full["a"] = full["a"][room:]
    assert [operation["value"] for operation in patch_for_job(job)] == ["7"]


def test_a_job_of_no_task_is_left_alone() -> None:
    job = a_job()
    job["spec"]["template"]["metadata"]["labels"] = {}
    assert patch_for_job(job) == []
