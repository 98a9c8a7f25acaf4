"""How the API server refuses a campaign that makes no sense, and how kubectl shows one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from plimsoll_operator.campaigns.status import State, status_of
from tests.apiserver.crds import a_namespace, answer, install_crds, refusal
from tests.builders.campaigns import STATE
from tests.campaigns.campaigns import a_campaign
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

SPACE = {"name": "mib", "from": 1, "to": 9}


@pytest.fixture(scope="module")
def namespace(cluster: Cluster) -> Iterator[str]:
    install_crds(cluster)
    with a_namespace(cluster) as name:
        yield name


def said_to(cluster: Cluster, namespace: str, campaign: dict[str, Any], *words: str) -> str:
    return answer(cluster, campaign, *words, "-n", namespace)


def refused(cluster: Cluster, namespace: str, campaign: dict[str, Any]) -> str:
    metadata = {**campaign["metadata"], "namespace": namespace}
    return refusal(cluster, {**campaign, "metadata": metadata})


def drawn_from(**axis: Any) -> dict[str, Any]:
    return {"scenarios": {"sample": {"count": 3, "seed": 1, "space": [{"name": "mib", **axis}]}}}


@pytest.mark.parametrize(
    "scenarios",
    [
        {"rows": [{"mib": 1}, {"mib": "2"}]},
        {"csv": "mib\n1\n"},
        {"csv": "mib\n" + "1" * 262_140},
        {"configMap": {"name": "scenarios", "key": "scenarios.csv"}},
        {"grid": [{"name": "mib", "values": [1, "2"]}]},
        {"sample": {"count": 9, "seed": 0, "space": [{**SPACE, "scale": "Logarithmic"}]}},
        {"recorded": {}},
    ],
    ids=lambda scenarios: next(iter(scenarios)),
)
def test_a_campaign_with_every_field_is_taken(
    cluster: Cluster, namespace: str, scenarios: dict[str, Any]
) -> None:
    campaign = a_campaign(
        scenarios=scenarios,
        parallelism=3,
        order="MostToLearn",
        budget={"runs": 9, "gigabyteHours": 0.5, "hours": 1.5},
        stop={"change": 0.02, "runs": 3},
        maxLifts=2,
        startWithinSeconds=60,
        activeDeadlineSeconds=600,
    )
    assert refused(cluster, namespace, campaign) == ""


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({"task": None}, "spec.task: Required value", id="no task"),
        pytest.param({"memory": "lots"}, "memory is not a quantity; write for example 2Gi", id="q"),
        pytest.param({"memory": 2}, "memory is below 1Mi; write it with its unit", id="no unit"),
        pytest.param(
            {"scenarios": {}}, "write exactly one of rows, csv, configMap", id="no scenarios"
        ),
        pytest.param(
            {"scenarios": {"csv": "mib\n1\n", "rows": [{"mib": 1}]}},
            "write exactly one of rows, csv, configMap",
            id="two forms",
        ),
        pytest.param(
            {"scenarios": {"recorded": {}, "rows": [{"mib": 1}]}},
            "write exactly one of rows, csv, configMap, grid, sample and recorded",
            id="a recording and rows",
        ),
        pytest.param(
            {"scenarios": {"recorded": {"days": 0}}},
            "should be greater than or equal to 1",
            id="no days",
        ),
        pytest.param(
            {"scenarios": {"rows": [{"mib": n} for n in range(1001)]}},
            "must have at most 1000 items",
            id="too many rows",
        ),
        pytest.param(
            {"scenarios": {"csv": "mib\n" + "1" * 262_141}},
            "csv is longer than 262,144 characters; put the table into a ConfigMap of the"
            " namespace, and name it in scenarios.configMap",
            id="a long table",
        ),
        pytest.param(
            {"scenarios": {"csv": "mib\n" + "1" * 2_000_000}},
            "csv is longer than 262,144 characters; put the table into a ConfigMap",
            id="a table longer than any object",
        ),
        pytest.param(drawn_from(), "write either values, or both from and to", id="no range"),
        pytest.param(
            drawn_from(values=[1], **{"from": 1, "to": 2}),
            "write either values, or both from and to",
            id="range and values",
        ),
        pytest.param(drawn_from(**{"from": 2, "to": 1}), "from is larger than to", id="backwards"),
        pytest.param(
            drawn_from(**{"from": 0, "to": 1}, scale="Logarithmic"),
            "a Logarithmic scale needs a from above 0",
            id="no factor",
        ),
        pytest.param({"parallelism": 0}, "greater than or equal to 1", id="none at once"),
        pytest.param({"order": "Best"}, 'supported values: "Plain", "MostToLearn"', id="order"),
        pytest.param(
            {"features": [{"name": "mib", "env": "no-name"}]}, "spec.features[0].env", id="env"
        ),
        pytest.param(
            {"features": [{"name": "mib"}, {"name": "mib"}]}, "Duplicate value", id="twice"
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(
    cluster: Cluster, namespace: str, spec: dict[str, Any], words: str
) -> None:
    assert words in refused(cluster, namespace, a_campaign(**spec))


def test_a_name_that_is_too_long_for_a_label_is_refused(cluster: Cluster, namespace: str) -> None:
    assert "the name is longer than 63" in refused(cluster, namespace, a_campaign("x" * 64))


def test_scenarios_and_task_cannot_be_changed_and_budget_can(
    cluster: Cluster, namespace: str
) -> None:
    assert "created" in said_to(cluster, namespace, a_campaign("fixed"), "create")
    other = a_campaign("fixed", scenarios={"rows": [{"mib": 9}]})
    assert "the scenarios cannot be changed" in said_to(cluster, namespace, other, "apply")
    other = a_campaign("fixed", task="other")
    assert "task cannot be changed" in said_to(cluster, namespace, other, "apply")
    other = a_campaign("fixed", budget={"runs": 3})
    assert "configured" in said_to(cluster, namespace, other, "apply")


@pytest.mark.parametrize(
    "state",
    [STATE, State(generation=1), State(generation=1, refusal=("InvalidSpec", "x" * 5000))],
    ids=["running", "empty", "refused"],
)
def test_every_status_fits_the_definition(cluster: Cluster, namespace: str, state: State) -> None:
    name = f"status-{state.generation}-{len(state.runs)}-{bool(state.refusal)}".lower()
    assert "created" in said_to(cluster, namespace, a_campaign(name), "create")
    shown = {**a_campaign(name), "status": status_of(state, {}, 5.0)}
    words = ("apply", "--subresource=status", "--server-side", "--validate=strict")
    told = said_to(cluster, namespace, shown, *words)
    assert "serverside-applied" in told
    assert "unknown field" not in told


def test_kubectl_shows_how_far_a_campaign_is(cluster: Cluster, namespace: str) -> None:
    assert "created" in said_to(cluster, namespace, a_campaign("shown"), "create")
    shown = {**a_campaign("shown"), "status": status_of(STATE, {}, 5.0)}
    said_to(cluster, namespace, shown, "apply", "--subresource=status", "--server-side")
    told = cluster.kubectl("get", "profilingcampaign", "shown", "-n", namespace).splitlines()
    columns = "NAME PHASE SCENARIOS DONE FAILED KILLED BIN-CEILINGS EST-SAVED AGE"
    assert told[0].split() == columns.split()
    assert told[1].split()[:6] == ["shown", "Running", "7", "4", "1", "1"]
