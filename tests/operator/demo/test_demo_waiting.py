"""What the demo waits for, and when it gives up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from demo.stories.patience import Patience
from demo.watching.trainings import failures, trained, trainings

from plimsoll_operator.names.conditions import conditions_of, timestamp
from plimsoll_operator.profile.conditions import profile_conditions
from plimsoll_operator.profile.facts import ProfileFacts, TrainingFact
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.store import TaskSummary

NOON_S = 1795262400.0
TASK = "shop/train"


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def a_profile(last: TrainingFact | None, trained_s: float | None = None) -> Mapping[str, Any]:
    """A TaskProfile as the controller writes it, with conditions written at the training's end."""
    known = Knowledge(task=TaskId("shop", "train"), policy=Policy(), runs=20)
    facts = ProfileFacts(knowledge=known, tally=TaskSummary(task=known.task), training=last)
    status: dict[str, Any] = {
        "task": "train",
        "conditions": conditions_of(profile_conditions(facts), None, last.at_s if last else NOON_S),
    }
    if trained_s is not None:
        status["trainedTime"] = timestamp(trained_s)
    return {"metadata": {"namespace": "shop", "name": "train"}, "status": status}


def test_patience_lasts_as_long_as_something_changes() -> None:
    clock = Clock()
    patience = Patience(10.0, clock)
    for step in range(5):
        clock.now_s += 9.0
        patience.saw(step)
        assert not patience.is_over


@pytest.mark.parametrize(
    ("waited_s", "over"),
    [
        pytest.param(10.0, False, id="as long as it may be silent"),
        pytest.param(10.1, True, id="longer"),
    ],
)
def test_patience_ends_when_nothing_changes(waited_s: float, over: bool) -> None:
    clock = Clock()
    patience = Patience(10.0, clock)
    patience.saw("the same")
    clock.now_s = waited_s
    patience.saw("the same")
    assert patience.is_over is over


def test_a_task_counts_as_trained_when_its_model_is_as_new_as_was_asked_for() -> None:
    now = trainings([a_profile(TrainingFact(at_s=NOON_S), trained_s=NOON_S)])
    assert trained(now, {TASK: NOON_S, "shop/other": 0.0}) == [TASK]
    assert trained(now, {TASK: NOON_S + 1}) == []
    assert failures(now, {TASK: NOON_S + 1}) == []


def test_a_task_that_nobody_has_seen_yet_is_waited_for() -> None:
    assert trained({}, {TASK: 0.0}) == failures({}, {TASK: 0.0}) == []
    assert (
        trained(trainings([{"metadata": {"namespace": "shop", "name": "train"}}]), {TASK: 0}) == []
    )


def test_a_training_that_failed_since_is_told_in_the_profiles_words() -> None:
    now = trainings([a_profile(TrainingFact(at_s=NOON_S, failure="out of memory"))])
    (told,) = failures(now, {TASK: NOON_S - 60})
    assert told.startswith("shop/train: the last training, at 2026-11-21T")
    assert "failed: out of memory" in told


def test_a_training_that_failed_before_is_not_what_is_waited_for() -> None:
    now = trainings([a_profile(TrainingFact(at_s=NOON_S, failure="out of memory"))])
    assert failures(now, {TASK: NOON_S + 60}) == []
    assert failures(now, {"shop/other": 0.0}) == []
