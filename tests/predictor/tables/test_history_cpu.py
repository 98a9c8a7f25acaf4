"""CPU in a history file: read, bounded, and written back."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.tables.cells import BadRow
from plimsoll_predictor.tables.history import read_history, write_history

HEADER = (
    "namespace,task,finished_s,runtime_s,peak_bytes,cpu_s,request_cores,allocated_cores,peak_cores"
)


def read(row: str) -> Observation | BadRow:
    (found,) = read_history(io.BytesIO(f"{HEADER}\n{row}\n".encode()))
    return found


def test_a_runs_cpu_is_read() -> None:
    found = read("shop,train,1000,100,5,150,4,0.5,2.25")
    assert isinstance(found, Observation)
    assert (found.mean_cores, found.request_cores, found.allocated_cores, found.peak_cores) == (
        1.5,
        4.0,
        0.5,
        2.25,
    )


@pytest.mark.parametrize("cores", ["-1", "100001", "four", "nan"])
def test_cores_that_are_none_cost_only_their_row(cores: str) -> None:
    found = read(f"shop,train,1000,100,5,150,{cores},,")
    assert isinstance(found, BadRow)
    assert "request_cores" in found.reason


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    found = read("shop,train,1000,100,5,150,4,0.5,2.25")
    assert isinstance(found, Observation)
    write_history(tmp_path / "h.csv", lambda: [[found]])
    assert list(read_history(tmp_path / "h.csv")) == [found]
