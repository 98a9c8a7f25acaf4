"""Jobs in all shapes: whose run a pod is, who tries it again, and how often that is sure."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.attempts import attempts_of
from plimsoll_operator.pods.identity import INDEX_FAILURES, Retrier, RunIdentity, identify
from plimsoll_operator.pods.job_attempts import attempts_of_job
from plimsoll_predictor.core.policy import Policy
from tests.builders.engines.job_patches import patch_for_job, patch_for_unlabelled_job
from tests.builders.pods import JOB_UID, APod, a_pod

FAIL_AT_42 = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
IGNORE_EVICTIONS = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}
INDEXED: dict[str, Any] = {"completionMode": "Indexed", "completions": 4, "parallelism": 4}


def a_job(restart: str = "Never", **spec: Any) -> dict[str, Any]:
    return {"spec": {**spec, "template": {"spec": {"restartPolicy": restart}}}}


def identified(pod: APod) -> RunIdentity:
    found = identify(pod.built())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("job", "attempts"),
    [
        pytest.param(a_job(), 7, id="the default, six more"),
        pytest.param(a_job(backoffLimit=0), 1, id="none more"),
        pytest.param(a_job(backoffLimit=2), 3, id="two more"),
        pytest.param(a_job("OnFailure", backoffLimit=2), 2, id="one is the kubelet's own"),
        pytest.param(a_job(**INDEXED, backoffLimit=6), 2, id="four indexes share six"),
        pytest.param(a_job(**INDEXED, backoffLimit=3), 1, id="four indexes share three"),
        pytest.param(a_job(**INDEXED, backoffLimitPerIndex=2), 3, id="each index has two"),
        pytest.param(
            a_job(**INDEXED, backoffLimitPerIndex=2, maxFailedIndexes=0), 3, id="none may fail"
        ),
        pytest.param(
            a_job(**INDEXED, backoffLimitPerIndex=3, backoffLimit=4), 2, id="both limits hold"
        ),
        pytest.param(a_job(**INDEXED, backoffLimitPerIndex=0), 1, id="each index has none"),
        pytest.param(
            a_job(parallelism=3, backoffLimit=6), 1, id="a queue's workers: none after a success"
        ),
        pytest.param(a_job(parallelism=1, backoffLimit=6), 7, id="a queue's only worker"),
        pytest.param(a_job(completions=3, backoffLimit=6), 3, id="three, one after the other"),
        pytest.param(
            a_job(**INDEXED, backoffLimit=8, successPolicy={"rules": [{"succeededIndexes": "0"}]}),
            3,
            id="a leader's success is enough, but any failure counts",
        ),
        pytest.param(
            a_job(**INDEXED, backoffLimit=8, successPolicy={"rules": [{"succeededCount": 1}]}),
            3,
            id="so it is with any one's",
        ),
        pytest.param(a_job(backoffLimit=2, suspend=True), 3, id="suspended at first"),
        pytest.param(a_job(backoffLimit=2, ttlSecondsAfterFinished=0), 3, id="gone once done"),
        pytest.param(a_job(backoffLimit=2, podReplacementPolicy="Failed"), 3, id="no overlap"),
        pytest.param(
            a_job("OnFailure", podReplacementPolicy="Failed"),
            1,
            id="no overlap, and a pod that restarts in place could be counted as a success",
        ),
        pytest.param(
            a_job("OnFailure", podReplacementPolicy="TerminatingOrFailed"),
            6,
            id="the default, by which its deletion is counted",
        ),
        pytest.param(a_job(backoffLimit=2, activeDeadlineSeconds=60), 1, id="a deadline"),
        pytest.param(
            a_job(backoffLimit=2, podFailurePolicy={"rules": [IGNORE_EVICTIONS]}), 3, id="evictions"
        ),
        pytest.param(
            a_job(backoffLimit=2, podFailurePolicy={"rules": [IGNORE_EVICTIONS, FAIL_AT_42]}),
            1,
            id="a code that ends the Job",
        ),
    ],
)
def test_how_often_a_run_is_surely_tried(job: dict[str, Any], attempts: int) -> None:
    assert attempts_of_job(job) == attempts


def test_a_deadline_that_kueue_keeps_counts_as_the_jobs_own() -> None:
    job = {**a_job(), "metadata": {"labels": {"kueue.x-k8s.io/max-exec-time-seconds": "600"}}}
    assert attempts_of_job(job) == 1


def test_an_index_is_a_run_and_each_of_its_pods_an_attempt() -> None:
    first, again = (
        a_pod().named(f"train-3-{ending}", uid=ending).owned_by_job(index=3) for ending in "ab"
    )
    assert identified(first).run == identified(again).run == f"job:{JOB_UID}:3"
    assert identified(a_pod().owned_by_job(index=4)).run == f"job:{JOB_UID}:4"
    assert identified(first).retrier is Retrier.JOB


@pytest.mark.parametrize(
    ("failures", "number", "left"),
    [
        pytest.param(None, 1, 3, id="the first"),
        pytest.param("0", 1, 3, id="by its Job's count, too"),
        pytest.param("2", 3, 1, id="two failed before, of whatever"),
        pytest.param("3", 4, 0, id="the last one"),
        pytest.param("many", 1, 3, id="no number"),
        pytest.param("-1", 1, 3, id="nor is this"),
        pytest.param("9" * 400, 1, 3, id="nor one of any length"),
    ],
)
def test_a_jobs_own_count_says_how_many_attempts_of_an_index_are_left(
    failures: str | None, number: int, left: int
) -> None:
    pod = a_pod().owned_by_job(index=3, attempts=4)
    if failures is not None:
        pod = pod.annotated({INDEX_FAILURES: failures})
    found = attempts_of(pod.built(), identified(pod), Policy())
    assert (found.number, found.left) == (number, left)


def test_that_count_on_any_other_pod_says_nothing() -> None:
    pod = a_pod().annotated({INDEX_FAILURES: "3"})
    assert identified(pod).attempt == 1


def test_the_nights_of_a_cronjob_are_runs_of_one_task() -> None:
    nights = [
        identified(a_pod().labelled("auto").owned_by("Job", f"nightly-{minute}", uid=str(minute),
                                                     version="batch/v1"))
        for minute in (29_391_200, 29_392_640)
    ]  # fmt: skip
    assert {night.task.name for night in nights} == {"nightly"}
    assert len({night.run for night in nights}) == len(nights)
    assert {night.retrier for night in nights} == {Retrier.JOB}


@pytest.mark.parametrize("hook", ["helm.sh/hook", "argocd.argoproj.io/hook"])
def test_a_step_of_an_installation_promises_no_second_attempt_unless_its_author_labels_it(
    hook: str,
) -> None:
    job: dict[str, Any] = {
        "metadata": {"name": "migrate", "annotations": {hook: "pre-upgrade"}},
        "spec": {"template": {"metadata": {}, "spec": {"restartPolicy": "Never"}}},
    }
    assert patch_for_unlabelled_job(job) == []
    assert patch_for_unlabelled_job({**job, "metadata": {"name": "report"}}) != []
    job["spec"]["template"]["metadata"] = {"labels": {labels.TASK: "migrate"}}
    assert patch_for_job(job) != []


def test_a_job_whose_creation_nobody_saw_promises_nothing() -> None:
    pod = a_pod().owned_by_job(attempts=None)
    found = attempts_of(pod.built(), identified(pod), Policy())
    assert found.left is None
    assert labels.ATTEMPTS in found.by
