"""``plimsoll import --airflow``: the past of an Airflow as a history file to import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console

from plimsoll_operator.airflow_history.metadata import Metadata, MetadataError
from plimsoll_operator.airflow_history.past_tries import LeftOut, observation_of
from plimsoll_operator.commands.past_runs.spans import BadTime, span_before
from plimsoll_operator.commands.printing.printing import refuse
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.tables.cells import TableError
from plimsoll_predictor.tables.history import write_history

MOST_ATTEMPTS: Final = 300_000
"""Held in memory until they are written, about a kilobyte each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowRequest:
    """Which metadata database is read, and which part of it.

    since, until: a span before now (30d, 12h, 90m, 2w), or a date; until None is now.
    namespace: the only one wanted, also used for pods whose own is unknown.
    """

    address: str = field(repr=False)
    since: str = "30d"
    until: str | None = None
    namespace: str | None = None


def airflow_command(
    request: AirflowRequest, out: Path, now_s: float, console: Console | None = None
) -> int:
    """Write the tries that an Airflow knows into a history file; the exit status.

    out: its ending says whether CSV or Parquet.
    The status is 1 if nothing was written; a message then says what to do.
    """
    console = console or Console(stderr=True)
    try:
        start_s, end_s = span_before(now_s, request.since, request.until)
        observations, left_out = _read(request, start_s, end_s)
        if not observations:
            raise MetadataError(_nothing(request, left_out))
        written = write_history(out, lambda: [observations])
    except (MetadataError, BadTime, TableError) as error:
        refuse(console, "import", str(error))
        return 1
    except OSError as error:
        refuse(console, "import", f"{out} cannot be written: {error.strerror or error}")
        return 1
    _say(console, left_out + written.left_out, observations)
    return 0


def _read(
    request: AirflowRequest, start_s: float, end_s: float
) -> tuple[Sequence[Observation], Counter[str]]:
    found: dict[str, Observation] = {}
    left_out: Counter[str] = Counter()
    metadata = Metadata.open(request.address)
    try:
        for past in metadata.tries(start_s, end_s):
            attempt = observation_of(past, request.namespace)
            if isinstance(attempt, LeftOut):
                left_out[attempt.value] += 1
                continue
            found[attempt.attempt_uid] = attempt
            if len(found) > MOST_ATTEMPTS:
                raise MetadataError(
                    f"more than {MOST_ATTEMPTS:,} tries; import them in parts, with --since and"
                    " --until or --namespace"
                )
    finally:
        metadata.close()
    # What is learned last counts as the latest, and the database gives them in no order.
    return sorted(found.values(), key=lambda each: each.finished_s or 0.0), left_out


def _nothing(request: AirflowRequest, left_out: Counter[str]) -> str:
    if left_out:
        reasons = "; ".join(f"{count:,}: {reason}" for reason, count in left_out.most_common())
        return f"no try since {request.since} ran as a pod: {reasons}"
    return f"no try ended since {request.since}; is --since long enough, is it the right database?"


def _say(console: Console, left_out: Counter[str], observations: Sequence[Observation]) -> None:
    for reason, count in left_out.most_common():
        console.print(f"{count:,} left out: {reason}", markup=False, soft_wrap=True)
    tasks = len({each.task for each in observations})
    words = f"{len(observations):,} tries of {counted(tasks, 'task')} were found"
    asked = sum(each.request_bytes is not None for each in observations)
    words += f"; of {asked:,} Airflow still knows what memory they asked for"
    console.print(words, markup=False, soft_wrap=True)
