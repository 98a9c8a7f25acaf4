"""History files: what is read, what is refused, and in which words."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable
from pathlib import Path

import pytest

from plimsoll_operator.pods.features import feature_value
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.tables.cells import BadRow, TableError
from plimsoll_predictor.tables.history import read_history, write_history

CELLS = {
    "namespace": "shop",
    "task": "train-demand",
    "run": "r1",
    "attempt": "1",
    "started_s": "1700000000",
    "finished_s": "1700000060.5",
    "request_bytes": "4294967296",
    "allocation_bytes": "4294967296",
    "outcome": "succeeded",
    "peak_bytes": "734003200",
    "feature.rows": "18234",
    "feature.region": "eu",
}
HEADER = ",".join(CELLS)


def a_row(**changes: str) -> str:
    cells = CELLS | {name.replace("feature_", "feature."): text for name, text in changes.items()}
    return ",".join(cells.values())


def a_file(*rows: str, header: str = HEADER) -> io.BytesIO:
    return io.BytesIO("\n".join((header, *rows, "")).encode())


def good(found: Iterable[Observation | BadRow]) -> list[Observation]:
    return [each for each in found if isinstance(each, Observation)]


def only_reason(file: io.BytesIO) -> str:
    found = list(read_history(file))
    assert len(found) == 1, found
    assert isinstance(found[0], BadRow), found
    return found[0].reason


def test_a_row_becomes_an_observation() -> None:
    (found,) = good(read_history(a_file(a_row())))
    assert found == Observation(
        attempt_uid=found.attempt_uid,
        task=TaskId("shop", "train-demand"),
        run="r1",
        features={"rows": 18234.0, "region": "eu"},
        outcome=Outcome.SUCCEEDED,
        request_bytes=4294967296,
        allocation_bytes=4294967296,
        peak_bytes=734003200,
        peak_source=PeakSource.IMPORTED,
        started_s=1_700_000_000.0,
        finished_s=1_700_000_060.5,
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace(b",", b";"), id="semicolons"),
        pytest.param(lambda text: b"\xef\xbb\xbf" + text, id="a byte order mark"),
        pytest.param(lambda text: text.replace(b"\n", b"\r\n"), id="line ends of Windows"),
        pytest.param(gzip.compress, id="gzip"),
        pytest.param(lambda text: text.rstrip(), id="no last line end"),
        pytest.param(lambda text: text + b"\n,,,,,,,,,,,\n\n", id="empty rows at the end"),
        pytest.param(lambda text: text.replace(b"eu", b' "eu"'), id="a cell with a space before"),
        pytest.param(
            lambda text: text.replace(b"1700000000,", b"2023-11-14T22:13:20Z,"), id="ISO 8601"
        ),
        pytest.param(
            lambda text: text.replace(b"1700000000,", b"2023-11-14 22:13:20,"),
            id="a time without a zone is UTC",
        ),
        pytest.param(
            lambda text: text.replace(b"started_s", b"runtime_s").replace(b"1700000000,", b"60.5,"),
            id="the runtime for the start",
        ),
        pytest.param(
            lambda text: text.replace(b"734003200", b"7.340032e8"), id="bytes as a double"
        ),
        pytest.param(
            lambda text: text.replace(b"started_s", b"started"), id="a column's other name"
        ),
    ],
)
def test_another_way_to_write_the_same_history_says_the_same(change: object) -> None:
    assert callable(change)
    (plain,) = good(read_history(a_file(a_row())))
    (found,) = list(read_history(io.BytesIO(change(a_file(a_row()).getvalue()))))
    assert isinstance(found, Observation)
    region = str(found.features["region"]).strip('"')
    assert (found.peak_bytes, found.started_s, found.finished_s, region) == (
        plain.peak_bytes,
        plain.started_s,
        plain.finished_s,
        "eu",
    )


def test_what_is_left_empty_is_missing_or_has_its_default() -> None:
    row = a_row(outcome="", run="", attempt="", started_s="", allocation_bytes="", feature_rows="")
    (found,) = good(read_history(a_file(row)))
    assert (found.outcome, found.attempt, found.run) == (Outcome.SUCCEEDED, 1, found.attempt_uid)
    assert (found.started_s, found.allocation_bytes) == (None, None)
    assert found.features == {"region": "eu"}


def test_a_kill_and_the_retry_that_followed_are_two_attempts_of_one_run() -> None:
    killed = a_row(outcome="oom-killed", peak_bytes="")
    found = good(read_history(a_file(killed, a_row(attempt="2"))))
    assert [each.run for each in found] == ["r1", "r1"]
    assert found[0].attempt_uid != found[1].attempt_uid
    assert found[0].need is not None
    assert found[0].need.censored


def test_reading_a_file_again_gives_the_same_uids() -> None:
    rows = (a_row(), a_row(run="r2"), a_row(run="", peak_bytes="100000"))
    once = [each.attempt_uid for each in good(read_history(a_file(*rows)))]
    assert len(set(once)) == 3
    assert [each.attempt_uid for each in good(read_history(a_file(*rows)))] == once


def test_a_run_measured_anew_keeps_its_uid() -> None:
    (first,) = good(read_history(a_file(a_row())))
    (corrected,) = good(read_history(a_file(a_row(peak_bytes="800000000"))))
    assert corrected.attempt_uid == first.attempt_uid


def test_rows_without_a_run_are_told_apart_by_all_they_say() -> None:
    rows = [a_row(run="", peak_bytes=str(peak)) for peak in (100_000, 200_000)]
    assert len({each.attempt_uid for each in good(read_history(a_file(*rows)))}) == 2


def test_a_uid_of_its_own_is_kept() -> None:
    file = a_file(
        "pod-7,shop,train,1700000000,500000",
        header="attempt_uid,namespace,task,finished,peak_bytes",
    )
    assert [each.attempt_uid for each in good(read_history(file))] == ["pod-7"]


def test_a_namespace_for_the_whole_file_fills_what_rows_leave_empty() -> None:
    file = a_file("train,1700000000,500000", header="task,finished_s,peak_bytes")
    assert [each.task for each in good(read_history(file, namespace="lab"))] == [
        TaskId("lab", "train")
    ]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        pytest.param(a_row(peak_bytes="-5"), "peak_bytes '-5' is negative", id="negative"),
        pytest.param(a_row(peak_bytes="nan"), "peak_bytes 'nan' is not a finite", id="NaN peak"),
        pytest.param(
            a_row(peak_bytes="0"), "peak_bytes is 0; leave unknown cells empty", id="no peak"
        ),
        pytest.param(a_row(peak_bytes="0.4"), "peak_bytes is 0; leave unknown", id="part of one"),
        pytest.param(
            a_row(outcome="oom-killed", allocation_bytes="0"),
            "allocation_bytes is 0; it must say what was too small",
            id="a kill at a limit of 0",
        ),
        pytest.param(
            a_row(peak_bytes="812"),
            "peak_bytes '812' is less than any program uses; write plain bytes:"
            " 812 KiB are 831488, 812 MiB 851443712",
            id="a peak in Mi",
        ),
        pytest.param(
            a_row(peak_bytes="61000"), "61000 KiB are 62464000, 61000 MiB", id="a peak in KiB"
        ),
        pytest.param(
            a_row(outcome="oom-killed", allocation_bytes="4096"),
            "allocation_bytes '4096' is less than any program uses",
            id="a kill at a limit in Mi",
        ),
        pytest.param(a_row(peak_bytes="1e308"), "more than any machine has", id="1e308 bytes"),
        pytest.param(a_row(peak_bytes="512Mi"), "plain bytes: 512Mi is 536870912", id="a quantity"),
        pytest.param(a_row(peak_bytes="lots"), "'lots' is not a number", id="words"),
        pytest.param(
            a_row(peak_bytes="", started_s=""),
            "peak_bytes is empty",
            id="success without a peak and a runtime",
        ),
        pytest.param(
            a_row(outcome="oom-killed", allocation_bytes=""),
            "allocation_bytes is empty; it says what was too small",
            id="a kill without its limit",
        ),
        pytest.param(
            a_row(started_s="1700000099"), "finished_s is 38 s before started_s", id="ends first"
        ),
        pytest.param(a_row(finished_s=""), "finished_s is empty", id="no end"),
        pytest.param(
            a_row(started_s="0"),
            "started_s '0' is before 2000; leave unknown cells empty",
            id="zero for unknown",
        ),
        pytest.param(
            a_row(started_s="1970-01-01T00:00:00Z"), "is before 2000", id="the start of 1970"
        ),
        pytest.param(
            a_row(started_s="1660000000"), "its runtime is more than a year", id="a year and more"
        ),
        pytest.param(a_row(finished_s="1700000060500"), "not milliseconds", id="milliseconds"),
        pytest.param(
            a_row(finished_s="20260101", started_s=""),
            "finished_s '20260101' is a date without dashes; write 2026-01-01",
            id="a date without dashes",
        ),
        pytest.param(a_row(finished_s="nan"), "is no point in time", id="NaN time"),
        pytest.param(a_row(finished_s="-1"), "is no point in time", id="before 1970"),
        pytest.param(a_row(finished_s="yesterday"), "neither Unix seconds nor ISO", id="yesterday"),
        pytest.param(a_row(outcome="ok"), "none of succeeded, oom-killed", id="outcome"),
        pytest.param(a_row(task=""), "task is empty", id="no task"),
        pytest.param(a_row(task="a/b"), "task 'a/b' is no Kubernetes name", id="a task's name"),
        pytest.param(a_row(namespace=""), "namespace is empty", id="no namespace"),
        pytest.param(a_row(attempt="0"), "no whole number from 1", id="attempt 0"),
        pytest.param(a_row(attempt="1.5"), "no whole number from 1", id="attempt 1.5"),
        pytest.param(a_row(feature_rows="nan"), "leave unknown cells empty", id="NaN feature"),
        pytest.param(a_row(feature_rows="x" * 2000), "has 2000 characters", id="a long feature"),
        pytest.param(a_row() + ",more", "13 cells where the header names 12", id="a cell too many"),
        pytest.param("shop,train", "2 cells where the header names 12", id="cells missing"),
        pytest.param(a_row(run="r\0"), "not UTF-8 text", id="a NUL"),
    ],
)
def test_a_bad_row_is_told_with_its_line_and_reason(row: str, words: str) -> None:
    found = list(read_history(a_file(a_row(run="before"), row, a_row(run="after"))))
    assert [type(each) for each in found] == [Observation, BadRow, Observation]
    assert isinstance(found[1], BadRow)
    assert found[1].line == 3
    assert words in found[1].reason


def test_the_smallest_figures_that_count() -> None:
    killed = a_row(run="r2", outcome="oom-killed", allocation_bytes="65536", peak_bytes="7")
    unmeasured = a_row(run="r3", outcome="failed", peak_bytes="7")
    long_ago = a_row(run="r4", started_s="2000-01-01", finished_s="2000-12-31")
    rows = (a_row(peak_bytes="65536"), killed, unmeasured, long_ago)
    assert len(good(read_history(a_file(*rows)))) == 4


NOW_S = 1_700_000_060.5


@pytest.mark.parametrize(
    ("now_s", "bad"),
    [
        pytest.param(NOW_S - 9 * 3600, True, id="local time nine hours east"),
        pytest.param(NOW_S - 3599, False, id="a clock that is ahead"),
        pytest.param(None, False, id="nobody says what time it is"),
    ],
)
def test_a_time_in_the_future_asks_for_its_zone(now_s: float | None, bad: bool) -> None:
    (found,) = read_history(a_file(a_row(started_s="")), now_s=now_s)
    assert isinstance(found, BadRow) is bad
    if isinstance(found, BadRow):
        words = "is its time zone missing? write 2026-01-05T08:00:00+09:00"
        assert found.reason == f"finished_s is in the future; {words}"


def test_a_feature_of_1e308_is_a_number_like_any_other() -> None:
    (found,) = good(read_history(a_file(a_row(feature_rows="1e308"))))
    assert found.features["rows"] == 1e308


@pytest.mark.parametrize("text", ["2024_01_05", "1_000", "\u0663"])
def test_a_text_that_only_python_reads_as_a_number_stays_one(tmp_path: Path, text: str) -> None:
    # A live pod's feature with this text is one, too.
    assert feature_value(text) == text
    (found,) = good(read_history(a_file(a_row(feature_region=text))))
    path = tmp_path / "again.csv"
    write_history(path, lambda: [[found]])
    (again,) = good(read_history(path))
    assert again.features == found.features == {"rows": 18234.0, "region": text}


def test_a_repeated_row_is_told_with_the_line_it_repeats() -> None:
    found = list(read_history(a_file(a_row(), a_row(run="r2"), a_row())))
    assert found[2] == BadRow(4, "the same attempt as in line 2; each counts once")


def test_a_huge_cell_is_told_and_the_rows_after_it_are_read() -> None:
    found = list(read_history(a_file(a_row(feature_region="x" * 200_000), a_row(run="after"))))
    assert isinstance(found[0], BadRow)
    assert "field larger than field limit (131072)" in found[0].reason
    assert isinstance(found[1], Observation)


@pytest.mark.parametrize(
    ("opening", "closing", "fault", "taken"),
    [
        pytest.param({"run": '"r1'}, [], "3 cells where the header", 32, id="in the middle"),
        pytest.param({"feature_region": '"eu'}, [], "at most 1024 are kept", 32, id="at the end"),
        pytest.param({"run": '"r1'}, [a_row(run='r2"')], "run has 3", 32, id="to another quote"),
        pytest.param(
            {"feature_region": '"' + "e" * 131_000}, [], "field larger", 2, id="a huge cell"
        ),
    ],
)
def test_an_open_quote_says_where_it_opened_and_how_many_lines_it_took(
    opening: dict[str, str], closing: list[str], fault: str, taken: int
) -> None:
    rows = [a_row(run=f"before-{number}") for number in range(30)]
    found = list(read_history(a_file(a_row(), a_row(**opening), *rows, *closing, a_row(run="z"))))
    assert isinstance(found[1], BadRow)
    assert found[1].line == 3
    assert fault in found[1].reason
    words = f"it takes {taken} lines, from line 3 to {taken + 2}; is a quote left open?"
    assert words in found[1].reason


def test_a_line_without_end_is_cut_not_held_in_memory() -> None:
    long = '"' + '","'.join(["x" * 100_000] * 30) + '"'
    found = list(read_history(a_file(long, a_row(run="after"))))
    assert found[0] == BadRow(2, "the line is longer than 1048576 characters")
    assert isinstance(found[1], Observation)


def test_bytes_that_are_not_utf_8_spoil_only_their_row() -> None:
    file = io.BytesIO(
        a_file(a_row(feature_region="?"), a_row(run="r2")).getvalue().replace(b"?", b"\xe9")
    )
    found = list(read_history(file))
    assert found[0] == BadRow(2, "not UTF-8 text")
    assert isinstance(found[1], Observation)


@pytest.mark.slow
def test_a_gzip_file_that_ends_early_gives_its_rows_and_says_so() -> None:
    whole = gzip.compress(
        a_file(*(a_row(run=f"{n}x{hash(str(n))}") for n in range(3000))).getvalue()
    )
    found = list(read_history(io.BytesIO(whole[: len(whole) // 2])))
    assert len(good(found)) > 100
    assert isinstance(found[-1], BadRow)
    assert "the file is damaged from here on" in found[-1].reason


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "is empty; the first line must name the columns", id="an empty file"),
        pytest.param(b"\n\n", "is empty", id="only line ends"),
        pytest.param(b"\x7fELF\x02\x01\x01\0\0\0" * 99, "not a text file in UTF-8", id="a program"),
        pytest.param("task,peak".encode("utf-16"), "save it as CSV in UTF-8", id="UTF-16"),
        pytest.param(b"\x1f\x8bnonsense", "damaged gzip file", id="a damaged gzip file"),
        pytest.param(b"task,peak_bytes,finished_s\n", "lacks the column namespace", id="namespace"),
        pytest.param(b"1,2,3\n", "lacks the columns task, namespace, finished_s", id="no header"),
        pytest.param(
            HEADER.encode() + b",peak_byte\n", "did you mean 'peak_bytes'", id="a misspelt column"
        ),
        pytest.param(
            HEADER.encode() + b",garments\n", "a feature is written feature.garments", id="unknown"
        ),
        pytest.param(HEADER.encode() + b",\n", "a column without a name", id="a nameless column"),
        pytest.param(HEADER.encode() + b",task\n", "names the column 'task' twice", id="twice"),
        pytest.param(b"x" * 200_000, "cannot be read: field larger", id="a huge header"),
        pytest.param(
            HEADER.encode() + b"".join(b",feature.f%d" % n for n in range(500)),
            "512 columns; at most 500",
            id="too many columns",
        ),
    ],
)
def test_a_file_that_is_no_history_is_refused_in_words(content: bytes, words: str) -> None:
    with pytest.raises(TableError) as raised:
        list(read_history(io.BytesIO(content)))
    assert words in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"none.csv cannot be read: No such file"):
        list(read_history(tmp_path / "none.csv"))
    with pytest.raises(TableError, match="cannot be read: Is a directory"):
        list(read_history(tmp_path))


def test_a_file_of_only_a_header_gives_nothing() -> None:
    assert list(read_history(a_file())) == []
