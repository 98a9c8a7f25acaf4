"""Nextflow's own trace files as past runs: `nextflow run -with-trace`, raw or for people.

Users configure which columns there are. Needed are the task's name (``process`` or ``name``), when
it ran (``submit`` or ``start``, and two of ``start``, ``complete``, ``duration``, ``realtime``),
and ``peak_rss``. Sizes for people are in powers of 1024, although KB means 1000 elsewhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Final

from plimsoll_predictor.replay.sizes.rows import TraceRow

ABSENT: Final = frozenset({"", "-", "NA", "null"})
_DONE: Final = frozenset({"COMPLETED", "CACHED"})
_UNITS_BYTES: Final = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40, "PB": 2**50}
_UNITS_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?B)", re.IGNORECASE)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)(?![a-z])", re.IGNORECASE)
_NAME: Final = re.compile(r"(?P<process>\S.*?)\s+\((?P<tag>.*)\)", re.DOTALL)
_MOST_TEXT_CHARS: Final = 1024
_MOST_BYTES: Final = 10**18


class NotARun(ValueError):
    """A line cannot be replayed as a run. The words name the column, so they can be counted."""


def is_nextflow(columns: Sequence[str]) -> bool:
    """Whether a header is that of a Nextflow trace."""
    return "peak_rss" in columns and bool({"name", "process"} & set(columns))


def missing_columns(columns: Sequence[str]) -> str | None:
    """The columns that a trace lacks, in words; None if it has all."""
    has = set(columns).__contains__
    if not has("submit") and not has("start"):
        return "submit or start"
    if has("complete") or has("duration") or (has("start") and has("realtime")):
        return None
    return "complete, duration, or both of start and realtime"


def nextflow_row(cells: Mapping[str, str], line: int, run: str, zone: tzinfo) -> TraceRow:
    """One line as a past run.

    cells: column -> stripped text; empty cells are left out. run: the name of the workflow's run.
    zone: for dates without one: the head node's.

    Raises:
        NotARun: if it failed, was not measured, or a cell cannot be read.
    """
    if cells.get("status", "COMPLETED") not in _DONE:
        raise NotARun("status is neither COMPLETED nor CACHED: its peak is not what it needed")
    task, tag = _names(cells)
    peak_bytes = _bytes(cells, "peak_rss")
    if not peak_bytes:
        raise NotARun("no positive peak_rss")
    submit_s, start_s, complete_s = _times(cells, zone)
    realtime_s, cpus = _duration_s(cells, "realtime"), cells.get("cpus", "")
    return TraceRow(
        line=line,
        run=run,
        task=task,
        item=tag,
        submit_s=submit_s,
        start_s=start_s,
        complete_s=complete_s,
        runtime_s=complete_s - start_s if realtime_s is None else realtime_s,
        cpus=float(cpus) if _is_number(cpus) else None,
        preset_bytes=_bytes(cells, "memory") or None,
        input_bytes=None,
        peak_bytes=peak_bytes,
        features={},
    )


def identity(cells: Mapping[str, str]) -> tuple[str, str] | None:
    """What identifies a run in this file and in a resumed run's file; None if nothing does."""
    digest = cells.get("hash")
    return None if digest is None else (digest, cells.get("native_id", ""))


def _names(cells: Mapping[str, str]) -> tuple[str, str | None]:
    """The process and what it works on; ``FASTQC (sample_1)`` names both."""
    name = cells.get("name")
    split = _NAME.fullmatch(name) if name else None
    process = cells.get("process") or (split["process"] if split else name)
    tag = cells.get("tag") or (split["tag"] if split else None)
    if process is None:
        raise NotARun("neither process nor name is given")
    if max(len(process), len(tag or "")) > _MOST_TEXT_CHARS:
        raise NotARun(f"the name has more than {_MOST_TEXT_CHARS} characters")
    return process, tag or None


def _times(cells: Mapping[str, str], zone: tzinfo) -> tuple[float, float, float]:
    """Submission, start and completion.

    In Nextflow, duration is from submission to completion, realtime from start.
    """
    submit_s, start_s = _moment_s(cells, "submit", zone), _moment_s(cells, "start", zone)
    complete_s = _moment_s(cells, "complete", zone)
    duration_s, realtime_s = _duration_s(cells, "duration"), _duration_s(cells, "realtime")
    if complete_s is None and submit_s is not None and duration_s is not None:
        complete_s = submit_s + duration_s
    if complete_s is None and start_s is not None and realtime_s is not None:
        complete_s = start_s + realtime_s
    if start_s is None and complete_s is not None and realtime_s is not None:
        start_s = max(complete_s - realtime_s, submit_s or 0.0)
    start_s = submit_s if start_s is None else start_s
    if start_s is None or complete_s is None:
        raise NotARun("when it started or completed is not known")
    if complete_s < start_s:
        raise NotARun("complete is before start")
    return start_s if submit_s is None else submit_s, start_s, complete_s


def _bytes(cells: Mapping[str, str], name: str) -> int | None:
    text = cells.get(name)
    if text is None:
        return None
    parts = _SIZE.fullmatch(text)
    try:
        size = float(parts[1]) * _UNITS_BYTES[parts[2].upper()] if parts else float(text)
    except ValueError:
        raise NotARun(f"{name} is no size like '1.2 GB' or 1288490188") from None
    if not 0 <= size <= _MOST_BYTES:
        raise NotARun(f"{name} is no size that a machine could have")
    return math.ceil(size)


def _duration_s(cells: Mapping[str, str], name: str) -> float | None:
    text = cells.get(name)
    if text is None:
        return None
    if _is_number(text):
        return float(text) / 1000
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text).strip():
        raise NotARun(f"{name} is no duration like '1h 3m 5s' or 3785000")
    return sum(float(number) * _UNITS_S[unit.lower()] for number, unit in parts)


def _moment_s(cells: Mapping[str, str], name: str, zone: tzinfo) -> float | None:
    text = cells.get(name)
    if text is None:
        return None
    if _is_number(text):
        return float(text) / 1000
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise NotARun(f"{name} is no date like '2024-06-25 10:05:58.651'") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", text) is not None
