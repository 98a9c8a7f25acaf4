"""Whose attempt a pod is: its task, its run, and who retries it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.identity import Reach, Retrier, RunIdentity, identify
from plimsoll_predictor.core.task import TaskId
from tests.builders.pods import JOB_UID, POD_UID, APod, a_pod

AUTO = a_pod().labelled("auto")
AIRFLOW = AUTO.with_labels(
    {
        "dag_id": "nightly",
        "task_id": "train",
        "run_id": "scheduled__2026-11-20T0000000000-7a51b2c",
        "try_number": "1",
        "kubernetes_pod_operator": "True",
        "airflow_version": "3.3.2",
    }
)
ARGO = (
    AUTO.named("etl-x7k2p-join-1234567890")
    .with_labels({"workflows.argoproj.io/workflow": "etl-x7k2p"})
    .owned_by("Workflow", "etl-x7k2p", uid="wf-uid", version="argoproj.io/v1alpha1")
)
SPARK = AUTO.with_labels(
    {
        "spark-role": "executor",
        "spark-app-selector": "spark-3fd1",
        "spark-app-name": "daily-report",
        "spark-exec-id": "4",
    }
)


def test_the_label_names_the_task() -> None:
    found = identified(a_pod().labelled("train-demand").in_namespace("shop"))
    assert found.task == TaskId("shop", "train-demand")


def test_what_the_author_wrote_for_a_namespace_does_not_count_against_the_review() -> None:
    found = identify(a_pod().in_namespace("shop").built(), "evil")
    assert found is not None
    assert found.task.namespace == "evil"


def test_at_admission_the_review_says_the_namespace() -> None:
    found = identify(a_pod().in_namespace(None).built(), "shop")
    assert found is not None
    assert found.task == TaskId("shop", "train")


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod().unlabelled(), id="no labels"),
        pytest.param(a_pod().labelled(""), id="an empty label"),
        pytest.param(a_pod().labelled("a/b"), id="a slash"),
        pytest.param(a_pod().labelled("x" * 254), id="too long"),
        pytest.param(a_pod().in_namespace(None), id="no namespace"),
    ],
)
def test_a_pod_that_names_no_task_is_not_ours(pod: APod) -> None:
    assert identify(pod.built()) is None


@pytest.mark.parametrize("labels_", [{labels.TASK: 3}, {labels.TASK: None}, ["x"], "x", None])
def test_labels_of_any_shape_raise_nothing(labels_: Any) -> None:
    pod = a_pod().built()
    pod["metadata"]["labels"] = labels_
    assert identify(pod) is None


def test_a_bare_pods_run_is_its_uid_once_it_has_one() -> None:
    assert identified(a_pod()).run is None
    assert identified(a_pod().named("train-1")).run == f"pod:{POD_UID}"


def test_a_retry_by_plimsoll_belongs_to_the_run_of_the_first_pod() -> None:
    retry = a_pod().named("train-1-2", uid="second").annotated({labels.RUN_OF: "first"})
    assert identified(retry).run == "pod:first"


def test_all_pods_of_a_job_are_attempts_of_one_run() -> None:
    first = a_pod().named("job-a", uid="a").owned_by_job()
    second = a_pod().named("job-b", uid="b").owned_by_job()
    assert identified(first).run == identified(second).run == f"job:{JOB_UID}"


def test_each_index_of_a_job_is_a_run() -> None:
    assert identified(a_pod().owned_by_job(index=3)).run == f"job:{JOB_UID}:3"


def test_a_named_run_and_item_come_before_all_else() -> None:
    named = AIRFLOW.owned_by_job().annotated({labels.RUN: "wf-9", labels.ITEM: "sample-3"})
    assert identified(named).run == "run:wf-9/sample-3"


def test_run_and_item_may_be_labels() -> None:
    named = a_pod().with_labels({labels.RUN: "wf-9", labels.ITEM: "sample-3"})
    assert identified(named).run == "run:wf-9/sample-3"


def test_a_run_without_item_does_not_fold_a_jobs_pods_into_one() -> None:
    assert identified(a_pod().annotated({labels.RUN: "wf-9"})).run == "run:wf-9"
    job = a_pod().owned_by_job(index=1).annotated({labels.RUN: "wf-9"})
    assert identified(job).run == f"job:{JOB_UID}:1"


def test_an_item_without_run_says_nothing_of_the_run() -> None:
    assert identified(a_pod().annotated({labels.ITEM: "monday"})).run is None


def test_airflow_names_task_and_run() -> None:
    found = identified(AIRFLOW)
    assert found.task.name == "nightly.train"
    assert found.run == "airflow:nightly.train:scheduled__2026-11-20T0000000000-7a51b2c"
    assert found.retrier is Retrier.ENGINE


def test_airflows_next_try_is_the_same_run() -> None:
    second = identified(AIRFLOW.with_labels({"try_number": "2"}))
    assert (second.task, second.run) == (identified(AIRFLOW).task, identified(AIRFLOW).run)
    assert second.attempt == 2


def test_airflows_mapped_tasks_are_runs_of_their_own() -> None:
    runs = {identified(AIRFLOW.with_labels({"map_index": str(i)})).run for i in range(3)}
    assert len(runs) == 3


def test_airflow_with_a_label_of_ones_own_keeps_its_runs() -> None:
    found = identified(AIRFLOW.labelled("my-task"))
    assert found.task.name == "my-task"
    assert found.run == identified(AIRFLOW).run


def test_argo_names_the_template_from_its_environment() -> None:
    template = json.dumps({"name": "join-sales", "container": {}})
    found = identified(ARGO.with_environment({"ARGO_TEMPLATE": template}))
    assert found.task.name == "argo.etl.join-sales"


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "[" * 100_000, '{"name": 3}'])
def test_argo_with_a_broken_template_is_named_by_its_pod(text: str) -> None:
    assert identified(ARGO.with_environment({"ARGO_TEMPLATE": text})).task.name == "argo.etl.join"


def test_argos_retry_is_the_same_run_and_its_items_are_not() -> None:
    def of(node: str) -> str | None:
        return identified(ARGO.annotated({"workflows.argoproj.io/node-name": node})).run

    assert of("etl-x7k2p.join(0)") == of("etl-x7k2p.join(1)") == "argo:wf-uid:etl-x7k2p.join"
    assert of("etl-x7k2p.join(0:apples)") != of("etl-x7k2p.join(1:pears)")


def test_spark_tells_roles_apart_and_executors_together() -> None:
    executor = identified(SPARK)
    assert executor.task.name == "spark.daily-report.executor"
    assert identified(SPARK.with_labels({"spark-exec-id": "5"})) == executor
    driver = identified(SPARK.with_labels({"spark-role": "driver"}))
    assert driver.task.name == "spark.daily-report.driver"
    assert driver.run != executor.run


def a_driver(selector: str, application: str | None = None, **labels_: str) -> RunIdentity:
    """A submission's driver. application: the UID of the SparkApplication that it belongs to."""
    pod = SPARK.with_labels(
        {"spark-role": "driver", "spark-app-selector": selector, **labels_}
    ).named("daily-report-driver")
    if application is not None:
        version = "sparkoperator.k8s.io/v1beta2"
        pod = pod.owned_by("SparkApplication", "daily-report", uid=application, version=version)
    return identified(pod)


def test_each_submission_of_a_spark_application_is_an_attempt_of_one_run() -> None:
    first, second = a_driver("spark-3fd1", "app-uid"), a_driver("spark-77aa", "app-uid")
    assert first.run == second.run
    assert first.reach is Reach.RUN
    assert first.run != a_driver("spark-3fd1", "another-uid").run


def test_each_application_that_airflow_makes_for_a_task_is_an_attempt_of_one_run() -> None:
    night = {"dag_id": "etl", "task_id": "load", "run_id": "monday"}
    first = a_driver("spark-3fd1", "app-uid", **night)
    assert first.run == a_driver("spark-77aa", "another-uid", **night).run
    assert first.reach is Reach.RUN
    assert first.run != a_driver("spark-3fd1", "app-uid", **{**night, "run_id": "tuesday"}).run
    assert first.run != a_driver("spark-3fd1", "app-uid", **{**night, "map_index": "2"}).run


def test_the_driver_of_a_submission_is_not_known_again_by_the_next_one() -> None:
    assert a_driver("spark-3fd1").reach is Reach.POD
    without_run = a_driver("spark-3fd1", "app-uid", dag_id="etl", task_id="load")
    assert without_run.reach is Reach.POD, "Airflow makes the next application"


def test_an_executor_that_follows_a_lost_one_is_known_again() -> None:
    assert identified(SPARK.named("e-4").owned_by("Pod", "driver", version="v1")).reach is Reach.RUN


def test_nextflow_and_tekton_name_theirs() -> None:
    nextflow = AUTO.with_labels(
        {
            "nextflow.io/processName": "ALIGN",
            "nextflow.io/runName": "mad_curie",
            "nextflow.io/taskName": "ALIGN_sample1",
        }
    )
    assert identified(nextflow).task.name == "nextflow.ALIGN"
    assert identified(nextflow).run == "nextflow:mad_curie:ALIGN_sample1"
    tekton = AUTO.with_labels(
        {
            "tekton.dev/pipelineRun": "build-x7k2p",
            "tekton.dev/pipeline": "build",
            "tekton.dev/pipelineTask": "test",
        }
    )
    assert identified(tekton).task.name == "tekton.build.test"


def test_a_cronjobs_name_is_what_recurs() -> None:
    pod = AUTO.generated_from("report-28391234-").owned_by_job("report-28391234")
    assert identified(pod).task.name == "report"
    assert identified(pod).retrier is Retrier.JOB


def test_a_generated_jobs_name_is_what_recurs() -> None:
    assert identified(AUTO.owned_by_job("train-x7k2p")).task.name == "train"


def test_a_bare_generated_pod_is_named_by_its_prefix() -> None:
    assert identified(AUTO.generated_from("load-sales-")).task.name == "load-sales"


@pytest.mark.parametrize("name", ["3f2a9c1b7d", "28391234", "", "-"])
def test_a_task_is_never_named_by_what_was_generated(name: str) -> None:
    assert identify(AUTO.named(name).built()) is None


@pytest.mark.parametrize(
    ("pod", "retrier"),
    [
        pytest.param(a_pod().owned_by_job(), Retrier.JOB, id="a Job"),
        pytest.param(a_pod().owned_by_job().restarting("OnFailure"), Retrier.JOB, id="OnFailure"),
        pytest.param(AIRFLOW, Retrier.ENGINE, id="a bare pod of an engine"),
        pytest.param(AIRFLOW.owned_by_job(), Retrier.JOB, id="an engine's Job"),
        pytest.param(ARGO, Retrier.ENGINE, id="a Workflow's pod"),
        pytest.param(a_pod().owned_by("ReplicaSet", "web-1"), Retrier.OWNER, id="a ReplicaSet"),
        pytest.param(a_pod().restarting("Never"), Retrier.PLIMSOLL, id="bare, never restarted"),
        pytest.param(
            a_pod().owned_by("Report", "r", controls=False), Retrier.PLIMSOLL, id="owned, not ruled"
        ),
        pytest.param(a_pod().restarting("OnFailure"), Retrier.KUBELET, id="bare, OnFailure"),
        pytest.param(a_pod().restarting("Always"), Retrier.KUBELET, id="bare, Always"),
        pytest.param(a_pod().restarting("Sometimes"), Retrier.KUBELET, id="bare, unknown"),
    ],
)
def test_who_makes_the_next_attempt(pod: APod, retrier: Retrier) -> None:
    assert identified(pod).retrier is retrier


def identified(pod: APod) -> RunIdentity:
    found = identify(pod.built())
    assert found is not None
    return found
