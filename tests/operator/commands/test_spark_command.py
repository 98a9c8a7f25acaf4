"""`plimsoll spark`: what settings cost applications, by their event logs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.splitting.spark import spark_command
from plimsoll_predictor.splitting.spark.application import Application
from plimsoll_predictor.splitting.spark.given import Lesson, lesson_of
from tests.builders.splitting.spark_logs import (
    KILLED,
    OFF,
    ON,
    a_stage,
    a_start,
    a_task,
    an_end,
    line,
    real_lines,
)


def test_it_says_what_is_found_what_it_costs_and_what_to_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert spark_command([OFF], OutputForm.TABLE) == 0
    said = capsys.readouterr().out
    assert "join-off-200 · local-" in said
    assert "spark.sql.adaptive.enabled=true" in said
    assert "adaptive execution is off: 400 tasks in 2 stages, where 12 would do" in said
    assert "388 tasks × " in said


def test_it_says_that_there_is_nothing_to_gain(capsys: pytest.CaptureFixture[str]) -> None:
    assert spark_command([ON], OutputForm.TABLE) == 0
    said = capsys.readouterr().out
    assert "nothing to gain: adaptive execution chooses partitions" in said
    assert "149Mi written to disk and read again" in said


def test_programs_get_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert spark_command([OFF, ON, KILLED], OutputForm.JSON) == 0
    off, on, killed = json.loads(capsys.readouterr().out)["applications"]
    assert [each["name"] for each in (off, on, killed)] == [
        "join-off-200",
        "join-on",
        "executor-killed",
    ]
    (small,) = off["findings"]
    assert (small["kind"], small["setting"], small["value"]) == (
        "small-tasks",
        "spark.sql.adaptive.enabled",
        "true",
    )
    assert small["tasks"] == 400
    assert (off["adaptive"], on["adaptive"], on["time"]) == (False, True, "adaptive")
    assert killed["lost"]["executors"] == 1


def test_two_applications_of_one_name_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = b"".join(real_lines(OFF)).replace(b"local-1795494788690", b"local-2")
    (tmp_path / "again.gz").write_bytes(gzip.compress(again))
    assert spark_command([OFF, tmp_path / "again.gz"], OutputForm.JSON) == 0
    found = json.loads(capsys.readouterr().out)["applications"]
    assert [each["id"] for each in found] == ["local-1795494788690", "local-2"]


def test_a_log_that_cannot_be_read_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("hello\n")
    missing = tmp_path / "missing"
    assert spark_command([tmp_path / "notes.txt", missing, ON], OutputForm.TABLE) == 1
    said = capsys.readouterr()
    assert "join-on" in said.out
    assert "notes.txt: it has no event of Spark" in said.err
    assert "missing cannot be read" in said.err


def test_it_says_how_much_of_a_log_was_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = b"".join(real_lines(OFF)[:300])[:-20]
    packed = gzip.compress(cut)
    (tmp_path / "cut").write_bytes(cut)
    (tmp_path / "torn.gz").write_bytes(packed[: len(packed) // 2])
    assert spark_command([tmp_path / "cut", tmp_path / "torn.gz"], OutputForm.TABLE) == 0
    said = capsys.readouterr()
    assert "ends early: the application still ran, or was killed; 1 line could not be" in said.out
    assert "torn.gz is damaged, and read as far as it goes" in said.err


def test_every_kind_of_finding_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mib = 2**20
    read = {"Local Bytes Read": 100 * mib}
    peaks = {"JVMHeapMemory": 500 * mib, "ProcessTreePythonRSSMemory": 900 * mib}
    many = [
        a_task(1, 9000, peaks=peaks, Shuffle_Read_Metrics=read, Peak_Execution_Memory=10 * mib)
        for _ in range(4)
    ]
    spilled = a_task(
        1,
        9000,
        Shuffle_Read_Metrics=read,
        Peak_Execution_Memory=mib,
        Memory_Bytes_Spilled=mib,
        Disk_Bytes_Spilled=mib,
    )
    pieces = [a_task(2, 50, peaks=peaks, Input_Metrics={"Bytes Read": 1}) for _ in range(2000)]
    lines = [
        *a_start({"spark.executor.memory": "4g", "spark.sql.files.maxPartitionBytes": "1m"}),
        *a_stage(1, [*many, spilled], 9000),
        *a_stage(2, pieces, 25_000),
        an_end(60_000),
    ]
    log = tmp_path / "log"
    log.write_bytes(b"".join(lines))
    assert spark_command([log], OutputForm.TABLE) == 0
    said = capsys.readouterr().out
    for words in (
        "files read in small pieces: 2,000 tasks in 1 stage, where 16 would do",
        "stage 1 has 5 partitions that do not fit into memory",
        "900Mi beside the heap, where 410Mi are foreseen",
        "of 4Gi heap 500Mi were used at most",
    ):
        assert words in said


def test_it_says_how_many_heaps_were_full(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = line("ExecutorRemoved", Executor_ID="1", Removed_Reason="exited with exit code 52")
    log = tmp_path / "log"
    log.write_bytes(b"".join([*a_start(), full, an_end(1000)]))
    assert spark_command([log], OutputForm.TABLE) == 0
    assert "1 executor ended with a full heap" in capsys.readouterr().out


def a_rolling_log(folder: Path, first: str) -> Path:
    """Of an application whose heap is hardly used at its end. first: the first file's name."""
    mib = 2**20
    peaks, read = {"JVMHeapMemory": 500 * mib}, {"Local Bytes Read": 1000}
    tasks = [a_task(1, 20, peaks=peaks, Shuffle_Read_Metrics=read) for _ in range(200)]
    off = {"spark.executor.memory": "8g", "spark.sql.adaptive.enabled": "false"}
    folder.mkdir()
    (folder / first).write_bytes(b"".join(a_start(off)))
    ended = [*a_stage(1, tasks, 1000), an_end(1000)]
    (folder / "events_2_spark-1").write_bytes(b"".join(ended))
    return folder


@pytest.mark.parametrize("compacted", [False, True])
def test_of_a_compacted_log_no_heap_is_called_unused_and_nothing_taught(
    compacted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = a_rolling_log(tmp_path / "log", "events_1_spark-1" + ".compact" * compacted)
    lessons: list[Lesson] = []

    def taught(application: Application) -> str:
        lessons.append(lesson_of(application))
        return lessons[-1].why

    assert spark_command([log], OutputForm.TABLE, taught) == 0
    said = capsys.readouterr().out
    assert ("were used at most" in said) is not compacted
    assert ("was compacted: executors that are gone" in said) is compacted
    assert (lessons[0].partitions is None) is compacted


def test_what_a_log_says_cannot_colour_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(a_start()).replace(b"etl", b"\\u001b[31m[red]x"))
    assert spark_command([log], OutputForm.TABLE) == 0
    said = capsys.readouterr().out
    assert "\x1b[31m" not in said
    assert "[red]x" in said


def test_what_a_log_teaches_is_said_beside_and_an_error_is_the_exit_status(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert spark_command([ON], OutputForm.JSON, lambda each: f"{each.name} teaches nothing") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["applications"][0]["name"] == "join-on"
    assert "join-on teaches nothing" in err

    def refused(_: Application) -> str:
        raise ValueError("shop: write a task as namespace/name")

    assert spark_command([ON], OutputForm.JSON, refused) == 1
    assert "write a task as namespace/name" in capsys.readouterr().err
