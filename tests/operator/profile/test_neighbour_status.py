"""What a profile says about a task's neighbours."""

from __future__ import annotations

from plimsoll_operator.profile.neighbour_status import ANOTHER, neighbour_status
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.matrix import Slowdown
from plimsoll_predictor.placing.telling import Neighbour, Neighbours

TRAIN = TaskId("shop", "train")


def beside(kind: str, times: float) -> Neighbour:
    return Neighbour(kind, Slowdown(times, times * 0.951, times * 1.0499, known=True))


def test_nothing_is_said_while_nothing_is_known() -> None:
    assert neighbour_status(TRAIN, Neighbours()) is None


def test_neighbours_are_named_with_their_figures() -> None:
    neighbours = Neighbours(best=(beside("shop/wait", 1.0312),), worst=(beside("shop/join", 1.91),))
    status = neighbour_status(TRAIN, neighbours)
    assert status is not None
    assert status["text"] == "gets along with wait (1.0×); slowed by join (1.9×)"
    assert status["worst"] == [{"task": "join", "times": 1.9, "low": 1.8, "high": 2.0}]


def test_tasks_of_other_namespaces_are_not_named() -> None:
    status = neighbour_status(TRAIN, Neighbours(worst=(beside("secret/plan", 2.0),)))
    assert status is not None
    assert status["best"] == []
    assert "plan" not in str(status)
    assert status["worst"][0]["task"] == ANOTHER
