"""The controller tells admission while a killed run would not be lifted, and acts by it itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson
import pytest

from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.healing import (
    ENDING,
    HANGS_AFTER_S,
    STORE,
    UNSEEN,
    HealingWatch,
)
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_predictor.core.policy import Policy


@dataclass
class AWriter:
    """The part of a writer that is needed here."""

    trouble: str | None = None
    busy_s: float = 0.0


@dataclass
class AStart:
    """A board, and what is told on it."""

    writer: AWriter = field(default_factory=AWriter)
    has_seen_all: bool = True
    board: FeedBoard = field(default_factory=lambda: FeedBoard("e"))
    healing: HealingWatch = field(init=False)

    def __post_init__(self) -> None:
        bounds = ClusterBounds(self.board, TaskPolicies(Policy(), Hub()), ClusterNodes())
        self.healing = HealingWatch(
            self.writer,  # type: ignore[arg-type]
            bounds,
            lambda: self.has_seen_all,
        )

    def told(self) -> object:
        self.healing.look()
        return orjson.loads(self.board.message(0, None))["defaults"]["unhealed"]


@pytest.mark.parametrize(
    "stuck",
    [
        pytest.param(AWriter(trouble="the disk is full"), id="it says so"),
        pytest.param(AWriter(busy_s=HANGS_AFTER_S + 1), id="a write hangs"),
    ],
)
def test_the_feed_tells_of_a_store_that_cannot_be_written_until_it_can(stuck: AWriter) -> None:
    start = AStart(stuck)
    assert start.told() == STORE
    revision = start.board.revision
    assert start.told() == STORE
    assert start.board.revision == revision
    stuck.trouble, stuck.busy_s = None, HANGS_AFTER_S - 1
    assert start.told() is None


def test_the_feed_tells_that_not_all_pods_were_seen_until_they_were() -> None:
    start = AStart(has_seen_all=False)
    assert start.told() == UNSEEN
    assert not start.healing.begun.is_set()
    start.writer.trouble = "the disk is full"
    assert start.told() == STORE
    start.has_seen_all = True
    assert start.told() == STORE
    assert start.healing.begun.is_set()
    start.writer.trouble = None
    assert start.told() is None


def test_where_all_were_seen_nothing_is_told() -> None:
    start = AStart()
    revision = start.board.revision
    assert start.told() is None
    assert start.board.revision == revision


def test_a_controller_that_ends_says_so_to_its_end() -> None:
    start = AStart()
    assert start.told() is None
    start.healing.end()
    assert orjson.loads(start.board.message(0, None))["defaults"]["unhealed"] == ENDING
    assert start.told() == ENDING
