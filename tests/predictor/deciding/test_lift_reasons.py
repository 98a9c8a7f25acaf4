"""What made a lift as large as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.deciding.lift_reasons import lift_reasons
from plimsoll_predictor.deciding.lifting import FailedAttempt, next_allocation
from plimsoll_predictor.knowledge.curve import Straight
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.knowledge.rule import Rule
from plimsoll_predictor.knowledge.shown import Shown

FAILED = FailedAttempt(
    killed_at_bytes=100 * MIB, attempt=1, request_bytes=1000 * MIB, attempts_left=5, run="r"
)
BY_ROWS = Rule(base_bytes=1.0, curves=(Straight(("rows",), (1.0,), 0.0, factor=1.05),))


def a_task(**changes: Any) -> Knowledge:
    known = Knowledge(
        task=TaskId("shop", "train"),
        policy=Policy(),
        runs=9,
        max_need_bytes=120 * MIB,
        largest_bytes=120 * MIB,
    )
    return replace(known, **changes)


def reasons(task: Knowledge) -> str:
    lift = next_allocation(FAILED, task, Bounds())
    assert isinstance(lift, Lift)
    return lift_reasons(lift, FAILED, task, Bounds())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({}, "", id="the usual step"),
        pytest.param(
            {"shown": Shown(floor_bytes=400 * MIB)},
            "running attempts have reached 400Mi",
            id="what runs shows more",
        ),
        pytest.param({"shown": Shown(floor_bytes=90 * MIB)}, "", id="what runs shows less"),
        pytest.param(
            {"lifts": {f"r{number}": Lift(2, 2, 1) for number in range(4)}},
            "4 of its task's runs fail now, a burst",
            id="a burst",
        ),
        pytest.param({"lifts": {"r1": Lift(2, 2, 1)}}, "", id="one other that fails"),
        pytest.param({"rule": BY_ROWS}, "it is the room of its size over rows", id="a curve"),
    ],
)
def test_what_changes_a_lift_is_its_reason(changes: dict[str, Any], words: str) -> None:
    assert reasons(a_task(**changes)) == words
