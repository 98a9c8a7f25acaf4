"""Logs of runtimes from files: what is read, what is left out, and the words about it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from plimsoll_predictor.replay.runtimes import log_reading
from plimsoll_predictor.replay.runtimes.log_reading import LogError, read_log, read_logs
from plimsoll_predictor.tables.parquet_tables import write_parquet
from tests.builders.runtimes.runtime_logs import a_log_run, write_log, write_rows

NFCORE = (
    "run",
    "task",
    "submit_ms",
    "start_ms",
    "complete_ms",
    "runtime_s",
    "cpus",
    "preset_bytes",
    "input_bytes",
    "status",
)
ARCHIVE = (
    "task",
    "submit_s",
    "start_s",
    "runtime_s",
    "procs",
    "requested_s",
    "requested_mem_kb",
    "user",
    "busy_at_submit",
    "queued_at_submit",
)


def test_a_written_log_is_read_as_it_was(tmp_path: Path) -> None:
    runs = [
        a_log_run(2).of("a", "ann").at(5, waited_s=2).taking(30.5).asking(600).run,
        a_log_run(3).of("b", "bob").at(9).run,
    ]
    for name in ("log.csv", "log.csv.gz"):
        log = read_log(write_log(tmp_path / name, runs))
        assert list(log.runs) == runs
        assert (log.name, log.left_out, log.shifted, log.disordered) == ("log", {}, 0, 0)


def test_a_parquet_log_is_read_like_a_text(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    kinds: dict[str, type] = {"task": str, "user": str, "submit_s": float, "runtime_s": float}
    rows: list[Mapping[str, object]] = [
        {"task": "t", "user": "u", "submit_s": 4.0, "runtime_s": 7.5},
        {"task": "t"},
    ]
    write_parquet(path, kinds, [rows])
    log = read_log(path)
    assert [(run.task, run.owner, run.submitted_s, run.runtime_s) for run in log.runs] == [
        ("t", "u", 4.0, 7.5)
    ]
    assert log.left_out["submit_s is empty"].lines == [3]


def test_the_archives_columns_are_understood_and_its_minus_ones_are_unknown(
    tmp_path: Path,
) -> None:
    rows = ["t,10,20,30,8,900,2048,7,0.5,3", "t,11,21,31,-1,-1,-1,7,-1,-1"]
    told, untold = read_log(write_rows(tmp_path / "l.csv", rows, ARCHIVE)).runs
    assert (told.processors, told.requested_s, told.requested_bytes) == (8, 900, 2048 * 1024)
    assert (told.busy, told.queued, told.owner) == (0.5, 3, "7")
    assert untold.processors is untold.requested_s is untold.requested_bytes is None
    assert untold.busy is untold.queued is None


def test_a_workflows_columns_are_understood(tmp_path: Path) -> None:
    row = "eager,fastqc,1000000,1002000,1009500,7.25,2,4096,,COMPLETED"
    (run,) = read_log(write_rows(tmp_path / "l.csv", [row], NFCORE)).runs
    assert (run.task, run.owner, run.status) == ("eager/fastqc", "eager", "COMPLETED")
    assert (run.submitted_s, run.started_s, run.finished_s) == (1000, 1002, 1009.5)
    assert (run.runtime_s, run.processors, run.requested_bytes) == (7.25, 2, 4096)
    assert run.input_bytes is None


@pytest.mark.parametrize("run", ["mag", "mag-1", "mag-02", "mag_3", "mag4"])
def test_runs_of_one_workflow_have_one_owner(tmp_path: Path, run: str) -> None:
    row = f"{run},fastqc,1000000,1002000,1009500,7.25,2,4096,,COMPLETED"
    (read,) = read_log(write_rows(tmp_path / "l.csv", [row], NFCORE)).runs
    assert (read.task, read.owner) == ("mag/fastqc", "mag")


@pytest.mark.parametrize("run", ["7", "-7"])
def test_a_run_that_is_only_a_number_keeps_its_name(tmp_path: Path, run: str) -> None:
    row = f"{run},fastqc,1000000,1002000,1009500,7.25,2,4096,,COMPLETED"
    (read,) = read_log(write_rows(tmp_path / "l.csv", [row], NFCORE)).runs
    assert (read.task, read.owner) == (f"{run}/fastqc", run)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        pytest.param("t,1,1,nan,u,5", "runtime_s is not a finite number", id="NaN"),
        pytest.param("t,1,1,inf,u,5", "runtime_s is not a finite number", id="infinite"),
        pytest.param("t,1,1,long,u,5", "runtime_s is not a number", id="a word"),
        pytest.param("t,1,1,,u,5", "runtime_s is empty", id="no runtime"),
        pytest.param("t,1,1,-5,u,5", "runtime_s is negative", id="negative"),
        pytest.param("t,1,1,5e9,u,5", "runtime_s is more than 30 years", id="milliseconds"),
        pytest.param("t,nan,1,5,u,5", "submit_s is not a finite number", id="NaN as time"),
        pytest.param("t,,1,5,u,5", "submit_s is empty", id="no submission"),
        pytest.param("t,-9,1,5,u,5", "submit_s is negative", id="before time began"),
        pytest.param("t,1,9e99,5,u,5", "start_s is negative or thousands", id="far future"),
        pytest.param(",1,1,5,u,5", "task is empty", id="no task"),
        pytest.param("t,1,1,5,u", "5 cells where the header names 6", id="a missing cell"),
        pytest.param(f"{'t' * 1025},1,1,5,u,5", "task has more than 1024", id="a long name"),
    ],
)
def test_a_row_that_is_no_run_is_left_out_with_its_line(
    tmp_path: Path, row: str, reason: str
) -> None:
    log = read_log(write_rows(tmp_path / "l.csv", ["t,1,1,5,u,5", row, "t,2,2,5,u,5"]))
    assert [run.line for run in log.runs] == [2, 4]
    ((said, out),) = log.left_out.items()
    assert reason in said
    assert "line 3" in out.words(said)


def test_a_run_that_finished_before_it_started_is_left_out_with_its_line(tmp_path: Path) -> None:
    rows = ["r,t,5000,9000,7000,2,,,,", "r,t,6000,9000,10000,1,,,,"]
    log = read_log(write_rows(tmp_path / "l.csv", rows, NFCORE))
    assert [run.line for run in log.runs] == [3]
    assert log.left_out["it finished before it started"].lines == [2]


def test_a_runtime_of_zero_seconds_is_kept_and_told(tmp_path: Path) -> None:
    log = read_log(write_rows(tmp_path / "l.csv", ["t,1,1,0,u,5", "t,2,2,3,u,5"]))
    assert [run.runtime_s for run in log.runs] == [0, 3]
    assert log.zeros == 1


def test_a_run_cannot_start_or_finish_before_its_submission(tmp_path: Path) -> None:
    rows = ["t,100,90,5,u,5", "t,100,90,30,u,5", "t,100,99.5,5,u,5", "t,100,100,5,u,5"]
    log = read_log(write_rows(tmp_path / "l.csv", rows))
    assert [run.started_s for run in log.runs] == [100] * 4
    assert [run.finished_s for run in log.runs] == [100, 120, 104.5, 105]
    # A clock of whole seconds may round to half a second before.
    assert log.shifted == 2


def test_a_clock_that_jumps_back_is_told_and_its_runs_are_sorted(tmp_path: Path) -> None:
    rows = ["t,100,100,5,u,5", "t,200,200,5,u,5", "t,50,50,5,u,5", "t,60,60,5,u,5"]
    log = read_log(write_rows(tmp_path / "l.csv", rows))
    assert [run.line for run in log.runs] == [4, 5, 2, 3]
    assert log.disordered == 2


def test_runs_of_one_moment_stay_in_the_order_of_the_file(tmp_path: Path) -> None:
    log = read_log(write_rows(tmp_path / "l.csv", ["t,7,7,5,u,5"] * 50))
    assert [run.line for run in log.runs] == list(range(2, 52))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        pytest.param(("task", "submit_s"), "line 1: lacks the column runtime_s", id="one"),
        pytest.param(
            ("job", "runtime_s"),
            "line 1: lacks the columns task, submit_s or submit_ms",
            id="two",
        ),
        pytest.param(
            ("task", "submit_s", "runtime_s", "task"), "line 1: names the column 'task' twice",
            id="one twice",
        ),
    ],
)  # fmt: skip
def test_a_log_without_its_columns_is_refused_with_the_line(
    tmp_path: Path, columns: tuple[str, ...], words: str
) -> None:
    path = write_rows(tmp_path / "l.csv", ["1,1,1,1"], columns)
    with pytest.raises(LogError, match=words):
        read_log(path)


def test_a_log_without_a_run_says_why_and_where(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "l.csv", ["t,1,1,nan,u,5", "t,1,1,nan,u,5"])
    with pytest.raises(LogError, match=r"no run to replay .*not a finite number.*lines 2, 3"):
        read_log(path)


def test_a_log_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"gone\.csv cannot be read: No such file"):
        read_log(tmp_path / "gone.csv")


def test_more_runs_than_memory_is_meant_for_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reading, "MOST_RUNS", 3)
    path = write_rows(tmp_path / "l.csv", ["t,1,1,5,u,5"] * 4)
    with pytest.raises(LogError, match=r"more than 3 runs.*line 5 was reached"):
        read_log(path)


def test_several_files_are_one_log_in_the_order_of_submission(tmp_path: Path) -> None:
    late = write_rows(tmp_path / "a.csv", ["late,100,100,5,u,5"])
    early = write_rows(tmp_path / "b.csv", ["early,1,1,5,u,5"])
    log = read_logs([late, early], "both")
    assert [run.task for run in log.runs] == ["early", "late"]
    # Each file has its own order of time: the second one does not jump back.
    assert (log.name, log.disordered) == ("both", 0)


def test_reading_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plimsoll_predictor.tables.table_reading.PROGRESS_EVERY", 2)
    told: list[int] = []
    read_log(write_rows(tmp_path / "l.csv", ["t,1,1,5,u,5"] * 5), told.append)
    assert len(told) == 2
