"""The CRDs on a real API server: what they refuse and why, and how kubectl shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml

from plimsoll_operator.policy.policy_resolution import resolve
from plimsoll_operator.policy.policy_status import PolicyFacts, policy_status_of
from plimsoll_operator.profile.runtime_status import RuntimeFacts
from plimsoll_operator.profile.status import changed, status_of
from plimsoll_operator.wording.asking_words import TooLittle
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.units import MIB
from tests.apiserver.crds import (
    CRDS,
    KINDS,
    a_namespace,
    answer,
    install_crds,
    manifest,
    refusal,
    write_status,
)
from tests.builders.experts.standings import a_fleet, facts_of
from tests.builders.profile_facts import sized_facts
from tests.builders.reports import START_S, TASK, a_model
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

VALID = {
    "mode": "enforce",
    "paused": False,
    "min": "64Mi",
    "max": "16Gi",
    "risk": {"overheadSeconds": 2400, "penalty": 10, "errorBudget": 0.01},
    "firstSize": 0.75,
    "critical": True,
    "bins": 8,
    "maxLifts": 0,
    "attempts": 3,
    "minRuns": 5,
    "headroom": 1.1,
    "limits": "keep",
    "retry": "never",
    "lending": "auto",
    "rescue": "auto",
    "placing": "enforce",
    "order": "enforce",
    "jobsWait": "suspended",
    "killedAttempts": "ignore",
    "features": {"rows": {"annotation": "example.com/rows"}, "region": {"arg": "--region"}},
    "cpu": {"mode": "enforce", "min": "50m", "max": 8, "headroom": 1.2, "minRuns": 5},
    "spark": {"mode": "enforce", "partitions": 8, "replaces": ["spark.sql.shuffle.partitions"]},
    "splitting": {"memoryWeight": 0.5},
}


@pytest.fixture(scope="module")
def namespace(cluster: Cluster) -> Iterator[str]:
    install_crds(cluster)
    with a_namespace(cluster) as name:
        yield name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="nothing is required"),
        pytest.param(VALID, id="everything at once"),
        pytest.param({"min": 67108864, "max": "1e9"}, id="quantities as numbers"),
        pytest.param({"min": "1Gi", "max": "1024Mi"}, id="equal bounds in two spellings"),
        pytest.param({"min": "1000Mi", "max": "1Gi"}, id="compared as sizes and not as text"),
        pytest.param({"max": "2G"}, id="a max alone"),
        pytest.param({"mode": "off", "firstSize": 0.5, "bins": 1, "maxLifts": 10}, id="edges"),
        pytest.param({"risk": {"overheadSeconds": 0, "penalty": 1}}, id="edges of the risk"),
        pytest.param({"risk": {"penalty": 1.5}, "headroom": 1}, id="fractions and whole numbers"),
    ],
)
def test_a_sensible_spec_is_accepted_and_read_without_a_complaint(
    kind: str, spec: dict[str, Any], cluster: Cluster, namespace: str
) -> None:
    assert refusal(cluster, manifest(kind, namespace, spec)) == ""
    assert resolve(Policy(), None, spec).problems == ()


REFUSED = [
    pytest.param({"min": "2Gi", "max": "1G"}, "min is larger than max", id="min over max"),
    pytest.param({"min": 9000000, "max": "8M"}, "min is larger than max", id="number over text"),
    pytest.param({"min": "much"}, "min is not a quantity of memory; write for example 64Mi"),
    pytest.param({"max": "4 Gi"}, "max is not a quantity of memory; write for example 64Mi"),
    pytest.param({"min": "100m"}, "min is below 1Mi; write it with its unit"),
    pytest.param({"max": "-1Gi"}, "max is below 1Mi; write it with its unit"),
    pytest.param({"max": 16}, "max is below 1Mi; write it with its unit"),
    pytest.param({"risk": {"penalty": 0.5}}, "penalty is below 1; a too small allocation is never"),
    pytest.param({"risk": {"penalty": 1e9}}, "penalty is above 10000; set mode to recommend"),
    pytest.param({"risk": {"errorBudget": 1}}, "risk.errorBudget is a share of runs from 0 to 0.5"),
    pytest.param({"risk": {"overheadSeconds": -1}}, "a failed attempt never pays"),
    pytest.param({"risk": {"overheadSeconds": 86401}}, "above 86400, a day; set mode to recommend"),
    pytest.param({"firstSize": 0.4}, "firstSize is below 0.5; so little fails more often"),
    pytest.param({"firstSize": 1.1}, "firstSize is above 1; it is a share of the request"),
    pytest.param({"critical": "true"}, "must be of type boolean"),
    pytest.param({"paused": "true"}, "must be of type boolean"),
    pytest.param({"cpu": {"minRuns": 0}}, "cpu.minRuns is a number from 1 to 10000"),
    pytest.param({"bins": 0}, "bins is a number from 1 to 8"),
    pytest.param({"bins": 9}, "bins is a number from 1 to 8"),
    pytest.param({"maxLifts": 11}, "maxLifts is a number from 0 to 10"),
    pytest.param({"maxLifts": -1}, "maxLifts is a number from 0 to 10"),
    pytest.param({"attempts": 0}, "attempts is a number from 1 to 1000"),
    pytest.param({"minRuns": 0}, "minRuns is a number from 1 to 10000"),
    pytest.param({"headroom": 0.9}, "headroom is a factor from 1 to 10"),
    pytest.param({"headroom": 11}, "headroom is a factor from 1 to 10"),
    pytest.param({"mode": "on"}, 'supported values: "off", "recommend", "enforce"'),
    pytest.param({"mode": False}, 'supported values: "off", "recommend", "enforce"'),
    pytest.param({"limits": "none"}, 'supported values: "equal", "keep"'),
    pytest.param({"retry": "always"}, 'supported values: "auto", "never"'),
    pytest.param({"lending": "always"}, 'supported values: "auto", "never"'),
    pytest.param({"rescue": "always"}, 'supported values: "auto", "never"'),
    pytest.param({"placing": "auto"}, 'supported values: "never", "recommend", "enforce"'),
    pytest.param({"jobsWait": "never"}, 'supported values: "gated", "suspended"'),
    pytest.param({"splitting": {"memoryWeight": 1.5}}, "splitting.memoryWeight is a number from 0"),
    pytest.param({"spark": {"partitions": 1}}, "spark.partitions is a number from 2 to 1000"),
    pytest.param({"spark": {"partitions": 10**9}}, "spark.partitions is a number from 2 to 1000"),
    pytest.param(
        {"spark": {"replaces": ["spark.jars"]}}, 'supported values: "spark.sql.shuffle.partitions"'
    ),
    pytest.param(
        {"spark": {"replaces": ["spark.sql.shuffle.partitions"] * 2}}, "must have at most 1 item"
    ),
    pytest.param({"killedAttempts": "never"}, 'supported values: "count", "ignore"'),
    pytest.param(
        {"features": {"rows": {"annotation": "a", "env": "ROWS"}}},
        "a feature comes from exactly one of annotation, label, env or arg",
        id="two sources",
    ),
    pytest.param(
        {"features": {"rows": {}}},
        "a feature comes from exactly one of annotation, label, env or arg",
        id="no source",
    ),
    pytest.param({"features": {"x" * 64: {"env": "X"}}}, "a feature's name has 1 to 63 characters"),
    pytest.param(
        {"features": {str(n): {"env": "X"} for n in range(65)}}, "must have at most 64 items"
    ),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("spec", "sentence"), REFUSED)
def test_nonsense_is_refused_with_a_sentence(
    kind: str, spec: dict[str, Any], sentence: str, cluster: Cluster, namespace: str
) -> None:
    said = refusal(cluster, manifest(kind, namespace, spec))
    assert "is invalid" in said
    assert sentence in said


def test_a_misspelt_field_is_refused_and_not_dropped_in_silence(
    cluster: Cluster, namespace: str
) -> None:
    said = answer(cluster, manifest("TaskProfile", namespace, {"maxlifts": 2}), "create")
    assert 'unknown field "spec.maxlifts"' in said
    said = answer(cluster, manifest("SizingPolicy", namespace, {"penalty": 10}), "create")
    assert 'unknown field "spec.penalty"' in said


def test_the_task_of_a_profile_cannot_be_changed(cluster: Cluster, namespace: str) -> None:
    cluster.apply(manifest("TaskProfile", namespace, {"task": "Train"}, "train-1"))
    other = answer(cluster, manifest("TaskProfile", namespace, {"task": "B"}, "train-1"), "apply")
    assert "task cannot be changed; make a new TaskProfile for another task" in other
    gone = answer(cluster, manifest("TaskProfile", namespace, {"bins": 2}, "train-1"), "apply")
    assert "task cannot be added or removed later" in gone
    same = {"task": "Train", "bins": 2}
    assert "configured" in answer(
        cluster, manifest("TaskProfile", namespace, same, "train-1"), "apply"
    )


def test_a_status_is_kept_field_by_field_and_read_in_the_columns(
    cluster: Cluster, namespace: str
) -> None:
    cluster.apply(manifest("TaskProfile", namespace, {}, TASK.name))
    facts = replace(sized_facts(), too_little=TooLittle(100 * MIB, 210 * MIB))
    new = status_of(facts, now_s=START_S)
    stored = write_status(cluster, namespace, "taskprofiles", TASK.name, new)
    assert not changed(stored, new)
    assert not changed(stored, status_of(facts, previous=stored, now_s=START_S + 60))
    head, row = cluster.kubectl("get", "tp", TASK.name, "-n", namespace).splitlines()
    columns = "NAME TASK MODE PHASE BINS RUNS OOMS SAVED ASKS RUNTIME MODEL AGE"
    assert " ".join(head.split()) == columns
    assert row.startswith("train-demand   train-demand   enforce   Sizing   512Mi   40     2 ")
    asks = "too little: 100Mi, needs 210Mi"
    assert f"62% (12.4 GB·h)   {asks}   {new['runtime']['text']} " in row
    assert f"classifier {a_model().version}" in row


def test_what_no_longer_holds_is_taken_away_from_the_status(
    cluster: Cluster, namespace: str
) -> None:
    cluster.apply(manifest("TaskProfile", namespace, {}, "forgetful"))
    facts = sized_facts()
    write_status(cluster, namespace, "tp", "forgetful", status_of(facts, now_s=START_S))
    without = replace(
        facts,
        knowledge=replace(facts.knowledge, model=None),
        standing=None,
        runtime=RuntimeFacts(),
    )
    new = status_of(without, now_s=START_S)
    stored = write_status(cluster, namespace, "tp", "forgetful", new)
    assert not changed(stored, new)
    assert {"bins", "modelVersion", "uScore", "runtime"}.isdisjoint(stored)


def test_describe_reads_well(cluster: Cluster, namespace: str) -> None:
    cluster.apply(manifest("TaskProfile", namespace, {"max": "4Gi"}, "described"))
    write_status(cluster, namespace, "tp", "described", status_of(sized_facts(), now_s=START_S))
    text = cluster.kubectl("describe", "taskprofile", "described", "-n", namespace)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for line in (
        "Max: 4Gi",
        "Phase: Sizing",
        "Max Need: 300Mi",
        "Champion: classifier",
        "Champion Words: the bin classifier",
        f"Max - Seen: {facts_of(a_fleet()).times['max-seen']:.2f}",
        "Bins Text: 512Mi",
        "Saved: 62% (12.4 GB·h)",
        "bin 1 of 1 (up to 512Mi): all of its probability lies at or below",
        "Message: the last peak came from: agent",
        "Pods get the sizes decided here (mode enforce).",
        "Reason: AllWell",
    ):
        assert line in lines


def test_every_field_is_explained(cluster: Cluster, namespace: str) -> None:
    for kind in ("taskprofile", "sizingpolicy"):
        assert "how far Plimsoll may go" in cluster.kubectl("explain", f"{kind}.spec.mode")


def test_a_sizing_policy_shows_whether_it_is_in_force(cluster: Cluster, namespace: str) -> None:
    for name in ("default", "mine"):
        cluster.apply(manifest("SizingPolicy", namespace, {"mode": "enforce", "max": "8Gi"}, name))
        status = policy_status_of(
            PolicyFacts(namespace, name, "plimsoll"), generation=1, now_s=START_S
        )
        assert write_status(cluster, namespace, "sp", name, status) == status
    head, default, mine = cluster.kubectl("get", "sp", "-n", namespace).splitlines()
    assert " ".join(head.split()) == "NAME MODE PAUSED MIN MAX OVERHEAD IN FORCE AGE"
    assert default.split()[:4] == ["default", "enforce", "8Gi", "True"]
    assert mine.split()[:4] == ["mine", "enforce", "8Gi", "False"]
    assert "rename it" in cluster.kubectl("get", "sp", "mine", "-n", namespace, "-o", "wide")


def test_both_kinds_are_listed_by_their_category(cluster: Cluster, namespace: str) -> None:
    cluster.apply(manifest("TaskProfile", namespace, {}, "listed"))
    assert "taskprofile.plimsoll.dev/listed" in cluster.kubectl(
        "get", "plimsoll", "-n", namespace, "-o", "name"
    )


def test_both_kinds_have_the_same_knobs() -> None:
    knobs = []
    for kind in ("sizingpolicies", "taskprofiles"):
        written = (CRDS / f"{kind}.yaml").read_text()
        [version] = yaml.safe_load(written)["spec"]["versions"]
        fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        knobs.append({name: field for name, field in fields.items() if name != "task"})
    assert knobs[0] == knobs[1]
    assert set(knobs[0]) == set(VALID)
