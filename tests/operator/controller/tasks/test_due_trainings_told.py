"""Since when a task's training is due, by its profile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.controller.hub.hub import Hub, TaskForgotten, TrainingDue, TrainingEnded
from plimsoll_operator.controller.tasks.due_trainings import DueTrainings
from plimsoll_operator.profile.status import status_of
from plimsoll_operator.training.queue import Trained
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from tests.operator.profile.sized_task import facts

TASK = TaskId("shop", "train")


class Told:
    """A hub, a clock and the reports."""

    def __init__(self) -> None:
        self.hub, self.now_s = Hub(), 1000.0
        self.due = DueTrainings(self.hub, lambda: self.now_s)

    def ask(self, at_s: float) -> None:
        self.now_s = at_s
        self.hub.publish(TrainingDue(TASK, Policy(), "5 new runs"))

    def end(self, at_s: float, duration_s: float) -> None:
        self.now_s = at_s
        self.hub.publish(TrainingEnded(Trained(TASK, "5 new runs", None, duration_s)))


@pytest.mark.parametrize(
    ("asked", "since_s"),
    [
        pytest.param([1000.0], None, id="once"),
        pytest.param([1000.0, 1010.0], None, id="again before it began"),
        pytest.param([1000.0, 1030.0], 1030.0, id="again while it was under way"),
    ],
)
def test_a_training_is_due_until_one_ends_that_began_after_it(
    asked: list[float], since_s: float | None
) -> None:
    told = Told()
    assert told.due.since_s(TASK) is None
    for at_s in asked:
        told.ask(at_s)
    assert told.due.since_s(TASK) == asked[0]
    told.end(1050.0, duration_s=30.0)
    assert told.due.since_s(TASK) == since_s


def test_a_task_that_is_forgotten_has_none() -> None:
    told = Told()
    told.ask(1000.0)
    told.hub.publish(TaskForgotten(TASK))
    assert told.due.since_s(TASK) is None


def test_the_profile_says_since_when() -> None:
    assert status_of(facts(), now_s=9.0)["trainingDueTime"] is None
    due = replace(facts(), due_since_s=0.0)
    assert status_of(due, now_s=9.0)["trainingDueTime"] == "1970-01-01T00:00:00Z"
