"""Observations as a history file, CSV or Parquet: what ``plimsoll export`` writes.

``plimsoll import`` reads it back into the same observations, as far as the format goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from plimsoll_predictor.core.record import COLUMNS, Features, Observation, Unit
from plimsoll_predictor.tables.cells import FEATURE, CellError
from plimsoll_predictor.tables.history_columns import observation
from plimsoll_predictor.tables.table_writing import feature_columns, write_table
from plimsoll_predictor.tables.tables import MOST_COLUMNS, TableError

_WHOLE: Final = frozenset({Unit.BYTES, Unit.PODS, Unit.EXIT_CODE})


def _written_as(unit: Unit) -> type:
    if unit in _WHOLE:
        return int
    return str if unit is Unit.TEXT else float


_IDENTITY: Final[Mapping[str, type]] = {
    "namespace": str,
    "task": str,
    "run": str,
    "attempt": int,
    "attempt_uid": str,
    "outcome": str,
}
OWN_COLUMNS: Final[Mapping[str, type]] = MappingProxyType(
    {**_IDENTITY, **{each.name: _written_as(each.unit) for each in COLUMNS if each.exported}}
)
"""All that a history file may have, but for what follows from the others, and the features."""

Batches = Callable[[], Iterable[Sequence[Observation]]]
"""Begins anew at each call: the columns are found before the rows are written."""


@dataclass(slots=True)
class Written:
    """What was written. left_out: why an attempt cannot be told in this format -> how many."""

    rows: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def write_history(path: Path, batches: Batches) -> Written:
    """Write observations; Parquet if the name ends in .parquet, gzipped CSV if in .gz, else CSV.

    What cannot be read back is left out and counted: a success without a peak, say.

    Raises:
        TableError: if the attempts have more features than a file has columns, or pyarrow is
            missing.
        OSError: if the file cannot be written.
    """
    columns = {**OWN_COLUMNS, **feature_columns(FEATURE, _features(batches()))}
    if len(columns) > MOST_COLUMNS:
        raise TableError(
            f"{path}: the tasks have {len(columns) - len(OWN_COLUMNS)} features between them, and a"
            f" file has at most {MOST_COLUMNS} columns; export them apart"
        )
    written = Written()
    write_table(path, columns, (list(_readable(batch, written)) for batch in batches()))
    return written


def _features(batches: Iterable[Sequence[Observation]]) -> Iterator[Features]:
    return (each.features for batch in batches for each in batch)


def _readable(batch: Sequence[Observation], written: Written) -> Iterator[dict[str, object]]:
    for each in batch:
        row = _row(each)
        try:
            observation({name: str(value) for name, value in row.items()}, None)
        except CellError as error:
            written.left_out[error.shown] += 1
            continue
        written.rows += 1
        yield row


def _row(each: Observation) -> dict[str, object]:
    told_apart = {
        "namespace": each.task.namespace,
        "task": each.task.name,
        "outcome": each.outcome.value,
    }
    plain = {name: getattr(each, name) for name in OWN_COLUMNS if name not in told_apart}
    features = {f"{FEATURE}{name}": value for name, value in each.features.items()}
    cells: dict[str, object] = {**told_apart, **plain, **features}
    return {name: value for name, value in cells.items() if value not in (None, "")}
