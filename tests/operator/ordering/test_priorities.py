"""A Job's template names a class of priority, and the queue needs the number."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.ordering.priorities import Priorities, read_priorities


def a_class(name: str, value: int, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "value": value, **more}


CLASSES = (
    a_class("high", 1000),
    a_class("polite", 500, preemptionPolicy="Never"),
    a_class("usual", 10, globalDefault=True),
    {"metadata": {"name": "broken"}, "value": "much"},
)


@pytest.mark.parametrize(
    ("template", "priority"),
    [
        ({"priorityClassName": "high"}, 1000),
        ({}, 10),
        ({"priorityClassName": ""}, 10),
        ({"priorityClassName": "polite"}, None),
        ({"priorityClassName": "gone"}, None),
        ({"priorityClassName": "broken"}, None),
    ],
)
def test_pods_get_the_priority_of_their_class(template: Any, priority: int | None) -> None:
    assert read_priorities(CLASSES).of(template) == priority


def test_without_classes_all_pods_have_none() -> None:
    assert Priorities().of({}) == 0
    assert read_priorities(()).of({}) == 0
