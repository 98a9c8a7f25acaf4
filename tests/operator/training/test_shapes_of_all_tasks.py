"""Shapes and features are learned from all tasks, not from the busiest alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from plimsoll_operator.training import shapes
from plimsoll_operator.training.shapes import fair_limit, runs_of
from plimsoll_predictor.core.task import TaskId
from tests.builders.stores import NOON_S, an_attempt, open_store


@pytest.mark.parametrize(
    ("counts", "most", "limit"),
    [
        pytest.param([5, 3], 10, 5, id="all fit"),
        pytest.param([], 10, 0, id="none"),
        pytest.param([10, 10], 10, 5, id="equal shares"),
        pytest.param([10, 2, 10], 12, 5, id="what a small one leaves is the others'"),
    ],
)
def test_tasks_share_what_is_read(counts: list[int], most: int, limit: int) -> None:
    assert fair_limit(counts, most) == limit


def test_a_small_task_is_learned_from_beside_many_busy_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "MOST_RUNS", 60)
    store = open_store(tmp_path)
    busy = {TaskId("shop", f"busy-{n}"): 10 for n in range(25)}
    for task, count in {**busy, TaskId("lab", "small"): 2}.items():
        runs = (an_attempt(f"{task}-{n}").of(task) for n in range(count))
        store.observations.record([each.running(NOON_S, NOON_S + 60).built for each in runs])
    known = Counter(run.task for run in runs_of(store))
    store.close()
    assert known["lab/small"] == 2
    assert len(known) == 26
    assert known.total() <= 60
