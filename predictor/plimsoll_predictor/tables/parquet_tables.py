"""Tables in Parquet files, as rows of text like any other table's. Needs pyarrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from plimsoll_predictor.tables.cells import BadRow, Row, Table, TableError

PARQUET: Final = b"PAR1"
"""A Parquet file's first bytes."""
_BATCH_ROWS: Final = 4096


def is_parquet(file: BinaryIO) -> bool:
    """Whether a file, able to seek, is one; it stands at its start afterwards."""
    magic = file.read(len(PARQUET))
    file.seek(0)
    return magic == PARQUET


def unix_ms(moment: datetime) -> str:
    """A time as Unix milliseconds; UTC if it names no zone."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return repr(aware.timestamp() * 1000)


def read_parquet(
    file: BinaryIO,
    where: str,
    wanted: Callable[[str], bool] = lambda _: True,
    time_words: Callable[[datetime], str] = datetime.isoformat,
) -> Table:
    """A Parquet file's wanted columns. time_words: writes a time as text."""
    pyarrow = pyarrow_for(where)
    try:
        opened = pyarrow.parquet.ParquetFile(file)
        names: list[str] = [str(name) for name in opened.schema_arrow.names]
    except (pyarrow.ArrowException, OSError) as error:
        raise TableError(f"{where} is a damaged Parquet file: {error}") from error
    columns = [name for name in names if wanted(name)]
    return Table(columns, _rows(opened, columns, time_words))


def write_parquet(
    path: Path, columns: Mapping[str, type], batches: Iterable[Sequence[Mapping[str, object]]]
) -> None:
    """Write rows, a batch at a time.

    columns: name -> int, float or str. Where a row lacks a column, it is null.
    """
    pyarrow = pyarrow_for(path)
    kinds = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for batch in batches:
            if batch:
                cells = {name: _column(batch, name, kind) for name, kind in columns.items()}
                writer.write_table(pyarrow.table(cells, schema=schema))


def pyarrow_for(where: str | Path) -> Any:
    """The library; without it a TableError says what to do."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise TableError(
            f"{where}: Parquet needs pyarrow, which is not installed: "
            "pip install '.[parquet]' in Plimsoll's checkout, or use CSV"
        ) from error
    return pyarrow


def _column(batch: Sequence[Mapping[str, object]], name: str, kind: type) -> list[object]:
    values = (row.get(name) for row in batch)
    return [None if value is None else kind(value) for value in values]


def _rows(
    opened: Any, columns: Sequence[str], time_words: Callable[[datetime], str]
) -> Iterator[Row | BadRow]:
    import pyarrow

    # As in a CSV file, where the header is line 1.
    line = 1
    try:
        for batch in opened.iter_batches(batch_size=_BATCH_ROWS, columns=columns):
            values = [_python_holds(column).to_pylist() for column in batch.columns]
            places = [batch.schema.names.index(name) for name in columns]
            for number in range(batch.num_rows):
                line += 1
                yield Row(line, [_text(values[at][number], time_words) for at in places])
    except (pyarrow.ArrowException, OSError) as error:
        reason = f"the file is damaged from here on: {str(error)[:200]}"
        yield BadRow(line + 1, reason, ends=True)


def _python_holds(column: Any) -> Any:
    """The column, its times without nanoseconds: Python's have none, and pandas writes them."""
    import pyarrow

    kind = column.type
    if not pyarrow.types.is_timestamp(kind) or kind.unit != "ns":
        return column
    return column.cast(pyarrow.timestamp("us", kind.tz), safe=False)


def _text(value: object, time_words: Callable[[datetime], str]) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return time_words(value) if isinstance(value, datetime) else str(value)
