"""Histories larger than the room of the controller's pod, which is evicted once that is full."""

from __future__ import annotations

import gzip
import io
import random
import tempfile
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from plimsoll_operator.commands.past_runs import history_files, parquet_files
from plimsoll_operator.commands.past_runs.export import export_command
from plimsoll_operator.commands.past_runs.history_files import given_history
from plimsoll_operator.commands.past_runs.parquet_files import sendable
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.tables.cells import TableError
from plimsoll_predictor.tables.history import read_history, stream_history
from tests.builders.stores import an_attempt, open_store

MOST_BYTES = 1000
NOISE = random.Random(5).randbytes(3 * MOST_BYTES)


@pytest.fixture
def pod_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, with little room."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(history_files, "MOST_SENT_BYTES", MOST_BYTES)
    monkeypatch.setattr(history_files, "MOST_HELD_BYTES", 2 * MOST_BYTES)
    monkeypatch.setattr(parquet_files, "MOST_SENT_BYTES", MOST_BYTES)
    return folder


@pytest.fixture
def noise_by_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "stdin").write_bytes(NOISE)
    with (tmp_path / "stdin").open("rb", 0) as source:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=source))
        yield


def uids_of(history: bytes) -> list[str]:
    rows = read_history(io.BytesIO(history))
    return [each.attempt_uid for each in rows if isinstance(each, Observation)]


@pytest.mark.parametrize("ending", [".csv", ".gz"])
def test_a_printed_history_takes_no_room(tmp_path: Path, pod_tmp: Path, ending: str) -> None:
    attempts = [an_attempt(f"a{n}").built for n in range(20)]
    with closing(open_store(tmp_path)) as store:
        store.observations.record(attempts)
    pod_tmp.rmdir()  # no file can be made in it
    file, told = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(file, "utf-8")
    with redirect_stdout(out), redirect_stderr(told):
        assert export_command((), f"sqlite:///{tmp_path}/store.db", Path("-"), ending) == 0
    printed = file.getvalue()
    assert (printed[:2] == b"\x1f\x8b") is (ending == ".gz")
    assert uids_of(printed) == [each.attempt_uid for each in attempts]
    assert "standard output: 20 attempts of 1 task" in told.getvalue()


def test_an_attempt_whose_feature_came_while_others_were_written_is_left_out_and_counted() -> None:
    known, new = an_attempt("a").built, replace(an_attempt("b").built, features={"new": 3.0})
    looks = iter([[[known]], [[known], [new]]])

    def batches() -> Iterator[list[Observation]]:
        return iter(next(looks))

    file = io.BytesIO()
    written = stream_history(file, ".csv", batches, "standard output")
    assert (written.rows, sum(written.left_out.values())) == (1, 1)
    assert uids_of(file.getvalue()) == ["a"]


@pytest.mark.usefixtures("noise_by_stdin")
def test_a_file_that_the_pod_has_no_room_for_is_refused_before_it_comes(pod_tmp: Path) -> None:
    with pytest.raises(TableError, match="too many for the controller's pod"):
        given_history(Path("-"), MOST_BYTES + 1).__enter__()
    assert list(pod_tmp.iterdir()) == []


@pytest.mark.usefixtures("noise_by_stdin")
def test_a_file_that_just_fits_is_taken(pod_tmp: Path) -> None:
    with given_history(Path("-"), MOST_BYTES) as taken:
        assert taken.read_bytes() == NOISE[:MOST_BYTES]
    assert list(pod_tmp.iterdir()) == []


@pytest.mark.usefixtures("noise_by_stdin")
def test_files_that_others_send_at_the_same_time_count(pod_tmp: Path) -> None:
    with given_history(Path("-"), MOST_BYTES), given_history(Path("-"), MOST_BYTES):
        with pytest.raises(TableError, match="others import"):
            given_history(Path("-"), 1).__enter__()
        assert len(list(pod_tmp.iterdir())) == 2


@pytest.mark.usefixtures("noise_by_stdin")
def test_a_file_that_a_killed_import_left_is_removed_and_does_not_count(pod_tmp: Path) -> None:
    left = pod_tmp / "plimsoll-sent-before"
    left.mkdir()
    (left / "standard-input").write_bytes(NOISE)
    with given_history(Path("-"), MOST_BYTES) as taken:
        assert list(pod_tmp.iterdir()) == [taken.parent]


@pytest.mark.usefixtures("noise_by_stdin")
def test_standard_input_here_has_no_such_bound(pod_tmp: Path) -> None:
    with given_history(Path("-"), None) as taken:
        assert taken.read_bytes() == NOISE


@pytest.mark.usefixtures("pod_tmp")
def test_a_large_file_is_sent_gzipped_and_a_small_one_as_it_is(tmp_path: Path) -> None:
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    small.write_bytes(b"task\n")
    large.write_bytes(b"task\n" * MOST_BYTES)
    with sendable(small, "small.csv") as sent:
        assert sent == small
    with sendable(large, "large.csv") as sent:
        assert gzip.decompress(sent.read_bytes()) == large.read_bytes()


@pytest.mark.usefixtures("pod_tmp")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(NOISE, "big: even gzipped, 0 MiB", id="gzipped here"),
        # Zeros: gzipped twice they would be small enough, and no reader unpacks twice.
        pytest.param(gzip.compress(bytes(2**21)), "big: 0 MiB", id="gzipped before"),
    ],
)
def test_a_file_that_is_too_large_even_so_is_not_sent(
    tmp_path: Path, content: bytes, words: str
) -> None:
    file = tmp_path / "big"
    file.write_bytes(content)
    with pytest.raises(TableError, match="split it, or name the store itself") as refused:
        sendable(file, "big").__enter__()
    assert str(refused.value).startswith(words)
