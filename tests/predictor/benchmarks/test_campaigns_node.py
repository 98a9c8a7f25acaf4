"""The figures of `make bench-campaigns-node`: campaigns, orders, production. No cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.campaigns.node import estimates, missed, orders, together
from benchmarks.campaigns.scenarios import SCENARIOS, TASKS, campaign, scenarios
from plimsoll_operator.campaigns.spec import read_campaign, scenarios_of
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.saving import saving_of
from plimsoll_predictor.core.units import MIB


@pytest.mark.parametrize("task", TASKS)
def test_each_task_has_sixty_different_scenarios_of_two_features(task: str) -> None:
    rows = scenarios(task)
    assert len(rows) == SCENARIOS == len({tuple(row.items()) for row in rows})
    assert {len(row) for row in rows} == {2}
    assert all(row["rows"].isdigit() for row in rows), "the programs read whole numbers"
    document = campaign(task, "learn", "image", plain=False)
    document["metadata"] |= {"namespace": "shop", "uid": "uid"}
    read = read_campaign(document)
    assert len(scenarios_of(read, None).rows) == SCENARIOS


def test_an_estimate_follows_each_need_as_it_became_known() -> None:
    runs = [
        CampaignRun(
            scenario=number,
            state=RunState.LEARNED,
            values={"n": str(number)},
            memory_bytes=1000 * MIB,
            peak_bytes=(100 + 10 * number) * MIB,
            runtime_s=60.0,
            ended_s=100.0 - number,
        )
        for number in range(6)
    ]
    found = estimates(runs, 1000 * MIB)
    assert found[:2] == (0.0, 0.0), "too few to say"
    # The last ones ended first: after three of them, the first three scenarios are open.
    then = [*(replace(run, state=RunState.REGISTERED) for run in runs[:3]), *runs[3:]]
    expected = saving_of(then, 1000 * MIB)
    assert expected is not None
    assert found[2] == pytest.approx(expected.expected)
    assert len(found) == 6


def found(**production: Any) -> dict[str, Any]:
    course = {"scenarios": 4, "known": 4, "lost": 0, "twice": 0}
    courses = [
        {"task": task, "order": order, **course, "estimates": estimated}
        for task in TASKS
        for order, estimated in (("plain", (0.0, 0.2, 0.4, 0.8)), ("most", (0.0, 0.8, 0.8, 0.8)))
    ]
    of_tasks = {"runs": 40, "killed": 1, "allocated_over_peak": 1.25, **production}
    return {
        "killed": {"controller": 1, "agent": 1},
        "campaigns": [{"task": TASKS[0], "order": "killed", **course, "known": 3, "lost": 1}],
        "orders": courses,
        "production": [{"task": TASKS[0], **of_tasks}],
    }


def test_either_order_is_held_against_the_plain_orders_final_estimate() -> None:
    assert [(each["plain"], each["most_to_learn"]) for each in orders(found()["orders"])] == [
        (4, 2),
        (4, 2),
    ]
    assert missed(found(), kills=2) == []
    assert missed({"orders": found()["orders"]}, kills=2) == []


def test_each_missed_bar_is_named() -> None:
    assert missed(found(), kills=3) == ["2 of 3 kills while campaigns ran"]
    assert missed(found(killed=2), kills=2) == [f"{TASKS[0]}: 2 killed, 1.25 in production"]
    assert missed(found(allocated_over_peak=1.26), kills=2)
    again = found()
    again["campaigns"][0]["twice"] = 1
    assert missed(again, kills=2) == [f"killed-{TASKS[0]}: run twice or not at all"]
    late = found()
    late["orders"][1]["estimates"] = (0.0, 0.2, 0.8, 0.8)
    assert missed(late, kills=2) == [f"{TASKS[0]}: most to learn next takes 3 runs"]


def test_one_task_played_again_leaves_the_other_as_it_was() -> None:
    new = {"task": TASKS[1], "order": "plain", "estimates": (0.5,)}
    both = together(found(), {"orders": [new]})
    assert both["orders"] == [*found()["orders"][:2], new]
    assert both["production"] == found()["production"]
    assert together({}, {"killed": {}}) == {"killed": {}, "orders": []}
