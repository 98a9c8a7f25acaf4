"""Nextflow's traces and exported history, brought into the schema."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.replay.sizes.converting import Converted, ConvertRequest, convert
from plimsoll_predictor.replay.sizes.traces import (
    NEVER_MEASURED,
    NO_TIMES,
    TraceError,
    read_trace,
    stored_trace,
    write_trace,
)
from plimsoll_predictor.tables.history import write_history
from tests.builders.stores import NOON_S

GIB = 2**30
# What Nextflow writes unless told otherwise, and what pipelines add to it.
HUMAN = {
    "task_id": "7",
    "hash": "a1/b2c3d4",
    "native_id": "4711",
    "name": "NFCORE_EAGER:FASTQC (DA144_L1)",
    "status": "COMPLETED",
    "exit": "0",
    "submit": "2024-06-25 10:05:58.651",
    "duration": "3m 5s",
    "realtime": "2m 58s",
    "%cpu": "151.3%",
    "peak_rss": "1.2 GB",
    "peak_vmem": "6.1 GB",
    "rchar": "89.2 MB",
    "wchar": "1.5 MB",
}
RAW = {
    "name": "FASTQC (s1)",
    "process": "FASTQC",
    "tag": "s1",
    "hash": "ff/000001",
    "status": "COMPLETED",
    "cpus": "6",
    "memory": "38654705664",
    "submit": "1719302758651",
    "start": "1719302760000",
    "complete": "1719302943000",
    "duration": "184349",
    "realtime": "180500",
    "peak_rss": "1288490188",
    "hostname": "node-3",
}


def a_trace(folder: Path, *lines: dict[str, str], name: str = "trace.txt") -> Path:
    path = folder / name
    rows = ["\t".join(lines[0]), *("\t".join(line.values()) for line in lines)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def converted(*paths: Path, **asked: object) -> Converted:
    return convert(paths, ConvertRequest(**asked))  # type: ignore[arg-type]


def reasons(found: Converted) -> dict[str, list[int]]:
    return {why: out.lines for why, out in found.left_out.items()}


def seconds(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def test_a_trace_for_people_is_read_in_powers_of_1024(tmp_path: Path) -> None:
    (row,) = converted(a_trace(tmp_path, HUMAN)).rows
    assert (row.task, row.item, row.run) == ("NFCORE_EAGER:FASTQC", "DA144_L1", "trace")
    assert row.peak_bytes == pytest.approx(1.2 * GIB, abs=1)
    assert row.submit_s == pytest.approx(seconds("2024-06-25 10:05:58.651"))
    assert row.complete_s - row.submit_s == pytest.approx(185)
    assert row.complete_s - row.start_s == pytest.approx(178)
    assert row.runtime_s == 178
    assert (row.preset_bytes, row.cpus, row.input_bytes) == (None, None, None)


def test_a_raw_trace_is_read_in_bytes_and_milliseconds(tmp_path: Path) -> None:
    (row,) = converted(a_trace(tmp_path, RAW), run="mag-1").rows
    assert (row.task, row.item, row.run) == ("FASTQC", "s1", "mag-1")
    assert (row.submit_s, row.start_s, row.complete_s) == (1719302758.651, 1719302760, 1719302943)
    assert (row.runtime_s, row.cpus) == (180.5, 6)
    assert (row.preset_bytes, row.peak_bytes) == (38654705664, 1288490188)


@pytest.mark.parametrize(
    ("words", "size_bytes"),
    [
        ("512 KB", 512 * 2**10),
        ("36 GB", 36 * GIB),
        ("0.5 TB", 2**39),
        ("100 B", 100),
        ("1.5GB", 3 * GIB // 2),
        ("42", 42),
    ],
)
def test_sizes_are_understood(tmp_path: Path, words: str, size_bytes: int) -> None:
    (row,) = converted(a_trace(tmp_path, HUMAN | {"peak_rss": words})).rows
    assert row.peak_bytes == size_bytes


@pytest.mark.parametrize(
    ("words", "runtime_s"),
    [
        ("120ms", 0.12),
        ("3.4s", 3.4),
        ("1h 2m 3s", 3723),
        ("2d 3h", 183600),
        ("5m", 300),
        ("1d 1h 1m 1s", 90061),
        ("1500", 1.5),
        ("0ms", 0),
    ],
)
def test_durations_are_understood(tmp_path: Path, words: str, runtime_s: float) -> None:
    (row,) = converted(a_trace(tmp_path, HUMAN | {"realtime": words, "duration": "4d"})).rows
    assert row.runtime_s == pytest.approx(runtime_s)


def test_dates_are_those_of_the_zone_that_is_named(tmp_path: Path) -> None:
    (row,) = converted(a_trace(tmp_path, HUMAN), zone=ZoneInfo("Europe/Berlin")).rows
    assert row.submit_s == pytest.approx(seconds("2024-06-25 10:05:58.651", "Europe/Berlin"))


def test_a_task_without_a_tag_works_on_nothing_in_particular(tmp_path: Path) -> None:
    line = HUMAN | {"name": "NFCORE_EAGER:MULTIQC"}
    (row,) = converted(a_trace(tmp_path, line)).rows
    assert (row.task, row.item) == ("NFCORE_EAGER:MULTIQC", None)


def test_a_tag_with_brackets_of_its_own_is_kept_whole(tmp_path: Path) -> None:
    line = HUMAN | {"name": "ALIGN (sample (2) x)"}
    (row,) = converted(a_trace(tmp_path, line)).rows
    assert (row.task, row.item) == ("ALIGN", "sample (2) x")


def without(line: dict[str, str], *names: str) -> dict[str, str]:
    return {name: cell for name, cell in line.items() if name not in names}


@pytest.mark.parametrize(
    "absent",
    [
        pytest.param(("duration", "realtime"), id="only the three times"),
        pytest.param(("start", "complete"), id="as Nextflow's default has it"),
        pytest.param(("complete", "duration"), id="start and realtime"),
        pytest.param(("submit",), id="no submission"),
        pytest.param(("name",), id="no name but a process"),
        pytest.param(("process", "tag"), id="no process but a name"),
        pytest.param(("status", "hash", "hostname", "cpus", "memory"), id="nothing optional"),
    ],
)
def test_columns_that_can_be_made_of_others_may_be_missing(
    tmp_path: Path, absent: tuple[str, ...]
) -> None:
    (row,) = converted(a_trace(tmp_path, without(RAW, *absent))).rows
    assert (row.task, row.item, row.peak_bytes) == ("FASTQC", "s1", 1288490188)
    assert row.complete_s == pytest.approx(1719302943, abs=3)
    assert row.start_s == pytest.approx(1719302760, abs=3)


@pytest.mark.parametrize(
    ("absent", "words"),
    [
        (("submit", "start"), "lacks the column submit or start"),
        (("complete", "duration", "realtime"), "lacks the column complete, duration, or both"),
    ],
)
def test_what_cannot_be_made_of_others_is_asked_for(
    tmp_path: Path, absent: tuple[str, ...], words: str
) -> None:
    with pytest.raises(TraceError, match=f"{words}.*nextflow.config"):
        converted(a_trace(tmp_path, without(RAW, *absent)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": "FAILED"}, "status is neither COMPLETED nor CACHED"),
        ({"status": "ABORTED", "peak_rss": "-"}, "status is neither COMPLETED nor CACHED"),
        ({"peak_rss": "-"}, "no positive peak_rss"),
        ({"peak_rss": "0"}, "no positive peak_rss"),
        ({"peak_rss": "much"}, "peak_rss is no size"),
        ({"peak_rss": "1e30 GB"}, "peak_rss is no size"),
        ({"peak_rss": "99999999 PB"}, "peak_rss is no size that a machine could have"),
        ({"submit": "last week"}, "submit is no date"),
        ({"realtime": "1 fortnight"}, "realtime is no duration"),
        ({"realtime": "3x 4s"}, "realtime is no duration"),
        ({"complete": "1719302759999"}, "complete is before start"),
        ({"complete": "-", "duration": "-", "realtime": "-"}, "when it started or completed"),
        ({"process": "x" * 1025}, "the name has more than 1024 characters"),
    ],
)
def test_a_line_that_is_no_run_is_left_out_and_counted(
    tmp_path: Path, changes: dict[str, str], reason: str
) -> None:
    found = converted(a_trace(tmp_path, RAW, RAW | {"hash": "ff/000002"} | changes))
    assert len(found.rows) == 1
    ((why, lines),) = reasons(found).items()
    assert why.startswith(reason)
    assert lines == [3]


def test_what_a_resumed_run_found_in_the_cache_counts_once(tmp_path: Path) -> None:
    first = a_trace(tmp_path, RAW, name="first.txt")
    resumed = RAW | {"hash": "ff/000009", "tag": "s9"}
    second = a_trace(tmp_path, RAW | {"status": "CACHED"}, resumed, name="second.txt")
    found = converted(first, second)
    assert [(row.run, row.item) for row in found.rows] == [("first", "s1"), ("second", "s9")]
    ((why, lines),) = reasons(found).items()
    assert why.startswith("repeats an earlier run")
    assert lines == [2]


def test_a_quote_in_a_script_swallows_no_lines(tmp_path: Path) -> None:
    lines = [RAW | {"hash": str(n), "script": "\"grep 'x"} for n in range(5)]
    assert len(converted(a_trace(tmp_path, *lines)).rows) == 5


def test_what_is_converted_can_be_replayed(tmp_path: Path) -> None:
    found = converted(a_trace(tmp_path, RAW, RAW | {"hash": "2", "memory": "-"}))
    write_trace(tmp_path / "out.csv.gz", found.rows)
    trace = read_trace(tmp_path / "out.csv.gz")
    assert [row.preset_bytes for row in trace.rows] == [38654705664, None]
    assert (trace.left_out, trace.unasked) == ({}, 1)


def test_what_is_of_no_known_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(TraceError, match=r"no known format, its columns are a, b; give a Nextflow"):
        converted(path)
    with pytest.raises(TraceError, match="cannot be read"):
        converted(tmp_path / "none.txt")


def test_without_any_run_nothing_is_converted(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"no run to convert \(1 lines: status is neither"):
        converted(a_trace(tmp_path, RAW | {"status": "FAILED"}))


# ---- the store's own history ---------------------------------------------------------------------

TASK = TaskId("shop", "train")


def an_attempt(uid: str, run: str, start_s: float, **changes: object) -> Observation:
    values: dict[str, object] = {
        "attempt_uid": uid,
        "task": TASK,
        "run": run,
        "outcome": Outcome.SUCCEEDED,
        "request_bytes": 4 * GIB,
        "allocation_bytes": GIB,
        "peak_bytes": GIB // 2,
        "peak_source": PeakSource.IMPORTED,
        "submitted_s": start_s - 5,
        "started_s": start_s,
        "finished_s": start_s + 60,
        "features": {"rows": 7.0, "region": "eu"},
    }
    return Observation(**(values | changes))  # type: ignore[arg-type]


def killed(uid: str, run: str, start_s: float, **changes: object) -> Observation:
    return an_attempt(
        uid, run, start_s, outcome=Outcome.OOM_KILLED, peak_bytes=None, peak_source=None, **changes
    )


def test_attempts_become_runs_that_start_with_their_first_attempt() -> None:
    seen = [
        an_attempt("a", "r1", 1000.0),
        killed("b", "r2", 2000.0),
        an_attempt("c", "r2", 2100.0, attempt=2, peak_bytes=3 * GIB),
    ]
    first, second = stored_trace("x", seen).rows
    assert (first.task, first.run, first.line, first.item) == ("shop/train", "r1", 1, None)
    assert (first.submit_s, first.start_s, first.complete_s) == (995, 1000, 1060)
    assert first.features == {"rows": 7.0, "region": "eu"}
    assert (second.start_s, second.complete_s, second.runtime_s) == (2000, 2060, 60)
    assert (second.peak_bytes, second.preset_bytes, second.line) == (3 * GIB, 4 * GIB, 2)


def test_run_and_item_among_the_features_say_what_a_run_belongs_to() -> None:
    features = {"run": "nightly-7", "item": "s1", "rows": 1.0}
    (row,) = stored_trace("x", [an_attempt("a", "uid", 10.0, features=features)]).rows
    assert (row.run, row.item, row.features) == ("nightly-7", "s1", {"rows": 1.0})


def test_runs_whose_need_nobody_saw_are_left_out_and_counted() -> None:
    seen = [
        an_attempt("a", "r1", 1000.0),
        killed("b", "r2", 2000.0),
        an_attempt("c", "r3", 3000.0, started_s=None),
        an_attempt("d", "r4", 4000.0, outcome=Outcome.FAILED),
    ]
    trace = stored_trace("x", seen)
    assert [row.run for row in trace.rows] == ["r1"]
    assert {why: out.lines for why, out in trace.left_out.items()} == {
        NEVER_MEASURED: [2, 4],
        NO_TIMES: [3],
    }


@pytest.mark.parametrize("name", ["h.csv", "h.csv.gz", "h.parquet"])
def test_exported_history_converts_into_the_trace_of_the_store(tmp_path: Path, name: str) -> None:
    seen = [an_attempt("a", "r1", NOON_S), killed("b", "r2", NOON_S + 1000)]
    seen.append(an_attempt("c", "r2", NOON_S + 1100, attempt=2, peak_bytes=2 * GIB))
    write_history(tmp_path / name, lambda: [seen])
    assert converted(tmp_path / name, zone=UTC).rows == stored_trace("x", seen).rows


def test_a_history_of_many_bad_cells_still_converts(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    write_history(path, lambda: [[an_attempt("a", "r1", NOON_S), killed("b", "r2", NOON_S + 1000)]])
    header, *good = path.read_text().splitlines()
    finished = header.split(",").index("finished_s")
    cells = good[0].split(",")
    bad = [",".join([*cells[:finished], f"day {day}", *cells[finished + 1 :]]) for day in range(60)]
    path.write_text("\n".join([header, *bad, *good]) + "\n")
    trace = converted(path)
    assert len(trace.rows) == 1
    assert trace.left_out[NEVER_MEASURED].count == 1
    assert sum(out.count for out in trace.left_out.values()) == 61
