"""``plimsoll import --prometheus``: which of the attempts found can be imported.

What a Prometheus knows is in tests/monitoring/test_prometheus_import.py, by a real one.
"""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from plimsoll_operator.commands.past_runs import import_prometheus
from plimsoll_operator.commands.past_runs.import_prometheus import (
    PrometheusRequest,
    prometheus_command,
)
from plimsoll_operator.prometheus_history.windows import END_UNSEEN, Progress
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.tables.history import read_history

GOOD = Observation(
    attempt_uid="good",
    task=TaskId("shop", "train"),
    run="r1",
    outcome=Outcome.SUCCEEDED,
    peak_bytes=500_000_000,
    started_s=1_700_000_000.0,
    finished_s=1_700_000_060.0,
)
NAMELESS = Observation(
    attempt_uid="nameless",
    task=TaskId("shop", "-train"),
    run="r2",
    outcome=Outcome.SUCCEEDED,
    peak_bytes=500_000_000,
    finished_s=1_700_000_060.0,
)


def imported(
    monkeypatch: pytest.MonkeyPatch, out: Path, *found: Observation, reason: str = END_UNSEEN
) -> tuple[int, str, int]:
    """The exit status, what was printed, and how many rows were written."""

    async def read(*_: object) -> tuple[list[Observation], Progress]:
        return list(found), Progress(left_out=Counter({reason: 2}))

    monkeypatch.setattr(import_prometheus, "_read", read)
    said = io.StringIO()
    request = PrometheusRequest(address="http://prometheus")
    status = prometheus_command(request, out, 1_700_001_000.0, Console(file=said, width=200))
    rows = len(list(read_history(out))) if out.exists() else 0
    return status, " ".join(said.getvalue().split()), rows


def test_attempts_that_fit_no_history_file_are_counted_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    status, said, rows = imported(monkeypatch, tmp_path / "past.csv", GOOD, NAMELESS)
    assert (status, rows) == (0, 1)
    assert "2 pods left out: its end was not seen" in said
    assert "1 attempts left out: task '-train' is no Kubernetes name" in said
    assert "1 attempts of" in said


def test_it_is_a_failure_if_no_attempt_can_be_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    status, said, rows = imported(monkeypatch, tmp_path / "past.csv", NAMELESS)
    assert (status, rows) == (1, 0)
    assert "none of the 1 attempts found can be imported: 1: task '-train' is no Kubernetes" in said
    assert not (tmp_path / "past.csv").exists()


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (END_UNSEEN, "no pod's end was seen, of 2 pods of tasks; is --since long enough?"),
        ("its step hides", "none of the 2 pods of tasks found can be imported: 2: its step hides"),
    ],
)
def test_where_all_pods_are_left_out_the_reason_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reason: str, words: str
) -> None:
    status, said, _ = imported(monkeypatch, tmp_path / "past.csv", reason=reason)
    assert (status, words in said) == (1, True), said
