"""What an agent may raise by a grant: once, for a while, and within all bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.attempts.alarms import Alarm
from plimsoll_operator.attempts.grants import GRANTED_S, Grant
from plimsoll_operator.rescue.allowance import Allowance
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.alarms import LIMIT, an_alarm
from tests.builders.agent.grants import a_grant

USED = 1024 * MIB
RAISED = 165 * MIB
"""The limit to which the controller would raise the same pod (tests/operator/controller/rescue)."""


def spent(allowance: Allowance, alarm: Alarm, used_bytes: int = USED, now_s: float = 0.0) -> int:
    """The limit to which it is raised; 0 if the agent has to ask the controller."""
    found = allowance.spend(alarm, used_bytes, now_s)
    return 0 if found is None else found.raised.limit_bytes


def granted(*grants: Grant) -> Allowance:
    allowance = Allowance()
    allowance.renew(grants, 0.0)
    return allowance


def test_it_raises_as_the_controller_would_and_once() -> None:
    allowance = granted(a_grant())
    assert spent(allowance, an_alarm()) == RAISED
    assert spent(allowance, an_alarm()) == 0


@pytest.mark.parametrize(
    ("alarm", "now_s"),
    [
        pytest.param(an_alarm("another"), 0.0, id="a pod that is not granted"),
        pytest.param(an_alarm(container="other"), 0.0, id="another container"),
        pytest.param(an_alarm(), GRANTED_S + 0.1, id="a grant that is too old"),
        pytest.param(
            replace(an_alarm(), growth_bytes_s=0.0), 0.0, id="one that the decision leaves"
        ),
    ],
)
def test_the_controller_is_asked_for(alarm: Alarm, now_s: float) -> None:
    assert spent(granted(a_grant()), alarm, now_s=now_s) == 0


@pytest.mark.parametrize(
    "bounds",
    [
        pytest.param({"most_bytes": LIMIT}, id="a policy, a LimitRange or a quota"),
        pytest.param({"free_bytes": USED}, id="the node's own reserve"),
        pytest.param({"added_bytes": 16 * 1024 * MIB}, id="what rescues add on a node"),
        pytest.param({"in_namespace_bytes": 8 * 1024 * MIB}, id="what they add in a namespace"),
        pytest.param({"raises": 40}, id="a pod that was raised too often"),
        pytest.param({"first_bytes": LIMIT // 3}, id="a pod of three times its first size"),
        pytest.param({"needs_bytes": (70.0 * MIB,) * 40}, id="a leak"),
    ],
)
def test_no_bound_is_exceeded(bounds: dict[str, Any]) -> None:
    line = tuple((float(second), second * 10 * MIB) for second in range(13))
    assert spent(granted(a_grant()), replace(an_alarm(), shape=line)) == RAISED
    assert spent(granted(replace(a_grant(), **bounds)), replace(an_alarm(), shape=line)) == 0


@pytest.mark.parametrize(
    ("bounds", "other"),
    [
        pytest.param({"free_bytes": USED + 50 * MIB}, "blog", id="the node's room"),
        pytest.param({"added_bytes": 16 * 1024 * MIB - 50 * MIB}, "blog", id="the node's share"),
        pytest.param(
            {"in_namespace_bytes": 8 * 1024 * MIB - 50 * MIB}, "shop", id="the namespace's share"
        ),
    ],
)
def test_what_one_grant_took_no_other_has(bounds: dict[str, Any], other: str) -> None:
    grants = [replace(a_grant(), **bounds), replace(a_grant("train-2", other), **bounds)]
    alone = granted(*grants)
    assert spent(alone, an_alarm("train-2")) == RAISED
    both = granted(*grants)
    assert spent(both, an_alarm()) == RAISED
    assert spent(both, an_alarm("train-2")) < RAISED


def test_an_answer_takes_the_place_of_all_before() -> None:
    allowance = granted(a_grant())
    allowance.renew([a_grant("train-2")], 1.0)
    assert spent(allowance, an_alarm()) == 0
    assert spent(allowance, an_alarm("train-2"), now_s=GRANTED_S + 0.5) == RAISED
