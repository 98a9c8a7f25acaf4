"""``plimsoll traces convert``: prepares a team's own past runs for ``plimsoll replay``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rich.console import Console

from plimsoll_operator.commands.printing.printing import refuse
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.replay.sizes.converting import Converted, ConvertRequest, convert
from plimsoll_predictor.replay.sizes.traces import TraceError, write_trace
from plimsoll_predictor.tables.cells import TableError


def tracing_command(
    files: Sequence[Path],
    out: Path,
    *,
    run: str | None = None,
    timezone: str = "UTC",
    namespace: str | None = None,
) -> int:
    """Convert files into one trace; the exit status of the process.

    run: the name of the workflow's run; None for each file's name. timezone: an IANA name for dates
    that name no zone. namespace: for exported rows that name none.
    The status is 1 if nothing was written; a message then says what to do.
    """
    errors = Console(stderr=True)
    try:
        asked = ConvertRequest(run=run, zone=zone_named(timezone), namespace=namespace)
        converted = convert(files, asked)
        write_trace(out, converted.rows)
    except (TraceError, TableError) as error:
        refuse(errors, "traces", str(error))
        return 1
    except OSError as error:
        refuse(errors, "traces", f"{out} cannot be written: {error.strerror or error}")
        return 1
    _say(Console(), out, converted)
    return 0


def zone_named(name: str) -> ZoneInfo:
    """Return a time zone; TraceError if there is none of that name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise TraceError(
            f"there is no time zone {name[:40]!r}; write one like Europe/Berlin"
        ) from error


def _say(console: Console, out: Path, converted: Converted) -> None:
    for name, kind in converted.kinds.items():
        console.print(f"{name}: {kind}", markup=False, soft_wrap=True)
    for reason, left_out in converted.left_out.items():
        console.print(left_out.words(reason), markup=False, soft_wrap=True)
    tasks = len({row.task for row in converted.rows})
    words = f"{counted(len(converted.rows), 'run')} of {counted(tasks, 'task')}"
    console.print(f"{out}: {words}", markup=False, soft_wrap=True)
