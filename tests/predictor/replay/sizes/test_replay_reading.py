"""Trace files: what is read, left out and counted, or refused, and the words for it."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from plimsoll_predictor.replay.sizes import traces
from plimsoll_predictor.replay.sizes.traces import (
    Trace,
    TraceError,
    read_trace,
    trace_name,
    write_trace,
)

CELLS = {
    "run": "r1",
    "task": "ALIGN",
    "sample": "s1",
    "submit_ms": "1719302358651",
    "start_ms": "1719302360000",
    "complete_ms": "1719302420000",
    "runtime_s": "58.5",
    "cpus": "2",
    "preset_bytes": "4294967296",
    "input_bytes": "1000",
    "read_bytes": "2000",
    "peak_rss_bytes": "734003200",
    "hostname": "n1",
    "feature.region": "eu",
    "feature.rows": "18",
}


def a_line(**changes: str) -> str:
    cells = CELLS | {name.replace("feature_", "feature."): text for name, text in changes.items()}
    return ",".join(cells.values())


def a_file(folder: Path, *lines: str, header: str = ",".join(CELLS), name: str = "t.csv") -> Path:
    path = folder / name
    text = "\n".join((header, *lines, "")).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


def reasons(trace: Trace) -> dict[str, tuple[int, list[int]]]:
    return {why: (out.count, out.lines) for why, out in trace.left_out.items()}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_line_becomes_a_run(tmp_path: Path, name: str) -> None:
    trace = read_trace(a_file(tmp_path, a_line(), name=name))
    (row,) = trace.rows
    assert (row.line, row.run, row.task, row.item) == (2, "r1", "ALIGN", "s1")
    assert (row.submit_s, row.start_s, row.complete_s) == (1719302358.651, 1719302360, 1719302420)
    assert (row.runtime_s, row.cpus, row.preset_bytes) == (58.5, 2, 4294967296)
    assert (row.input_bytes, row.peak_bytes) == (1000, 734003200)
    assert (trace.name, trace.shifted, trace.unasked) == ("t", 0, 0)


def test_what_was_not_known_before_the_run_is_no_feature(tmp_path: Path) -> None:
    (row,) = read_trace(a_file(tmp_path, a_line())).rows
    assert row.features == row.asked.features == {"region": "eu", "rows": 18.0}


def test_columns_may_stand_in_any_order_and_the_optional_ones_be_missing(tmp_path: Path) -> None:
    header = "peak_rss_bytes,complete_ms,start_ms,submit_ms,task"
    path = a_file(tmp_path, "100,1719302420000,1719302360000,1719302358651,A", header=header)
    trace = read_trace(path)
    (row,) = trace.rows
    assert (row.item, row.cpus, row.preset_bytes, row.input_bytes) == (None,) * 4
    assert (row.run, row.runtime_s, row.features) == ("", 60.0, {})
    assert trace.unasked == 1


def test_a_run_that_started_before_it_was_submitted_is_moved_by_the_gap(tmp_path: Path) -> None:
    line = a_line(submit_ms="1719302365000")
    trace = read_trace(a_file(tmp_path, line))
    (row,) = trace.rows
    assert (row.start_s, row.complete_s, row.runtime_s) == (1719302365, 1719302425, 58.5)
    assert trace.shifted == 1


def test_rows_keep_the_order_of_the_file(tmp_path: Path) -> None:
    lines = [a_line(submit_ms=str(1719302358651 - n)) for n in range(3)]
    assert [row.line for row in read_trace(a_file(tmp_path, *lines)).rows] == [2, 3, 4]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"peak_rss_bytes": ""}, "no positive peak_rss_bytes", id="no peak"),
        pytest.param({"peak_rss_bytes": "0"}, "no positive peak_rss_bytes", id="a peak of zero"),
        pytest.param({"peak_rss_bytes": "-5"}, "peak_rss_bytes is negative", id="a negative peak"),
        pytest.param({"peak_rss_bytes": "5 MB"}, "peak_rss_bytes is not a number", id="a unit"),
        pytest.param(
            {"peak_rss_bytes": "1e19"}, "peak_rss_bytes is more than any machine has", id="too much"
        ),
        pytest.param(
            {"peak_rss_bytes": "nan"},
            "peak_rss_bytes is not a finite number; leave unknown cells empty",
            id="not a number",
        ),
        pytest.param(
            {"complete_ms": "1719302359999"}, "complete_ms is before start_ms", id="ends too soon"
        ),
        pytest.param({"start_ms": ""}, "start_ms is empty", id="no start"),
        pytest.param(
            {"submit_ms": "yesterday"}, "submit_ms is not a number", id="a word for a time"
        ),
        pytest.param(
            {"submit_ms": "1719302358"},
            "submit_ms looks like seconds; write Unix milliseconds",
            id="seconds",
        ),
        pytest.param(
            {"submit_ms": "1719302358651000"},
            "submit_ms is after 2100; write Unix milliseconds",
            id="microseconds",
        ),
        pytest.param({"runtime_s": "-1"}, "runtime_s is negative", id="a negative runtime"),
        pytest.param({"runtime_s": "1e10"}, "runtime_s is more than 30 years", id="an age"),
        pytest.param({"task": ""}, "task is empty", id="no task"),
        pytest.param({"task": "x" * 1025}, "task has more than 1024 characters", id="a long task"),
        pytest.param(
            {"feature_rows": "inf"},
            "feature.rows is not a finite number; leave unknown cells empty",
            id="an infinite feature",
        ),
    ],
)
def test_a_bad_row_is_left_out_and_counted_with_its_line(
    tmp_path: Path, changes: dict[str, str], reason: str
) -> None:
    trace = read_trace(a_file(tmp_path, a_line(), a_line(**changes)))
    assert reasons(trace) == {reason: (1, [3])}
    assert [row.line for row in trace.rows] == [2]


def test_a_repeated_row_counts_once(tmp_path: Path) -> None:
    trace = read_trace(a_file(tmp_path, a_line(), a_line(sample="s2"), a_line()))
    assert reasons(trace) == {"repeats an earlier row": (1, [4])}


def test_only_the_first_lines_of_a_reason_are_named(tmp_path: Path) -> None:
    bad = [a_line(peak_rss_bytes="", sample=f"s{n}") for n in range(9)]
    trace = read_trace(a_file(tmp_path, a_line(), *bad))
    (out,) = trace.left_out.values()
    assert out.words("no peak") == "9 left out: no peak (lines 3, 4, 5, 6, 7, ...)"


def test_too_few_cells_and_what_is_no_text_are_left_out(tmp_path: Path) -> None:
    path = a_file(tmp_path, a_line(), "r1,ALIGN", a_line(sample="s2"))
    path.write_bytes(path.read_bytes().replace(b"s2", b"\xff\xfe"))
    assert reasons(read_trace(path)) == {
        "2 cells where the header names 15 columns": (1, [3]),
        "not UTF-8 text": (1, [4]),
    }


def test_reasons_are_bounded_whatever_a_file_holds(tmp_path: Path) -> None:
    torn = [",".join("x" * width) for width in range(16, 120)]
    trace = read_trace(a_file(tmp_path, a_line(), *torn))
    assert len(trace.left_out) <= 51
    assert sum(out.count for out in trace.left_out.values()) == len(torn)


def test_a_missing_column_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = a_file(tmp_path, "A,1", header="task,submit_ms")
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    words = str(caught.value)
    assert "lacks the columns start_ms, complete_ms, peak_rss_bytes" in words
    assert "plimsoll traces convert" in words


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "is empty", id="an empty file"),
        pytest.param(b"\x89PNG\0\0\0", "not a text file", id="a picture"),
        pytest.param(b"\x1f\x8b\x08rubbish", "damaged gzip", id="a damaged gzip file"),
        pytest.param(b"PAR1rubbish", "damaged Parquet", id="a damaged Parquet file"),
        pytest.param(b"task,task,submit_ms\n", "lacks the columns", id="columns missing"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=words):
        read_trace(path)


def test_a_column_named_twice_is_refused(tmp_path: Path) -> None:
    path = a_file(tmp_path, a_line() + ",B", header=",".join(CELLS) + ",task")
    with pytest.raises(TraceError, match="names the column 'task' twice"):
        read_trace(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(TraceError, match="cannot be read"):
            read_trace(path)


def test_a_file_without_a_single_good_row_is_refused_with_what_was_wrong(tmp_path: Path) -> None:
    path = a_file(tmp_path, a_line(peak_rss_bytes=""), a_line(peak_rss_bytes="", sample="s2"))
    with pytest.raises(TraceError, match=r"no run to replay \(2 rows: no positive peak"):
        read_trace(path)


@pytest.mark.slow
def test_a_gzip_file_cut_short_gives_what_came_before(tmp_path: Path) -> None:
    lines = [a_line(sample=f"s{n}", hostname=str(hash(n) ** 3)) for n in range(3000)]
    path = a_file(tmp_path, *lines, name="t.csv.gz")
    path.write_bytes(path.read_bytes()[:-200])
    trace = read_trace(path)
    assert len(trace.rows) > 1000
    assert "damaged from here on" in next(iter(trace.left_out))


def test_more_rows_than_memory_has_room_for_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "MOST_ROWS", 3)
    path = a_file(tmp_path, *[a_line(sample=f"s{n}") for n in range(5)])
    with pytest.raises(TraceError, match=r"more than 3 runs.*cut it.*line 5"):
        read_trace(path)


@pytest.mark.slow
def test_a_line_of_a_hundred_megabytes_takes_no_such_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write((",".join(CELLS) + "\n" + a_line() + "\n").encode())
        for _ in range(100):
            file.write(b"x" * 2**20)
        file.write(("\n" + a_line(sample="s2") + "\n").encode())
    tracemalloc.start()
    trace = read_trace(path)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [row.line for row in trace.rows] == [2, 4]
    assert "longer than" in next(iter(trace.left_out))
    assert most_bytes < 40 * 2**20


@pytest.mark.slow
def test_a_row_takes_less_than_a_kilobyte(tmp_path: Path) -> None:
    lines = [
        a_line(sample=f"s{n % 50}", submit_ms=str(1719302358651 + n), peak_rss_bytes=str(10**9 + n))
        for n in range(5000)
    ]
    path = a_file(tmp_path, *lines)
    read_trace(path)
    tracemalloc.start()
    trace = read_trace(path)
    held_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(trace.rows) == 5000
    assert held_bytes / 5000 < 1000


@pytest.mark.slow
def test_progress_is_told_in_bytes_of_the_file(tmp_path: Path) -> None:
    lines = [a_line(sample=f"s{n}") for n in range(11_000)]
    path = a_file(tmp_path, *lines)
    told: list[int] = []
    read_trace(path, told.append)
    assert len(told) == 2
    assert 0 < told[0] < told[1] <= path.stat().st_size


@pytest.mark.parametrize(
    ("file_name", "name"),
    [("eager.csv.gz", "eager"), ("a.b.csv", "a.b"), ("x.parquet", "x"), (".csv", ".csv")],
)
def test_a_trace_is_named_by_its_file(file_name: str, name: str) -> None:
    assert trace_name(Path("/somewhere") / file_name) == name


# ---- Parquet -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.csv.gz"])
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    lines = [a_line(), a_line(sample="", preset_bytes="", cpus="", feature_rows="", run="")]
    rows = read_trace(a_file(tmp_path, *lines, name="from.csv")).rows
    write_trace(tmp_path / name, rows)
    assert read_trace(tmp_path / name).rows == rows
    assert not list(tmp_path.glob(".plimsoll-*"))


def test_times_and_wrong_kinds_in_parquet_are_read_or_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    when = pyarrow.array([1719302358651, 1719302358651], pyarrow.timestamp("ms"))
    later = pyarrow.array([1719302458651, 1719302458651], pyarrow.timestamp("ms", tz="UTC"))
    columns = {
        "task": ["A", "A"],
        "submit_ms": when,
        "start_ms": when,
        "complete_ms": later,
        "peak_rss_bytes": [1.5e9, float("nan")],
        "read_bytes": [1, 2],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    trace = read_trace(path)
    (row,) = trace.rows
    assert (row.start_s, row.complete_s, row.peak_bytes) == (
        1719302358.651,
        1719302458.651,
        1_500_000_000,
    )
    assert reasons(trace) == {"no positive peak_rss_bytes": (1, [3])}


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    write_trace(path, read_trace(a_file(tmp_path, a_line())).rows)
    # An import of a missing package does this.
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(TraceError, match=r"pip install '\.\[parquet\]'"):
        read_trace(path)
