"""The table that judges pods also judges rows of a history file that name no cause."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from plimsoll_operator.commands.past_runs.import_file import import_command
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store

TRAIN = TaskId("shop", "train-demand")
HEADER = "namespace,task,run,finished_s,outcome,cause,exit_code,allocation_bytes,peak_bytes"


def imported(
    folder: Path, cells: str
) -> tuple[str, list[tuple[Outcome, Cause | None, int | None]]]:
    """The output, and each kept attempt's end and need."""
    path, database = folder / "history.csv", folder / "store.db"
    path.write_text(f"{HEADER}\nshop,train-demand,r1,1700000000,{cells}\n")
    out = io.StringIO()
    import_command(path, str(database), console=Console(file=out, width=200))
    store = Store.open(str(database))
    kept = store.observations.of_task(TRAIN)
    store.close()
    ends = [
        (each.outcome, each.cause, each.need.size_bytes if each.need else None) for each in kept
    ]
    return out.getvalue(), ends


@pytest.mark.parametrize(
    ("cells", "outcome", "cause", "need_bytes"),
    [
        pytest.param(
            "succeeded,,0,1000000,500000", Outcome.SUCCEEDED, None, 500_000, id="a success"
        ),
        pytest.param(
            ",,,1000000,500000", Outcome.SUCCEEDED, None, 500_000, id="nothing but a peak"
        ),
        pytest.param(
            ",,3,1000000,500000", Outcome.FAILED, Cause.JVM, None, id="an exit says it failed"
        ),
        pytest.param(",,52,1000000,500000", Outcome.FAILED, Cause.SPARK, None, id="Spark's exit"),
        pytest.param(
            "failed,,137,1000000,950000", Outcome.OOM_KILLED, Cause.NEAR_LIMIT, 1_000_000, id="near"
        ),
        pytest.param("failed,,137,1000000,400000", Outcome.FAILED, Cause.KILLED, None, id="far"),
        pytest.param(
            "oom-killed,,0,1000000,", Outcome.OOM_KILLED, Cause.CHILD, 1_000_000, id="a child"
        ),
        pytest.param(
            ",cuda,1,1000000,950000", Outcome.FAILED, Cause.CUDA, None, id="a cause alone"
        ),
        pytest.param(
            "oom-killed,child,137,1000000,",
            Outcome.OOM_KILLED,
            Cause.CHILD,
            1_000_000,
            id="as it says",
        ),
    ],
)
def test_a_row_ends_as_a_pod_would(
    tmp_path: Path, cells: str, outcome: Outcome, cause: Cause | None, need_bytes: int | None
) -> None:
    assert imported(tmp_path, cells)[1] == [(outcome, cause, need_bytes)]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        pytest.param(
            "succeeded,jvm,3,1000000,500000", "cause jvm is of outcome failed", id="they differ"
        ),
        pytest.param(
            "failed,gremlins,1,1000000,500000", "cause 'gremlins' is none of own-limit", id="?"
        ),
    ],
)
def test_a_row_that_contradicts_itself_is_reported(tmp_path: Path, cells: str, words: str) -> None:
    said, ends = imported(tmp_path, cells)
    assert (ends, words in said) == ([], True)
