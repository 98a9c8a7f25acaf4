"""Times in Parquet files: whatever unit a program wrote them in, they are read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

READ = """
import sys
sys.modules["pandas"] = None  # beside it, pyarrow gives times of nanoseconds as pandas' own
from plimsoll_predictor.tables.history import read_history
with open(sys.argv[1], "rb") as file:
    [found] = read_history(file)
print(found.runtime_s, found.finished_s)
"""
STARTED, FINISHED = "2026-01-05T08:00:00.000000001", "2026-01-05T08:00:02.5"
FINISHED_S = 1_767_600_002.5


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_times_are_read_in_any_unit_without_pandas(tmp_path: Path, unit: str) -> None:
    file = tmp_path / "past.parquet"
    columns = {"started_s": times(STARTED, unit), "finished_s": times(FINISHED, unit)}
    names = {"namespace": ["shop"], "task": ["train"]}
    pyarrow.parquet.write_table(pyarrow.table({**names, **columns}), file)
    reading = [sys.executable, "-c", READ, str(file)]
    done = subprocess.run(reading, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["2.5", str(FINISHED_S)], "")


def times(moment: str, unit: str) -> pyarrow.Array:
    """One time in a column of this unit, what is finer cut off."""
    finest = pyarrow.array([moment]).cast(pyarrow.timestamp("ns"))
    return finest.cast(pyarrow.timestamp(unit), safe=False)
