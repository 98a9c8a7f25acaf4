"""A program that reads its own request keeps it, as its author wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import Limits, Mode
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.pods import JOB_UID, APod, a_pod, cpu_of, decision_of, memory_of
from tests.operator.sizing.admitted import FITS, after, state_of
from tests.rigs.servers.admission_servers import knowledge_of


def told(resource: str, **more: str) -> Mapping[str, Any]:
    return {"resourceFieldRef": {"resource": resource, **more}}


def in_a_file(pod: APod, resource: str) -> APod:
    item = {"path": "it", **told(resource, containerName="main")}
    return pod.with_spec(volumes=[{"name": "me", "downwardAPI": {"items": [item]}}])


def in_a_projected_file(pod: APod, resource: str) -> APod:
    item = {"path": "it", **told(resource, containerName="main")}
    sources = [{"serviceAccountToken": {"path": "token"}}, {"downwardAPI": {"items": [item]}}]
    return pod.with_spec(volumes=[{"name": "me", "projected": {"sources": sources}}])


def in_a_variable(pod: APod, resource: str) -> APod:
    return pod.with_environment({"PLAIN": "1", "IT": told(resource)})


def by_an_init_container(pod: APod, resource: str) -> APod:
    writes = {"name": "IT", "valueFrom": told(resource, containerName="main")}
    return pod.with_spec(initContainers=[{"name": "writes-options", "env": [writes]}])


WAYS = [in_a_variable, in_a_file, in_a_projected_file, by_an_init_container]


def known(limits: Limits = Limits.EQUAL) -> AdmissionState:
    knowledge = knowledge_of()
    cpu = replace(knowledge.policy.cpu, mode=Mode.ENFORCE)
    policy = replace(knowledge.policy, cpu=cpu, limits=limits)
    use = CpuUse(runs=20, high_cores=0.5, peak_cores=2.0)
    return state_of(replace(knowledge, policy=policy, cpu=use))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("limits", Limits)
@pytest.mark.parametrize(
    ("request_", "limit"),
    [("4Gi", "4Gi"), ("4Gi", "8Gi"), ("512Mi", "4Gi"), ("512Mi", None), ("4Gi", None)],
)
def test_memory_that_its_program_reads_is_neither_lowered_nor_raised(
    way: Any, limits: Limits, request_: str, limit: str | None
) -> None:
    pod = a_pod().asking(request_).limited(limit)
    assert memory_of(after(pod, known(limits))) != memory_of(pod)
    sized = after(way(pod, "requests.memory"), known(limits))
    assert memory_of(sized) == memory_of(pod)
    assert "its program reads its memory request" in decision_of(sized)["why"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("written", ["250m", "8"])
def test_cpu_that_its_program_reads_is_neither_lowered_nor_raised(way: Any, written: str) -> None:
    pod = a_pod().asking("4Gi").limited("8Gi").with_cpu(written)
    assert cpu_of(after(pod, known())) == ("600m", None)
    sized = after(way(pod, "requests.cpu"), known())
    assert cpu_of(sized) == (written, None)
    assert "its program reads its CPU request" in decision_of(sized)["cpu"]["why"]
    assert memory_of(sized) == memory_of(after(pod, known())), "its memory is another matter"


def test_a_request_that_became_readable_since_is_given_back() -> None:
    pod = a_pod().asking("4Gi").limited("8Gi").with_cpu("8")
    again = in_a_file(in_a_file(after(pod, known()), "requests.memory"), "requests.cpu")
    assert cpu_of(after(again, known())) == ("8", None)
    both = {"A": told("requests.memory"), "B": told("requests.cpu")}
    again = after(pod, known()).with_environment(both)
    assert memory_of(after(again, known())) == ("4Gi", "8Gi")


@pytest.mark.parametrize("source", ["limits.memory", "requests.ephemeral-storage"])
def test_what_else_a_program_reads_is_no_reason(source: str) -> None:
    pod = in_a_variable(a_pod().asking("4Gi").limited("4Gi"), source)
    assert memory_of(after(pod, known())) == (FITS, FITS)


def test_the_request_of_another_container_is_no_reason() -> None:
    other = {"IT": told("requests.memory", containerName="proxy")}
    pod = a_pod().asking("4Gi").limited("4Gi").owned_by_job()
    beside = pod.with_container("proxy", env=[{"name": "IT", "valueFrom": told("requests.memory")}])
    for reads in (pod.with_environment(other), beside):
        assert memory_of(after(reads, known())) == (FITS, FITS)


def test_a_run_that_needs_more_than_its_limit_gets_it() -> None:
    """As written it would be killed anyway."""
    for asked in ("512Mi", "1Gi"):  # what was killed at 1Gi needs more than that
        pod = in_a_variable(a_pod().asking(asked).limited(asked), "requests.memory")
        assert memory_of(after(pod, known())) == (FITS, FITS)


@pytest.mark.parametrize(("lifted", "gets"), [(6 * GIB, "6Gi"), (2 * GIB, "4Gi")])
def test_after_a_kill_it_is_lifted_and_never_below_what_was_written(lifted: int, gets: str) -> None:
    lift = Lift(allocation_bytes=lifted, attempt=2, after_bytes=lifted - 64 * MIB)
    state = state_of(replace(knowledge_of(), lifts={f"job:{JOB_UID}": lift}))
    pod = in_a_variable(a_pod().asking("4Gi").limited("4Gi").owned_by_job(), "requests.memory")
    assert memory_of(after(pod, state)) == (gets, gets)


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": "none"},
        {"volumes": [1, {"projected": 2}, {"projected": {"sources": [3, {"downwardAPI": []}]}}]},
        {"volumes": [{"downwardAPI": {"items": [None, {"resourceFieldRef": "cpu"}]}}]},
        {"initContainers": [4, {"env": [5, {"valueFrom": 6}, {"valueFrom": {}}]}]},
    ],
)
def test_what_nobody_can_read_is_no_reason(spec: dict[str, Any]) -> None:
    pod = a_pod().asking("4Gi").limited("4Gi").with_spec(**spec)
    assert memory_of(after(pod, known())) == (FITS, FITS)
