"""Event logs are read line by line in bounded memory, in the forms in which Spark writes them."""

from __future__ import annotations

import gzip
import io
import sys
import tracemalloc
from pathlib import Path

import pyarrow
import pytest

from plimsoll_operator.spark_history import event_logs
from plimsoll_operator.spark_history.event_logs import EventLog, LogError
from plimsoll_predictor.core.units import MIB


def lines_of(path: Path) -> list[bytes | None]:
    return list(EventLog(path).lines())


def zstd(text: bytes) -> bytes:
    """A log as Spark writes it: a frame for each flush."""
    made = io.BytesIO()
    for part in text.splitlines(keepends=True):
        packed = pyarrow.BufferOutputStream()
        with pyarrow.CompressedOutputStream(packed, "zstd") as stream:
            stream.write(part)
        made.write(packed.getvalue().to_pybytes())
    return made.getvalue()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_a_file_is_told_by_its_first_bytes(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    log = tmp_path / "application_1.inprogress"
    log.write_bytes(pack(b"one\ntwo\nthree"))
    assert lines_of(log) == [b"one\n", b"two\n", b"three"]


@pytest.mark.parametrize(
    "beginning", [b"LZ4Block\x26", b"\x82SNAPPY\x00", b"ZV\x01", b"PK\x03\x04"]
)
def test_other_forms_are_refused_with_what_to_do(tmp_path: Path, beginning: bytes) -> None:
    log = tmp_path / "log"
    log.write_bytes(beginning + bytes(100))
    with pytest.raises(LogError, match=r"spark\.eventLog\.compress"):
        lines_of(log)


def test_a_rolling_log_is_read_in_its_order(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_spark-1"
    folder.mkdir()
    for number in (1, 2, 9, 10):
        (folder / f"events_{number}_spark-1.zstd").write_bytes(zstd(b"%d\n" % number))
    (folder / "appstatus_spark-1.inprogress").touch()
    (folder / ".events_1_spark-1.zstd.crc").write_bytes(b"crc")
    assert lines_of(folder) == [b"1\n", b"2\n", b"9\n", b"10\n"]


def test_a_compacted_file_stands_for_those_before_it(tmp_path: Path) -> None:
    for name in ("events_1_a", "events_2_a", "events_2_a.compact", "events_3_a"):
        (tmp_path / name).write_text(name)
    log = EventLog(tmp_path)
    assert list(log.lines()) == [b"events_2_a.compact", b"events_3_a"]
    assert log.compacted


def test_a_folder_of_logs_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "spark-1").write_text("{}")
    with pytest.raises(LogError, match="one by one"):
        lines_of(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"no\.log cannot be read: No such file"):
        lines_of(tmp_path / "no.log")


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_a_damaged_file_is_read_as_far_as_it_goes(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    text = b"".join(b"%06d\n" % number for number in range(3000))
    packed = pack(text)
    log = tmp_path / "log"
    log.write_bytes(packed[: len(packed) // 2 + 5])
    reader = EventLog(log)
    got = [each for each in reader.lines() if each is not None]
    assert reader.torn
    assert text.startswith(b"".join(got))


def test_a_long_line_is_left_out_and_the_next_one_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_logs, "MOST_LINE_BYTES", 10)
    log = tmp_path / "log"
    log.write_bytes(b"123456789\n" + b"x" * 105 + b"\nshort\n" + b"y" * 30)
    assert lines_of(log) == [b"123456789\n", None, b"short\n", None]


@pytest.mark.slow
def test_a_line_of_any_length_takes_bounded_memory(tmp_path: Path) -> None:
    log = tmp_path / "log.gz"
    with gzip.open(log, "wb", compresslevel=1) as packed:
        for _ in range(100):
            packed.write(b"x" * MIB)
        packed.write(b"\nlast")
    tracemalloc.start()
    try:
        assert lines_of(log) == [None, b"last"]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 4 * event_logs.MOST_LINE_BYTES


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = io.BufferedReader(io.BytesIO(gzip.compress(b"one\ntwo\n")))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(sent))
    assert lines_of(Path("-")) == [b"one\n", b"two\n"]


def test_without_pyarrow_zstd_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    log = tmp_path / "log"
    log.write_bytes(zstd(b"one\n"))
    with pytest.raises(LogError, match=r"pip install '\.\[parquet\]'"):
        lines_of(log)
