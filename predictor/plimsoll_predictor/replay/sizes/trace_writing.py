"""Past runs as a trace file: CSV, gzipped CSV or Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.tables.cells import FEATURE
from plimsoll_predictor.tables.table_writing import feature_columns, write_table

_COLUMNS: Final[dict[str, type]] = {
    "run": str,
    "task": str,
    "sample": str,
    "submit_ms": int,
    "start_ms": int,
    "complete_ms": int,
    "runtime_s": float,
    "cpus": float,
    "preset_bytes": int,
    "input_bytes": int,
    "peak_rss_bytes": int,
}
_BATCH: Final = 5000


def write_trace(path: Path, rows: Sequence[TraceRow]) -> None:
    """Write rows in order of submission; the format goes by the name's ending.

    Raises:
        TableError: if pyarrow is missing and the name ends in .parquet.
        OSError: if the file cannot be written.
    """
    columns = {**_COLUMNS, **feature_columns(FEATURE, (row.features for row in rows))}
    ordered = iter(sorted(rows, key=lambda row: row.submit_s))
    batches = iter(lambda: [_cells(row) for row in islice(ordered, _BATCH)], [])
    write_table(path, columns, batches)


def _cells(row: TraceRow) -> dict[str, object]:
    cells: dict[str, object | None] = {
        "run": row.run,
        "task": row.task,
        "sample": row.item,
        "submit_ms": round(row.submit_s * 1000),
        "start_ms": round(row.start_s * 1000),
        "complete_ms": round(row.complete_s * 1000),
        "runtime_s": row.runtime_s,
        "cpus": row.cpus,
        "preset_bytes": row.preset_bytes,
        "input_bytes": row.input_bytes,
        "peak_rss_bytes": row.peak_bytes,
        **{f"{FEATURE}{name}": value for name, value in row.features.items()},
    }
    return {name: value for name, value in cells.items() if value is not None}
