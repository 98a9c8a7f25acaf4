"""A ProfilingCampaign is read, or refused with a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.campaigns.spec import BadCampaign, read_campaign, scenarios_of
from plimsoll_predictor.campaigns.recorded import Recording
from plimsoll_predictor.campaigns.rules import Budget, Order, StopRule
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from tests.operator.campaigns.documents import stored


def test_a_campaign_is_read_with_todays_request_and_the_memory_of_its_runs() -> None:
    campaign = read_campaign(stored(memory="2Gi", parallelism=4, order="MostToLearn"))
    assert campaign.task == TaskId("shop", "train")
    assert (campaign.memory_bytes, campaign.reference_bytes) == (2048 * MIB, 96 * MIB)
    rules = campaign.rules(began_s=5.0)
    assert (rules.parallelism, rules.order, rules.began_s) == (4, Order.MOST_TO_LEARN, 5.0)
    assert (rules.budget, rules.stop, rules.max_lifts) == (Budget(), None, 3)


def test_budget_and_stop_rule_are_read() -> None:
    budget = {"runs": 5, "gigabyteHours": 0.5, "hours": 2}
    rules = read_campaign(stored(budget=budget, stop={"runs": 7})).rules(0.0)
    assert rules.budget == Budget(runs=5, gb_hours=0.5, hours=2.0)
    assert rules.stop == StopRule(change=0.01, runs=7)


@pytest.mark.parametrize(
    ("scenarios", "count"),
    [
        pytest.param({"rows": [{"mib": 1}, {"mib": "2"}]}, 2, id="rows"),
        pytest.param({"csv": "mib\n1\n2\n3\n"}, 3, id="csv"),
        pytest.param({"grid": [{"name": "mib", "values": [1, 2]}]}, 2, id="grid"),
        pytest.param(
            {"sample": {"count": 9, "seed": 1, "space": [{"name": "mib", "from": 1, "to": 9}]}},
            9,
            id="sample",
        ),
        pytest.param({"configMap": {"name": "c", "key": "k"}}, 4, id="ConfigMap"),
    ],
)
def test_each_form_of_scenarios_is_read(scenarios: dict[str, Any], count: int) -> None:
    campaign = read_campaign(stored(scenarios=scenarios))
    text = "mib\n1\n2\n3\n4\n" if campaign.config_map else None
    assert len(scenarios_of(campaign, text).rows) == count


def test_scenarios_of_a_recording_are_what_real_runs_worked_on() -> None:
    campaign = read_campaign(stored(scenarios={"recorded": {}}))
    assert campaign.recording == Recording(days=30, most=200)
    found = scenarios_of(campaign, recorded=[{"mib": 4.0}, {"mib": 4.0}, {"mib": 9.0}])
    assert found.rows == ({"mib": "4"}, {"mib": "9"})
    assert found.weights == (2, 1)
    with pytest.raises(BadCampaign, match="no run of the task is known of the last 30 days"):
        scenarios_of(campaign)
    few = read_campaign(stored(scenarios={"recorded": {"days": 7, "most": 1}}))
    assert scenarios_of(few, recorded=[{"mib": 4.0}, {"mib": 9.0}]).weights == (2,)


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        pytest.param({"memory": "lots"}, "InvalidSpec", "spec.memory 'lots' is not", id="memory"),
        pytest.param({"order": "LeastCost"}, "InvalidSpec", "spec: .*order", id="an unknown order"),
        pytest.param({"task": None}, "InvalidSpec", "spec: .*`task`", id="an absent field"),
        pytest.param(
            {"podTemplate": {"spec": {}}}, "InvalidTemplate", "it has no containers", id="empty"
        ),
        pytest.param(
            {
                "podTemplate": {
                    "spec": {"containers": [{"name": "a"}], "activeDeadlineSeconds": "1h"}
                }
            },
            "InvalidTemplate",
            r"spec\.podTemplate\.spec: .*activeDeadlineSeconds",
            id="a deadline that is no number",
        ),
        pytest.param(
            {
                "podTemplate": {"spec": {"containers": [{"name": "main", "image": "x"}]}},
                "features": [{"name": "mib", "argument": "--mib"}],
            },
            "InvalidTemplate",
            "would replace those of the image",
            id="an argument without arguments",
        ),
    ],
)
def test_what_cannot_run_is_refused(spec: dict[str, Any], reason: str, words: str) -> None:
    with pytest.raises(BadCampaign, match=words) as refused:
        read_campaign(stored(**spec))
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    "space",
    [
        pytest.param({"name": "mib", "from": 9, "to": 1}, id="backwards"),
        pytest.param({"name": "mib", "from": 0, "to": 9, "scale": "Logarithmic"}, id="no factor"),
        pytest.param({"name": "mib", "from": -1e308, "to": 1e308, "whole": True}, id="too wide"),
        pytest.param(
            {"name": "mib", "from": 1e-300, "to": 1e300, "scale": "Logarithmic", "whole": True},
            id="too large a factor",
        ),
    ],
)
def test_a_space_that_nothing_can_be_drawn_from_is_refused(space: dict[str, Any]) -> None:
    sample = {"sample": {"count": 3, "seed": 1, "space": [space]}}
    with pytest.raises(BadCampaign, match="sample: mib"):
        scenarios_of(read_campaign(stored(scenarios=sample)))


@pytest.mark.parametrize(
    ("written", "words"),
    [
        pytest.param({"env": {"A": "b"}}, "env", id="env as a map"),
        pytest.param({"env": [None]}, "env", id="env of nothing"),
        pytest.param({"env": ["A=b"]}, "env", id="env as texts"),
        pytest.param({"env": [{"name": ["A"]}]}, "env", id="a variable without a text as name"),
        pytest.param({"args": 5}, "args", id="a number as args"),
        pytest.param({"args": "--a"}, "args", id="a text as args"),
        pytest.param({"command": "run"}, "command", id="a text as command"),
        pytest.param({"resources": "4Gi"}, "resources", id="a text as resources"),
        pytest.param({"resources": {"requests": "4Gi"}}, "requests", id="a text as requests"),
    ],
)
def test_a_container_that_no_job_can_be_made_of_is_refused(
    written: dict[str, Any], words: str
) -> None:
    document = stored()
    document["spec"]["podTemplate"]["spec"]["containers"][0] |= written
    with pytest.raises(BadCampaign, match=rf"container '.*'.*{words}") as refused:
        read_campaign(document)
    assert refused.value.reason == "InvalidTemplate"


def test_what_kubernetes_takes_as_absent_is_taken_so() -> None:
    document = stored()
    absent = {"env": None, "args": None, "resources": {"limits": None, "requests": {"memory": 100}}}
    document["spec"]["podTemplate"]["spec"]["containers"][0] |= absent
    assert read_campaign(document).task == TaskId("shop", "train")


def test_a_feature_in_an_annotation_that_tells_plimsoll_what_to_do_is_refused() -> None:
    features = [{"name": "mib", "annotation": "plimsoll.dev/mode"}]
    with pytest.raises(BadCampaign, match=r"annotation plimsoll\.dev/mode.*write another name"):
        read_campaign(stored(features=features))
