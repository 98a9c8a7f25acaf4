"""A pod that nobody labelled, in a namespace whose people asked for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.names import labels
from tests.builders.engines.all import TASKS
from tests.builders.engines.runs import Chance, a_pod
from tests.builders.kubernetes.webhooks import AS_A_JOB
from tests.builders.pods import APod, decision_of
from tests.rigs.servers.admission_servers import a_server, knowledge_of, patch_in

ONE_OF = {task.engine: task for task in TASKS if task.recognised == 1}
A_SERVICE = a_pod(
    labels={"app": "web"}, owner=("apps/v1", "ReplicaSet", "web-5d4f8", "u"), restart="Always"
)


@pytest.mark.parametrize("maker", ["airflow", "tekton", "nextflow", "jobset"])
async def test_it_gets_a_label_and_is_then_sized_as_any_other(tmp_path: Path, maker: str) -> None:
    pod = APod(ONE_OF[maker].make(Chance(7)))
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        unlabelled = replace(caller, url=caller.url.replace("/size", "/unlabelled"))
        labelled = pod.patched(patch_in(await unlabelled.review(pod)))
        assert labelled.built()["metadata"]["labels"][labels.TASK] == "auto"
        sized = labelled.patched(patch_in(await caller.review(labelled)))
        assert decision_of(sized)["task"].startswith("shop/")
        counted = server.metrics.registry.get_sample_value
        assert counted("plimsoll_admission_recognised_total", {"maker": maker}) == 1


async def test_a_service_is_left_alone_and_counted(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        unlabelled = replace(caller, url=caller.url.replace("/size", "/unlabelled"))
        assert patch_in(await unlabelled.review(A_SERVICE)) == []
        alone = {"maker": "", "reason": "service"}
        counted = server.metrics.registry.get_sample_value
        assert counted("plimsoll_admission_left_alone_total", alone) == 1


async def test_an_excluded_namespace_is_left_alone(tmp_path: Path) -> None:
    pod = ONE_OF["airflow"].make(Chance(7))
    async with a_server(tmp_path, knowledge_of(), excluded_namespaces="shop") as (caller, _, _b):
        unlabelled = replace(caller, url=caller.url.replace("/size", "/unlabelled"))
        assert patch_in(await unlabelled.review(pod)) == []
        jobs = replace(caller, url=caller.url.replace("/size", "/unlabelled-job"))
        assert patch_in(await jobs.review(a_job({}), **AS_A_JOB)) == []


@pytest.mark.parametrize(
    ("its", "written"),
    [
        pytest.param({}, True, id="no labels"),
        pytest.param({"labels": {"a": "b"}}, True, id="others"),
        pytest.param({"labels": {labels.ENABLED: "false"}}, False, id="its author refuses"),
        pytest.param({"labels": {labels.TASK: ""}}, False, id="a label of ours"),
    ],
)
async def test_a_job_without_a_label_says_how_often_it_tries(
    tmp_path: Path, its: dict[str, Any], written: bool
) -> None:
    job = a_job(its)
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _b):
        jobs = replace(caller, url=caller.url.replace("/size", "/unlabelled-job"))
        after = APod(job).patched(patch_in(await jobs.review(job, **AS_A_JOB))).built()
    notes = after["spec"]["template"]["metadata"].get("annotations", {})
    assert notes.get(labels.JOB_ATTEMPTS) == ("4" if written else None)


def a_job(its: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": its, "spec": {"restartPolicy": "Never", "containers": []}}
    return {
        "metadata": {"name": "train", "namespace": "shop"},
        "spec": {"backoffLimit": 3, "template": template},
    }
