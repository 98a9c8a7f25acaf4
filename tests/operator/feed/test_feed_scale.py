"""Five hundred tasks with models: bytes that admission's replicas read, and how soon."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scale.feed import measure
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from tests.rigs.servers.admission_servers import knowledge_of


@pytest.mark.slow
async def test_five_hundred_models_fit_and_one_update_is_everywhere_long_before_all_could_be(
    tmp_path: Path,
) -> None:
    figures = await measure(tmp_path, tasks=500, models=500)
    assert figures.rss_bytes <= 250e6
    # On an idle machine it takes a hundredth of that; `make bench-scale` has the seconds.
    assert figures.update_s <= figures.retrained_s / 10


def told_bytes(tasks: int) -> tuple[int, int]:
    """Bytes for a new reader about that many tasks in all, and about one that changed."""
    board = FeedBoard("e1", max_message_bytes=2**30)
    board.set_defaults(Policy())
    for number in range(tasks):
        board.publish(knowledge_of(TaskId("shop", f"t{number:05}")))
    everything, revision = len(board.message(0, None)), board.revision
    board.publish(knowledge_of(TaskId("shop", "t00000"), max_need_bytes=7))
    return everything, len(board.message(revision, "e1"))


@pytest.mark.slow
def test_what_is_told_grows_with_the_tasks_and_a_change_costs_the_same_at_any_number() -> None:
    few, change_of_few = told_bytes(100)
    many, change_of_many = told_bytes(10_000)
    assert many <= 101 * few
    assert change_of_many <= change_of_few + 20
