"""The CRDs' CPU fields on a real API server: what they refuse and why, and what they keep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.policy.policy_resolution import resolve
from plimsoll_operator.profile.status import changed, status_of
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import Policy
from tests.apiserver.crds import (
    KINDS,
    a_namespace,
    answer,
    install_crds,
    manifest,
    refusal,
    write_status,
)
from tests.builders.profile_facts import sized_facts
from tests.builders.reports import START_S, TASK
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def namespace(cluster: Cluster) -> Iterator[str]:
    install_crds(cluster)
    with a_namespace(cluster) as name:
        yield name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "cpu",
    [
        pytest.param({}, id="nothing is required"),
        pytest.param({"mode": "enforce", "min": "50m", "max": "8", "headroom": 1.5}, id="all"),
        pytest.param({"min": 1, "max": "1000m"}, id="equal bounds in two spellings"),
        pytest.param({"min": "900m", "max": 1}, id="compared as sizes and not as text"),
        pytest.param({"mode": "off", "min": "1m", "headroom": 1}, id="lower edges"),
    ],
)
def test_sensible_cpu_is_accepted_and_read_without_a_complaint(
    kind: str, cpu: dict[str, Any], cluster: Cluster, namespace: str
) -> None:
    spec = {"cpu": cpu}
    assert refusal(cluster, manifest(kind, namespace, spec)) == ""
    assert resolve(Policy(), None, spec).problems == ()


REFUSED = [
    pytest.param({"min": "2", "max": "500m"}, "cpu.min is larger than cpu.max", id="min over max"),
    pytest.param({"min": "much"}, "cpu.min is not a quantity of CPU; write for example 50m or 2"),
    pytest.param({"max": "1 core"}, "cpu.max is not a quantity of CPU; write for example 50m or 2"),
    pytest.param({"min": 0}, "cpu.min is below 1m; write for example 50m or 2"),
    pytest.param({"max": "-1"}, "cpu.max is below 1m; write for example 50m or 2"),
    pytest.param({"max": "4Gi"}, "cpu.max is above 100k cores"),
    pytest.param({"headroom": 0.9}, "cpu.headroom is a factor from 1 to 10"),
    pytest.param({"headroom": 11}, "cpu.headroom is a factor from 1 to 10"),
    pytest.param({"mode": "on"}, 'supported values: "off", "recommend", "enforce"'),
    pytest.param({"mode": False}, 'supported values: "off", "recommend", "enforce"'),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("cpu", "sentence"), REFUSED)
def test_nonsense_is_refused_with_a_sentence(
    kind: str, cpu: dict[str, Any], sentence: str, cluster: Cluster, namespace: str
) -> None:
    said = refusal(cluster, manifest(kind, namespace, {"cpu": cpu}))
    assert "is invalid" in said
    assert sentence in said


def test_a_limit_cannot_be_set_and_that_is_not_dropped_in_silence(
    cluster: Cluster, namespace: str
) -> None:
    limited = manifest("TaskProfile", namespace, {"cpu": {"limit": "2"}})
    assert 'unknown field "spec.cpu.limit"' in answer(cluster, limited, "create")


def test_a_status_keeps_what_was_used_and_forgets_it(cluster: Cluster, namespace: str) -> None:
    cluster.apply(manifest("TaskProfile", namespace, {}, TASK.name))
    facts = sized_facts()
    use = CpuUse(runs=40, high_cores=0.83, peak_cores=3.25)
    known = replace(facts, knowledge=replace(facts.knowledge, cpu=use))
    new = status_of(known, now_s=START_S)
    stored = write_status(cluster, namespace, "taskprofiles", TASK.name, new)
    assert not changed(stored, new)
    assert (stored["cpu"]["used"], stored["cpu"]["request"]) == ("830m", "1")
    without = write_status(
        cluster, namespace, "taskprofiles", TASK.name, status_of(facts, now_s=START_S)
    )
    assert without["cpu"] == {"mode": "recommend"}


def test_every_field_is_explained(cluster: Cluster, namespace: str) -> None:
    said = cluster.kubectl("explain", "taskprofile.spec.cpu")
    assert "Plimsoll never changes CPU limits" in " ".join(said.split())
