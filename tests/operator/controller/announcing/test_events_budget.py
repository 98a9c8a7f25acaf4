"""How many Events are sent: all for a batch, a bounded number for a flood."""

from __future__ import annotations

import pytest

from plimsoll_operator.controller.announcing.events_budget import (
    MOST_BUCKETS,
    OF_A_TASK,
    OF_AN_OBJECT,
    OF_THE_CLUSTER,
    EventsBudget,
)


def told(budget: EventsBudget, uids: list[str], task: str | None, now_s: float = 0.0) -> int:
    return sum(budget.takes(uid, task, now_s) for uid in uids)


def pods(count: int, prefix: str = "p") -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def test_of_a_batch_every_pod_is_told() -> None:
    assert told(EventsBudget(), pods(200), "shop/train") == 200


def test_of_a_flood_in_one_task_a_bounded_number_is_told_and_others_as_before() -> None:
    budget = EventsBudget()
    assert told(budget, pods(5000), "shop/train") == OF_A_TASK.burst
    assert told(budget, pods(100, "other"), "shop/other") == 100


def test_one_object_cannot_use_up_its_tasks_share() -> None:
    budget = EventsBudget()
    assert told(budget, ["p"] * 1000, "shop/train") == OF_AN_OBJECT.burst
    assert told(budget, pods(100), "shop/train") == 100


@pytest.mark.slow
def test_a_flood_of_tasks_is_bounded_by_the_clusters_share() -> None:
    budget = EventsBudget()
    found = sum(budget.takes(f"p{n}", f"evil/t{n}", 0.0) for n in range(2 * OF_THE_CLUSTER.burst))
    assert found == OF_THE_CLUSTER.burst


def test_what_was_used_comes_back_with_time() -> None:
    budget = EventsBudget()
    told(budget, pods(1000), "shop/train")
    assert told(budget, pods(1000, "q"), "shop/train", now_s=60.0) == OF_A_TASK.per_minute
    assert told(budget, pods(1000, "r"), "shop/train", now_s=86_400.0) == OF_A_TASK.burst


def test_a_clock_that_stands_still_or_goes_back_gives_nothing() -> None:
    budget = EventsBudget()
    told(budget, pods(1000), "shop/train", now_s=100.0)
    assert told(budget, pods(1000, "q"), "shop/train", now_s=40.0) == 0


@pytest.mark.slow
def test_what_is_remembered_is_bounded() -> None:
    budget = EventsBudget()
    told(budget, pods(MOST_BUCKETS + 500), None, now_s=0.0)
    assert len(budget._buckets) <= MOST_BUCKETS
