"""The controller tells admission that its store cannot be written, and acts by that itself."""

from __future__ import annotations

from dataclasses import dataclass

import orjson
import pytest

from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.healing import HANGS_AFTER_S, STORE, Healing
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_predictor.core.policy import Policy


@dataclass
class AWriter:
    """The part of a writer that is needed here."""

    trouble: str | None = None
    busy_s: float = 0.0


def told(board: FeedBoard) -> object:
    return orjson.loads(board.message(0, None))["defaults"]["unhealed"]


@pytest.mark.parametrize(
    "stuck",
    [
        pytest.param(AWriter(trouble="the disk is full"), id="it says so"),
        pytest.param(AWriter(busy_s=HANGS_AFTER_S + 1), id="a write hangs"),
    ],
)
def test_the_feed_tells_of_a_store_that_cannot_be_written_until_it_can(stuck: AWriter) -> None:
    board, hub = FeedBoard("e"), Hub()
    bounds = ClusterBounds(board, TaskPolicies(Policy(), hub), ClusterNodes())
    healing = Healing(stuck, bounds)  # type: ignore[arg-type]
    assert told(board) is None
    healing.look()
    assert told(board) == STORE
    revision = board.revision
    healing.look()
    assert board.revision == revision
    stuck.trouble, stuck.busy_s = None, HANGS_AFTER_S - 1
    healing.look()
    assert told(board) is None
