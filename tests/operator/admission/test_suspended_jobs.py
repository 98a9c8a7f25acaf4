"""A suspended Job at the real server: its template is sized where that is possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from plimsoll_operator.admission import guarded
from plimsoll_operator.names import labels
from plimsoll_operator.sizing import job_sizing
from tests.builders.kubernetes.webhooks import AS_A_JOB
from tests.builders.pods import APod, a_pod, memory_of
from tests.rigs.servers.admission_servers import Caller, a_server, knowledge_of, patch_in

FITS = "1127Mi"


def a_job() -> dict[str, Any]:
    pod = a_pod().asking("4Gi").limited("4Gi").built()
    template = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]}
    return {
        "metadata": {"name": "train", "namespace": "shop"},
        "spec": {"suspend": True, "backoffLimit": 3, "template": template},
    }


async def template_after(caller: Caller, path: str = "/job") -> APod:
    jobs = replace(caller, url=caller.url.replace("/size", path))
    job = a_job()
    after = APod(job).patched(patch_in(await jobs.review(job, **AS_A_JOB))).built()
    return APod(after["spec"]["template"])


def notes_of(template: APod) -> Mapping[str, str]:
    notes: Mapping[str, str] = template.built()["metadata"]["annotations"]
    return notes


async def test_its_template_is_sized_before_a_queue_counts_it(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _b):
        template = await template_after(caller)
    assert memory_of(template) == (FITS, "4Gi")
    assert set(notes_of(template)) == {labels.JOB_ATTEMPTS, labels.DECISION}


async def test_an_error_costs_its_size_and_not_its_attempts(
    tmp_path: Path, monkeypatch: Any
) -> None:
    def fails(*_: object) -> object:
        raise RuntimeError("a defect")

    monkeypatch.setattr(job_sizing, "size", fails)
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _b):
        template = await template_after(caller)
        counted = server.metrics.registry.get_sample_value
        assert counted("plimsoll_admission_failed_open_total", {"reason": "error"}) == 1
    assert memory_of(template) == ("4Gi", "4Gi")
    assert notes_of(template) == {labels.JOB_ATTEMPTS: "4"}


async def test_what_a_job_says_that_nobody_can_read_is_warned_of(tmp_path: Path) -> None:
    """Its pods are made by a controller, which shows their warnings to nobody."""
    job = a_job()
    job["metadata"]["annotations"] = {labels.KILLED_ATTEMPTS: "Ignore"}
    said = {labels.ATTEMPTS: "three", labels.MODE: "enforced", labels.CONTAINER: "mian"}
    job["spec"]["template"]["metadata"]["annotations"] = said
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _b):
        jobs = replace(caller, url=caller.url.replace("/size", "/job"))
        told = (await jobs.review(job, **AS_A_JOB))["warnings"]
        assert "warnings" not in await jobs.review(a_job(), **AS_A_JOB)
    assert all(any(key in words for words in told) for key in (labels.KILLED_ATTEMPTS, *said))


async def test_an_error_in_the_warnings_costs_only_them(tmp_path: Path, monkeypatch: Any) -> None:
    def fails(*_: object) -> object:
        raise RuntimeError("a defect")

    monkeypatch.setattr(guarded, "mistakes_in", fails)
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _b):
        template = await template_after(caller)
    assert memory_of(template) == (FITS, "4Gi")


async def test_without_knowledge_it_is_left_as_it_is(tmp_path: Path) -> None:
    async with a_server(tmp_path) as (caller, _, _b):
        template = await template_after(caller)
    assert memory_of(template) == ("4Gi", "4Gi")
    assert notes_of(template) == {labels.JOB_ATTEMPTS: "4"}
