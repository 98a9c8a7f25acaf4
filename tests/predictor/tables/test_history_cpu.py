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
    found = read("shop,train,1700000000,100,500000,150,4,0.5,2.25")
    assert isinstance(found, Observation)
    assert (found.mean_cores, found.request_cores, found.allocated_cores, found.peak_cores) == (
        1.5,
        4.0,
        0.5,
        2.25,
    )


@pytest.mark.parametrize("cores", ["-1", "100001", "four", "nan"])
def test_cores_that_are_none_cost_only_their_row(cores: str) -> None:
    found = read(f"shop,train,1700000000,100,500000,150,{cores},,")
    assert isinstance(found, BadRow)
    assert "request_cores" in found.reason


def test_cpu_in_microseconds_costs_only_its_row() -> None:
    found = read("shop,train,1700000000,60,500000,960000000,,,")
    assert isinstance(found, BadRow)
    words = "is more than 100,000 cores over its runtime; write seconds"
    assert found.reason == f"cpu_s '960000000' {words}"


@pytest.mark.parametrize(
    "row",
    [
        pytest.param("60,500000,6000000,,,", id="as many cores as there may be"),
        pytest.param("0,500000,0.5,,,", id="times rounded to the same second"),
        pytest.param(",500000,960000000,,,", id="no runtime"),
    ],
)
def test_cpu_that_a_machine_may_have_used_is_read(row: str) -> None:
    assert isinstance(read(f"shop,train,1700000000,{row}"), Observation)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    found = read("shop,train,1700000000,100,500000,150,4,0.5,2.25")
    assert isinstance(found, Observation)
    write_history(tmp_path / "h.csv", lambda: [[found]])
    assert list(read_history(tmp_path / "h.csv")) == [found]
