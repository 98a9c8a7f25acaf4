from __future__ import annotations

import math
from typing import Any

import pytest

from plimsoll_predictor.runtimes.forecasting.plan import (
    MOST_STEPS,
    MOST_WAITS,
    Plan,
    PlanError,
    Step,
    read_plan,
)
from tests.builders.runtimes.plans import a_chain


def a_document(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"steps": list(steps), **more}


def a_step(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"name": name, "task": "lab/t", **more}


def test_a_plan_is_read_as_it_was_written() -> None:
    document = a_document(
        a_step("extract", elapsed_s=120),
        a_step("train", after=["extract"], wait_s=30),
        a_step("old", ended=True),
        within_s=3600,
    )
    plan = read_plan(document)
    assert {step.name: step for step in plan.steps} == {
        "extract": Step(name="extract", task="lab/t", elapsed_s=120.0),
        "train": Step(name="train", task="lab/t", after=("extract",), wait_s=30.0),
        "old": Step(name="old", task="lab/t", ended=True),
    }
    assert plan.within_s == 3600


def test_steps_come_behind_those_they_wait_for_however_they_are_told() -> None:
    chain = a_chain("x", "y", "z")
    backwards = Plan(tuple(reversed(chain.steps)))
    assert [step.name for step in backwards.steps] == ["s0", "s1", "s2"]
    assert backwards.is_chain


@pytest.mark.parametrize(
    ("steps", "is_chain"),
    [
        pytest.param((Step(name="a", task="t"),), True, id="one step is a chain"),
        pytest.param(
            (Step(name="a", task="t"), Step(name="b", task="t")),
            False,
            id="two steps that wait for nothing are none",
        ),
        pytest.param(
            (
                Step(name="a", task="t"),
                Step(name="b", task="t", after=("a",)),
                Step(name="c", task="t", after=("a", "b")),
            ),
            True,
            id="waiting for more than the step before changes nothing",
        ),
        pytest.param(
            (
                Step(name="a", task="t"),
                Step(name="b", task="t", after=("a",)),
                Step(name="c", task="t", after=("a",)),
            ),
            False,
            id="two steps after one are none",
        ),
        pytest.param(
            (
                Step(name="a", task="t", ended=True),
                Step(name="b", task="t", ended=True),
                Step(name="c", task="t", after=("a", "b")),
            ),
            True,
            id="branches that have ended hold nothing back",
        ),
        pytest.param(
            (
                Step(name="a", task="t", elapsed_s=3),
                Step(name="b", task="t", after=("a",), elapsed_s=3),
            ),
            False,
            id="two steps that run at once are none",
        ),
    ],
)
def test_a_chain_is_told_from_branches(steps: tuple[Step, ...], is_chain: bool) -> None:
    assert Plan(steps).is_chain is is_chain


@pytest.mark.parametrize(
    ("document", "said"),
    [
        pytest.param([], "a plan is list; write a JSON object", id="no object"),
        pytest.param({}, 'a plan needs "steps"', id="no steps"),
        pytest.param({"steps": "a"}, 'a plan needs "steps"', id="text for steps"),
        pytest.param(a_document(), "a plan of 0 steps; write 1 to 1000", id="empty"),
        pytest.param(a_document("a"), "step 1 is str; write a JSON object", id="a name alone"),  # type: ignore[arg-type]
        pytest.param(a_document({"task": "t"}), "step 1: its name is missing", id="no name"),
        pytest.param(a_document({"name": "a"}), "step 'a': its task is missing", id="no task"),
        pytest.param(
            a_document(a_step("x" * 513)),
            "step 1: its name is missing or no text of 1 to 512",
            id="a name too long",
        ),
        pytest.param(a_document(a_step(after="b")), "step 'a': after is str", id="text for after"),
        pytest.param(
            a_document(a_step(after=[7])), "step 'a': a name in after", id="a number in after"
        ),
        pytest.param(
            a_document(a_step(after=["b"])),
            "step 'a' comes after 'b', which is no step here",
            id="an unknown step",
        ),
        pytest.param(
            a_document(a_step(), a_step()), "step 'a' is told twice", id="a name told twice"
        ),
        pytest.param(
            a_document(a_step(wait_s=-1)),
            r"step 'a': wait_s is -1\.0; write seconds",
            id="a negative time",
        ),
        pytest.param(
            a_document(a_step(elapsed_s=math.nan)), "step 'a': elapsed_s is nan", id="not a number"
        ),
        pytest.param(
            a_document(a_step(elapsed_s=10**400)), "step 'a': elapsed_s is inf", id="too large"
        ),
        pytest.param(
            a_document(a_step(wait_s=1e308)), "wait_s is 1e\\+308; write seconds", id="endless"
        ),
        pytest.param(
            a_document(a_step(elapsed_s="5")), "elapsed_s is str; write a number", id="text"
        ),
        pytest.param(
            a_document(a_step(elapsed_s=True)), "elapsed_s is bool; write a number", id="true"
        ),
        pytest.param(a_document(a_step(ended=1)), "ended is int; write true or false", id="one"),
        pytest.param(
            a_document(a_step(runtime_s=1)),
            "step 1: 'runtime_s' is not known; known are after",
            id="an unknown key",
        ),
        pytest.param(
            a_document(a_step(), within_s=math.inf), "the plan: within_s is inf", id="no deadline"
        ),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused_by_name(document: object, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        read_plan(document)


def test_a_circle_is_told_step_by_step() -> None:
    steps = [a_step("a", after=["c"]), a_step("b", after=["a"]), a_step("c", after=["b"])]
    with pytest.raises(
        PlanError, match=r"in a circle: (a → c → b → a|b → a → c → b|c → b → a → c)"
    ):
        read_plan(a_document(*steps))
    with pytest.raises(PlanError, match="in a circle: a → a"):
        read_plan(a_document(a_step("a", after=["a"])))


def test_a_plan_too_large_is_refused() -> None:
    with pytest.raises(PlanError, match="a plan of 1001 steps; write 1 to 1000"):
        read_plan(a_document(*[a_step(str(place)) for place in range(MOST_STEPS + 1)]))
    names = [str(place) for place in range(200)]
    tangled = [a_step(name, after=names[: min(place, 100)]) for place, name in enumerate(names)]
    assert sum(len(step["after"]) for step in tangled) > MOST_WAITS
    with pytest.raises(PlanError, match="write at most 10000"):
        read_plan(a_document(*tangled))
