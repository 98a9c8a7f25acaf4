"""Names of tasks: generated parts are removed, and two names that people wrote stay two."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.names.generated import recurring_name
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.recurring_names import TEMPLATE_HASH
from tests.builders.engines.job_patches import patch_for_job
from tests.builders.pods import APod, a_pod

AUTO = a_pod().labelled("auto")
WRITTEN = ("load-tpcds", "sync-https", "fetch-html5", "copy-rds52", "load-cafe2024", "etl-202611")


def named(pod: APod) -> str | None:
    found = identify(pod.built())
    return None if found is None else found.task.name


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("report-28391234", "report"),
        ("train-x7k2p", "train"),
        ("train-demand", "train-demand"),
        ("train-2024", "train-2024"),
        ("web-5d4f8c7b9-x7k2p", "web"),
        ("load-20261120-0300", "load"),
        ("load-1700000000000000000", "load"),
        ("backup-2026-11-24", "backup"),
        ("backup.2026.11.24", "backup"),
        ("backup-2026-11-24t03-00-00z", "backup"),
        ("backup-2026-11-24-0300-x7k2p", "backup"),
        ("2026-11-24", None),
        ("backup-2026-11", "backup-2026-11"),
        ("backup-2026-13-24", "backup-2026-13-24"),
        ("rows-1926-11-24", "rows-1926-11-24"),
        ("job-1b4e28ba-2fa1-11d2-883f-0016d3cca427", "job"),
        ("run-3deadbeef", "run"),
        ("step-facade", "step-facade"),
        ("train-2x2x4", "train-2x2x4"),
        ("train-4x4x4-x7k2p", "train-4x4x4"),
        ("simulate-64x64x64", "simulate-64x64x64"),
        ("render-1024x768", "render-1024x768"),
        ("eval-mixtral-8x22b", "eval-mixtral-8x22b"),
        ("train-4x4xb", "train"),
        ("train-x4x4x", "train"),
        ("x7k2p", None),
        ("123456", None),
        ("---", None),
        *((name, name) for name in WRITTEN),
    ],
)
def test_endings_that_nobody_writes_are_taken_off(name: str, kept: str | None) -> None:
    assert recurring_name(name) == kept


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(lambda name: AUTO.owned_by_job(name), id="a Job"),
        pytest.param(lambda name: AUTO.owned_by_job(f"{name}-29391234"), id="a CronJob"),
        pytest.param(lambda name: AUTO.named(name), id="a bare pod"),
        pytest.param(lambda name: AUTO.generated_from(f"{name}-"), id="a generated pod"),
        pytest.param(lambda name: AUTO.owned_by("StatefulSet", name), id="a StatefulSet"),
        pytest.param(lambda name: AUTO.owned_by("PyTorchJob", name), id="an unknown owner"),
        pytest.param(
            lambda name: AUTO.owned_by("ReplicaSet", f"{name}-5d4f8").labelled(
                **{TEMPLATE_HASH: "5d4f8"}
            ),
            id="a Deployment",
        ),
    ],
)
def test_a_name_that_ends_like_a_generated_one_stays_whole(name: str, pod: object) -> None:
    assert callable(pod)
    assert named(pod(name)) == name


@pytest.mark.parametrize("name", WRITTEN)
def test_so_does_what_an_engine_wrote(name: str) -> None:
    argo = AUTO.named(f"wf-x7k2p-{name}-1234567890")
    argo = argo.labelled(**{"workflows.argoproj.io/workflow": "wf-x7k2p"})
    assert named(argo) == f"argo.wf.{name}"
    run = {"tekton.dev/taskRun": f"{name}-x7k2p", "tekton.dev/task": name}
    assert named(AUTO.labelled(**run)) == f"tekton.{name}"


@pytest.mark.parametrize(
    ("prefix", "task"),
    [
        ("train-4x4x4-", "train-4x4x4"),
        ("day-20261124-", "day"),
        ("t-3f2a9c1b-", "t"),
        ("3f2a9c1b7d-", None),
        ("28391234-", None),
    ],
)
def test_a_date_or_a_hash_before_a_generated_ending_is_taken_off_and_dimensions_are_not(
    prefix: str, task: str | None
) -> None:
    assert named(AUTO.generated_from(prefix)) == task


@pytest.mark.parametrize("kind", ["Job", "StatefulSet", "ReplicaSet", "PyTorchJob"])
def test_a_name_that_no_object_can_have_names_no_task(kind: str) -> None:
    long = "x7k2p-" * 100_000
    assert named(AUTO.owned_by(kind, long, version="batch/v1")) is None
    assert named(AUTO.generated_from(long)) is None


def test_names_of_people_and_engines_are_not_read_as_generated() -> None:
    spark = AUTO.labelled(
        **{"spark-role": "executor", "spark-app-selector": "s", "spark-app-name": "load-sales"}
    )
    assert named(spark) == "spark.load-sales.executor"
    tekton = {
        "tekton.dev/pipelineRun": "nightly-x7k2p",
        "tekton.dev/pipeline": "sync-https",
        "tekton.dev/pipelineTask": "fetch-html5",
    }
    assert named(AUTO.labelled(**tekton)) == "tekton.sync-https.fetch-html5"


def test_a_pipeline_that_was_written_into_its_run_is_named_without_the_runs_ending() -> None:
    tekton = {
        "tekton.dev/pipelineRun": "nightly-x7k2p",
        "tekton.dev/pipeline": "nightly-x7k2p",
        "tekton.dev/pipelineTask": "sync-https",
    }
    assert named(AUTO.labelled(**tekton)) == "tekton.nightly.sync-https"


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        pytest.param(("StatefulSet", "cache-x7k2p"), "cache-x7k2p", id="it lives on"),
        pytest.param(("CronJob's Job", "cache-x7k2p-29391234"), "cache-x7k2p", id="so does it"),
        pytest.param(("Job", "cache-x7k2p"), "cache", id="a Job does not"),
        pytest.param(("Job", "report-20261120"), "report", id="a Job of a day"),
        pytest.param(("PyTorchJob", "bert-x7k2p"), "bert", id="nor does an unknown owner"),
    ],
)
def test_only_what_lives_as_long_as_its_task_may_have_any_name(
    owner: tuple[str, str], name: str
) -> None:
    kind = owner[0].split()[-1]
    assert named(AUTO.owned_by(kind, owner[1], version="batch/v1")) == name


def a_jobs_pod(template: dict[str, Any], name: str) -> APod:
    """A pod that the Job's controller makes of the template that admission has seen."""
    job = {"metadata": {"generateName": "load-tpcds-"}, "spec": {"template": template}}
    patched = jsonpatch.apply_patch(job, patch_for_job(job))["spec"]["template"]
    return AUTO.owned_by_job(name).annotated(patched["metadata"]["annotations"])


@pytest.mark.parametrize("annotations", [None, {}, {"a": "b"}])
def test_a_job_that_was_made_with_a_prefix_is_named_by_it(annotations: object) -> None:
    template: dict[str, Any] = {"metadata": {"labels": {labels.TASK: "auto"}}, "spec": {}}
    if annotations is not None:
        template["metadata"]["annotations"] = annotations
    assert named(a_jobs_pod(template, "load-tpcds-bcdfg")) == "load-tpcds"
    assert named(a_jobs_pod(template, "another-bcdfg")) == "another-bcdfg"


def test_a_prefix_that_was_copied_with_another_jobs_template_is_forgotten() -> None:
    annotations = {labels.JOB_NAME: "load-", labels.JOB_ATTEMPTS: "7"}
    meta = {"labels": {labels.TASK: "auto"}, "annotations": annotations}
    job = {"metadata": {"name": "load-tpcds"}, "spec": {"template": {"metadata": meta}}}
    patched = jsonpatch.apply_patch(job, patch_for_job(job))
    assert patched["spec"]["template"]["metadata"]["annotations"] == {labels.JOB_ATTEMPTS: "7"}


def test_a_deployments_hash_is_taken_off_where_the_pod_shows_it() -> None:
    pod = AUTO.owned_by("ReplicaSet", "web-7bcdfghj", version="apps/v1")
    assert named(pod.labelled(**{TEMPLATE_HASH: "7bcdfghj"})) == "web"
    assert named(AUTO.owned_by("ReplicaSet", "load-tpcds", version="apps/v1")) == "load-tpcds"
