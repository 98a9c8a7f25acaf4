"""``plimsoll import --airflow``: what it finds and prints, and its exit status."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from plimsoll_operator.airflow_history.metadata import Metadata, MetadataError
from plimsoll_operator.airflow_history.past_tries import PastTry
from plimsoll_operator.commands.past_runs import import_airflow
from plimsoll_operator.commands.past_runs.import_airflow import AirflowRequest, airflow_command
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.tables.history import read_history

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
NOW_S = NOON.timestamp() + 3600
A_TRY = PastTry(
    dag="nightly",
    task="chunk",
    run="r1",
    state="success",
    started=NOON,
    ended=datetime(2026, 1, 5, 12, 1, tzinfo=UTC),
    pod_name="chunk-1",
    pod_namespace="shop",
    resources={"limits": {"memory": "64Mi"}},
)
A_FUNCTION = replace(A_TRY, pod_name=None, pod_namespace=None, resources=None)


class Remembered:
    """Stands in for a database; test_metadata reads a real one."""

    def __init__(self, *tries: PastTry) -> None:
        self.tries_of_it = tries
        self.span: tuple[float, float] | None = None

    def tries(self, since_s: float, until_s: float) -> Iterator[PastTry]:
        self.span = (since_s, until_s)
        yield from self.tries_of_it

    def close(self) -> None:
        """There is nothing to close."""


@dataclass(frozen=True, slots=True)
class Done:
    """How it ended."""

    status: int
    said: str
    attempts: list[Observation]
    span: tuple[float, float] | None


def run_import(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *tries: PastTry, **asked: str
) -> Done:
    remembered = Remembered(*tries)
    monkeypatch.setattr(Metadata, "open", lambda _: remembered)
    out, said = folder / "past.csv", io.StringIO()
    request = AirflowRequest(address="sqlite:////airflow.db", **asked)
    status = airflow_command(request, out, NOW_S, Console(file=said, width=200))
    rows = list(read_history(out)) if out.exists() else []
    attempts = [row for row in rows if isinstance(row, Observation)]
    assert len(attempts) == len(rows)
    return Done(status, " ".join(said.getvalue().split()), attempts, remembered.span)


def test_tries_become_a_history_that_is_read_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    again = replace(A_TRY, number=2)
    done = run_import(monkeypatch, tmp_path, A_TRY, again, A_FUNCTION)
    assert done.status == 0
    assert [(each.attempt, each.runtime_s) for each in done.attempts] == [(1, 60.0), (2, 60.0)]
    assert {each.request_bytes for each in done.attempts} == {64 * MIB}
    assert "1 left out: it left no trace of a pod" in done.said
    assert "2 tries of 1 task were found; of 2 Airflow still knows what memory" in done.said


def test_a_try_that_two_tables_have_counts_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert len(run_import(monkeypatch, tmp_path, A_TRY, A_TRY).attempts) == 1


def test_the_oldest_try_comes_first_in_whatever_order_they_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    older = replace(A_TRY, run="r0", started=NOON.replace(hour=9), ended=NOON.replace(hour=10))
    done = run_import(monkeypatch, tmp_path, A_TRY, older, replace(A_TRY, number=2))
    assert [each.runtime_s for each in done.attempts] == [3600.0, 60.0, 60.0]


def test_the_time_is_that_which_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = run_import(monkeypatch, tmp_path, A_TRY, since="2h", until="2026-01-05T12:30:00")
    assert done.span == (NOW_S - 7200, NOW_S - 1800)


@pytest.mark.parametrize(
    ("tries", "asked", "words"),
    [
        pytest.param((), {}, "no try ended since 30d", id="nothing ended"),
        pytest.param((A_FUNCTION,), {}, "ran as a pod: 1: it left no trace of a pod", id="no pods"),
        pytest.param(
            (A_TRY,), {"namespace": "lab"}, "1: its pod was in another namespace", id="elsewhere"
        ),
        pytest.param((A_TRY,), {"since": "soon"}, "'soon' is no time", id="no time"),
        pytest.param(
            (A_TRY,),
            {"since": "1h", "until": "2h"},
            "--until is not after --since",
            id="upside down",
        ),
    ],
)
def test_what_yields_nothing_says_why(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    tries: tuple[PastTry, ...],
    asked: dict[str, str],
    words: str,
) -> None:
    done = run_import(monkeypatch, tmp_path, *tries, **asked)
    assert (done.status, done.attempts) == (1, [])
    assert words in done.said


def test_more_tries_than_fit_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(import_airflow, "MOST_ATTEMPTS", 2)
    tries = [replace(A_TRY, number=number) for number in range(1, 4)]
    done = run_import(monkeypatch, tmp_path, *tries)
    assert (done.status, done.attempts) == (1, [])
    assert "more than 2 tries; import them in parts" in done.said


def test_a_database_that_cannot_be_read_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(_: str) -> Metadata:
        raise MetadataError("there is no file /x")

    monkeypatch.setattr(Metadata, "open", broken)
    said = io.StringIO()
    request = AirflowRequest(address="sqlite:////x")
    assert airflow_command(request, tmp_path / "h.csv", NOW_S, Console(file=said, width=99)) == 1
    assert "there is no file /x" in said.getvalue()
