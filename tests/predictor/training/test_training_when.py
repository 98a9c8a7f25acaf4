"""When a task is trained again."""

from __future__ import annotations

import pytest

from plimsoll_predictor.training.when_due import Since, should_train


@pytest.mark.parametrize(
    ("since", "why"),
    [
        pytest.param(
            Since(runs=4, min_runs=5, trained_runs=None, new_kills=3), None, id="too few runs known"
        ),
        pytest.param(
            Since(runs=4, min_runs=1, trained_runs=None), None, id="enough to size by, not to train"
        ),
        pytest.param(
            Since(runs=5, min_runs=5, trained_runs=None),
            "5 runs known and never trained",
            id="first",
        ),
        pytest.param(
            Since(runs=100, min_runs=5, trained_runs=100, new_kills=1),
            "1 OOM kill since the last training",
            id="a kill",
        ),
        pytest.param(
            Since(runs=100, min_runs=5, trained_runs=100, new_kills=2),
            "2 OOM kills since the last training",
            id="two kills",
        ),
        pytest.param(
            Since(runs=100, min_runs=5, trained_runs=100), None, id="nothing new is no reason"
        ),
        pytest.param(Since(runs=14, min_runs=5, trained_runs=10), None, id="four new runs of ten"),
        pytest.param(
            Since(runs=15, min_runs=5, trained_runs=10),
            "5 new runs since the last training, which knew 10",
            id="five new runs of ten",
        ),
        pytest.param(
            Since(runs=1099, min_runs=5, trained_runs=1000), None, id="99 new runs of a thousand"
        ),
        pytest.param(
            Since(runs=1100, min_runs=5, trained_runs=1000),
            "100 new runs since the last training, which knew 1000",
            id="a tenth more",
        ),
        pytest.param(
            Since(runs=50, min_runs=5, trained_runs=1000), None, id="runs that were forgotten"
        ),
    ],
)
def test_a_task_is_trained_when_it_has_learned_enough(since: Since, why: str | None) -> None:
    assert should_train(since) == why
