"""``plimsoll export`` and ``plimsoll traces convert``: a team's own past, out and into a trace."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.commands.past_runs.export import export_command
from plimsoll_operator.commands.past_runs.import_file import ImportRules, import_command
from plimsoll_operator.commands.past_runs.traces import tracing_command
from plimsoll_predictor.core.record import Cause, Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.replay.sizes.traces import read_trace
from plimsoll_predictor.store import Store
from plimsoll_predictor.tables.history import OWN_COLUMNS
from plimsoll_predictor.tables.history_columns import COLUMNS

GIB = 2**30
TRAIN, CLEAN = TaskId("shop", "train"), TaskId("shop", "clean")
NEXTFLOW = (
    "task_id\thash\tname\tstatus\tsubmit\tduration\trealtime\tpeak_rss\n"
    "1\ta/1\tFASTQC (s1)\tCOMPLETED\t2024-06-25 10:05:58.651\t3m 5s\t2m 58s\t1.2 GB\n"
    "2\ta/2\tFASTQC (s2)\tFAILED\t2024-06-25 10:05:59.000\t3m 5s\t2m 58s\t1.2 GB\n"
)


def an_attempt(uid: str, task: TaskId = TRAIN, **changes: object) -> Observation:
    values: dict[str, object] = {
        "attempt_uid": uid,
        "task": task,
        "run": f"run-{uid}",
        "outcome": Outcome.SUCCEEDED,
        "request_bytes": 4 * GIB,
        "allocation_bytes": GIB,
        "peak_bytes": GIB // 2 + 1,
        "peak_source": PeakSource.IMPORTED,
        "cpu_s": 12.25,
        "peak_cores": 1.5,
        "request_cores": 2.0,
        "allocated_cores": 0.5,
        "submitted_s": 1_700_000_000.125,
        "started_s": 1_700_000_005.0,
        "finished_s": 1_700_000_065.5,
        "node": "n1",
        "image": "registry/train:1",
        "exit_code": 0,
        "features": {"rows": 7.0, "region": "eu, west", "when": "2024-06-25"},
    }
    return Observation(**(values | changes))  # type: ignore[arg-type]


def a_store(tmp_path: Path, *attempts: Observation, name: str = "store.db") -> str:
    url = f"sqlite:///{tmp_path}/{name}"
    store = Store.open(url)
    store.observations.record(attempts)
    store.close()
    return url


def kept(url: str, task: TaskId) -> list[Observation]:
    store = Store.open(url)
    try:
        return store.observations.of_task(task)
    finally:
        store.close()


def said_by(command: Callable[..., int], *arguments: object, **options: object) -> tuple[int, str]:
    """The exit status, and what was printed."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        status = command(*arguments, **options)
    return status, printed.getvalue()


def exported(url: str, out: Path, *tasks: str) -> tuple[int, str]:
    return said_by(export_command, tasks, url, out)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["h.csv", "h.csv.gz", "h.parquet"])
def test_what_is_exported_is_imported_as_it_was(tmp_path: Path, name: str) -> None:
    attempts = [
        an_attempt("a"),
        an_attempt(
            "b",
            outcome=Outcome.OOM_KILLED,
            cause=Cause.NEAR_LIMIT,
            peak_bytes=None,
            exit_code=137,
        ),
        an_attempt("c", attempt=2, run="run-b", request_bytes=None, node=None, features={}),
        an_attempt("d", CLEAN, features={"shards": 3.0}),
        an_attempt("e", outcome=Outcome.EVICTED, cause=Cause.PREEMPTED),
    ]
    url = a_store(tmp_path, *attempts)
    status, printed = exported(url, tmp_path / name)
    assert (status, "5 attempts of 2 tasks" in printed) == (0, True)
    other = f"sqlite:///{tmp_path}/other.db"
    assert said_by(import_command, tmp_path / name, other, ImportRules(strict=True))[0] == 0
    for task in (TRAIN, CLEAN):
        assert kept(other, task) == kept(url, task)


def test_every_column_that_is_imported_is_exported() -> None:
    assert set(OWN_COLUMNS) == COLUMNS - {"runtime_s"}


def test_only_the_tasks_named_are_exported(tmp_path: Path) -> None:
    url = a_store(tmp_path, an_attempt("a"), an_attempt("d", CLEAN))
    assert exported(url, tmp_path / "h.csv", "shop/clean")[0] == 0
    text = (tmp_path / "h.csv").read_text()
    assert ("shop,clean" in text, "shop,train" in text) == (True, False)


def test_what_cannot_be_read_back_is_left_out_and_said(tmp_path: Path) -> None:
    unknown = an_attempt("b", peak_bytes=None, peak_source=None, started_s=None)
    url = a_store(tmp_path, an_attempt("a"), unknown)
    status, printed = exported(url, tmp_path / "h.csv")
    assert status == 0
    assert "1 left out: peak_bytes is empty" in printed
    assert ": 1 attempt of 1 task" in printed


@pytest.mark.slow
def test_a_success_that_nobody_measured_keeps_its_runtime(tmp_path: Path) -> None:
    url = a_store(tmp_path, an_attempt("b", peak_bytes=None, peak_source=None))
    assert exported(url, tmp_path / "h.csv")[0] == 0
    other = f"sqlite:///{tmp_path}/other.db"
    assert said_by(import_command, tmp_path / "h.csv", other)[0] == 0
    (attempt,) = kept(other, TRAIN)
    assert (attempt.runtime_s, attempt.need) == (60.5, None)


@pytest.mark.slow
def test_what_is_imported_counts_as_imported_also_without_a_peak(tmp_path: Path) -> None:
    killed = an_attempt("b", outcome=Outcome.OOM_KILLED, peak_bytes=None, peak_source=None)
    url = a_store(tmp_path, replace(killed, cause=Cause.OWN_LIMIT))
    assert exported(url, tmp_path / "h.csv")[0] == 0
    other = f"sqlite:///{tmp_path}/other.db"
    said_by(import_command, tmp_path / "h.csv", other)
    assert [each.peak_source for each in kept(other, TRAIN)] == [PeakSource.IMPORTED]


@pytest.mark.slow
def test_runs_that_were_observed_are_left_out_where_asked(tmp_path: Path) -> None:
    url = a_store(tmp_path, an_attempt("a"), an_attempt("b"))
    assert exported(url, tmp_path / "h.csv")[0] == 0
    seen = an_attempt("pod-uid", run="run-a", peak_source=PeakSource.AGENT)
    other = a_store(tmp_path, seen, name="other.db")
    rules = ImportRules(unobserved=True)
    status, printed = said_by(import_command, tmp_path / "h.csv", other, rules)
    assert status == 0
    assert "1 of runs that were observed" in " ".join(printed.split())
    assert [each.attempt_uid for each in kept(other, TRAIN)] == ["pod-uid", "b"]


@pytest.mark.parametrize(
    ("task", "out", "words"),
    [
        pytest.param("shop/typo", "h.csv", "shop/typo: no attempt was observed", id="no such task"),
        pytest.param("typo", "h.csv", "not 'namespace/name'", id="no task at all"),
        pytest.param("shop/train", "no/h.csv", "cannot be written", id="no such folder"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(
    tmp_path: Path, task: str, out: str, words: str
) -> None:
    status, printed = exported(a_store(tmp_path, an_attempt("a")), tmp_path / out, task)
    assert status == 1
    assert words in printed


def test_an_empty_store_exports_nothing(tmp_path: Path) -> None:
    status, printed = exported(a_store(tmp_path), tmp_path / "h.csv")
    assert (status, "has no observations" in printed) == (1, True)
    assert not (tmp_path / "h.csv").exists()


def test_a_nextflow_trace_and_exported_history_make_one_trace(tmp_path: Path) -> None:
    url = a_store(tmp_path, an_attempt("a"), an_attempt("d", CLEAN))
    exported(url, tmp_path / "h.csv")
    (tmp_path / "trace.txt").write_text(NEXTFLOW)
    status, printed = said_by(
        tracing_command, [tmp_path / "h.csv", tmp_path / "trace.txt"], tmp_path / "t.csv.gz"
    )
    assert status == 0
    assert "h.csv: Kubernetes history" in printed
    assert "trace.txt: Nextflow trace" in printed
    assert "1 left out: status is neither COMPLETED nor CACHED" in printed
    assert "3 runs of 3 tasks" in printed
    rows = read_trace(tmp_path / "t.csv.gz").rows
    assert [row.task for row in rows] == ["shop/clean", "shop/train", "FASTQC"]
    assert rows[1].features == {"rows": 7.0, "region": "eu, west", "when": "2024-06-25"}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param({"timezone": "Mars/Base"}, "no time zone 'Mars/Base'", id="no such zone"),
        pytest.param({"timezone": "../etc"}, "no time zone", id="a path for a zone"),
        pytest.param({"files": [Path("/nowhere/x")]}, "cannot be read", id="no such file"),
        pytest.param({"out": Path("/nowhere/t.csv")}, "cannot be written", id="no such folder"),
    ],
)
def test_what_cannot_be_converted_is_one_sentence(
    tmp_path: Path, asked: dict[str, object], words: str
) -> None:
    (tmp_path / "trace.txt").write_text(NEXTFLOW)
    usual = {"files": [tmp_path / "trace.txt"], "out": tmp_path / "t.csv"}
    printed, complained = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(complained):
        status = tracing_command(**(usual | asked))  # type: ignore[arg-type]
    assert status == 1
    assert words in complained.getvalue()
    assert printed.getvalue() == ""
