"""A review of an excluded namespace that still arrives leaves its object unchanged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.builders.kubernetes.webhooks import AS_A_JOB
from tests.builders.pods import a_pod
from tests.rigs.servers.admission_servers import a_server, knowledge_of, patch_in

POD = a_pod().asking("4Gi").limited("4Gi")
JOB: dict[str, Any] = {
    "metadata": {"name": "train", "namespace": "shop"},
    "spec": {
        "backoffLimit": 3,
        "template": {
            "metadata": {"labels": {"plimsoll.dev/task": "train"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main"}]},
        },
    },
}


async def test_a_pod_is_admitted_as_it_was_written_and_counted_apart(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of(), excluded_namespaces="shop") as (
        caller,
        server,
        _,
    ):
        assert await caller.review(POD) == {"uid": "review-1", "allowed": True}
        assert patch_in(await caller.review(POD.in_namespace("other"))) != []
        counted = server.metrics.registry.get_sample_value
        labels = {"outcome": "excluded", "reason": ""}
        assert counted("plimsoll_admission_pods_total", labels) == 1
        assert counted("plimsoll_admission_failed_open_total", {"reason": "error"}) == 0


async def test_a_job_is_admitted_as_it_was_written(tmp_path: Path) -> None:
    for excluded, changed in (("shop", False), ("other", True)):
        async with a_server(tmp_path, knowledge_of(), excluded_namespaces=excluded) as (
            caller,
            _,
            _board,
        ):
            jobs = replace(caller, url=caller.url.replace("/size", "/job"))
            assert bool(patch_in(await jobs.review(JOB, **AS_A_JOB))) is changed
