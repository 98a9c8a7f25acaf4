"""Nodes and the tasks on them, as the feed tells admission."""

from __future__ import annotations

import numpy as np

from plimsoll_operator.feed.board import FeedBoard
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.costs import Costs
from plimsoll_predictor.placing.kinds import OTHERS

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def costs_of(task: TaskId, to_itself: float = 1.5) -> Costs:
    """Costs of a task that slows itself, all of them known."""
    return Costs((OTHERS, str(task)), np.array([[0.2, 0.2], [0.2, to_itself]]), np.ones((2, 2)))


def tell_nodes(board: FeedBoard, task: TaskId, **running: int) -> None:
    """Tell how many of the task run on each node; names have ``_`` in place of ``-``."""
    board.set_pairs(costs_of(task))
    for name, count in running.items():
        board.set_host(name.replace("_", "-"), [(1, count)] if count else [])
