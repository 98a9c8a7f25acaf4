"""``plimsoll import --prometheus``: the past of a Prometheus as a history file to import."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import TimeRemainingColumn

from plimsoll_operator.commands.past_runs.spans import BadTime, span_before
from plimsoll_operator.commands.printing.printing import progress_bars, refuse
from plimsoll_operator.prometheus_history.client import (
    PrometheusClient,
    PrometheusError,
    PrometheusServer,
)
from plimsoll_operator.prometheus_history.past_pods import ReadingRules
from plimsoll_operator.prometheus_history.promql import BadMatcher, Where
from plimsoll_operator.prometheus_history.windows import END_UNSEEN, STILL_RUNNING, PastReader
from plimsoll_operator.prometheus_history.windows import Progress as PastProgress
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.tables.cells import TableError
from plimsoll_predictor.tables.history import Written, write_history

MOST_ATTEMPTS: Final = 300_000
"""Held in memory until they are written, about a kilobyte each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusRequest:
    """Which Prometheus is asked, and about which pods.

    since, until: a span before now (30d, 12h, 90m, 2w), or a date; until None is now.
    """

    address: str = field(repr=False)
    since: str = "30d"
    until: str | None = None
    namespaces: Sequence[str] = ()
    matchers: Sequence[str] = ()
    task_label: str | None = None
    margin: float = 0.1
    token_file: Path | None = None
    ca_file: Path | None = None


def prometheus_command(
    request: PrometheusRequest, out: Path, now_s: float, console: Console | None = None
) -> int:
    """Write the past attempts that a Prometheus knows into a history file; the exit status.

    out: its ending says whether CSV or Parquet.
    The status is 1 if nothing was written; a message then says what to do.
    """
    console = console or Console(stderr=True)
    try:
        span_s = span_before(now_s, request.since, request.until)
        observations, progress = asyncio.run(_read(request, span_s, console))
        if not observations:
            raise PrometheusError(_nothing(request, +progress.left_out))
        written = write_history(out, lambda: [observations])
        if not written.rows:
            out.unlink()
            raise PrometheusError(_none_fits(written))
    except (PrometheusError, BadMatcher, BadTime, TableError) as error:
        refuse(console, "import", str(error))
        return 1
    except OSError as error:
        refuse(console, "import", f"{out} cannot be written: {error.strerror or error}")
        return 1
    for reason, count in sorted(progress.left_out.items()):
        if count:
            console.print(f"{count:,} pods left out: {reason}", markup=False, soft_wrap=True)
    for reason, count in written.left_out.most_common():
        console.print(f"{count:,} attempts left out: {reason}", markup=False, soft_wrap=True)
    _say(console, observations, written)
    return 0


async def _read(
    request: PrometheusRequest, span: tuple[float, float], console: Console
) -> tuple[list[Observation], PastProgress]:
    server = PrometheusServer.at(
        request.address, token_file=request.token_file, ca_file=request.ca_file
    )
    where = Where(tuple(request.namespaces), tuple(request.matchers))
    how = ReadingRules(task_label=request.task_label, margin=request.margin)
    observations: list[Observation] = []
    async with PrometheusClient(server) as client:
        reader = PastReader(client, where, how)
        with progress_bars(console, TimeRemainingColumn()) as bar:
            shown = bar.add_task("reading the past", total=span[1] - span[0])
            async for of_window in reader.read(*span):
                observations += of_window
                bar.update(shown, completed=reader.progress.done_s)
                if len(observations) > MOST_ATTEMPTS:
                    raise PrometheusError(
                        f"more than {MOST_ATTEMPTS:,} attempts; import them in parts, with"
                        " --since and --until or --namespace"
                    )
    for warning in client.warnings:
        console.print(f"the server warns: {warning}", markup=False, soft_wrap=True)
    return observations, reader.progress


def _nothing(request: PrometheusRequest, left_out: Counter[str]) -> str:
    where = f" in {', '.join(request.namespaces)}" if request.namespaces else ""
    pods = f"{left_out.total():,} pods of tasks"
    if left_out.keys() - {STILL_RUNNING, END_UNSEEN}:
        return f"none of the {pods} found{where} can be imported: {_counted(left_out)}"
    if left_out:
        return f"no pod's end was seen{where}, of {pods}; is --since long enough?"
    return (
        f"no pods of tasks were found{where} since {request.since}: tasks are pods of Jobs,"
        " CronJobs and workflow engines, and those with the label plimsoll.dev/task or"
        " --task-label. Labels are there if kube-state-metrics runs with"
        " --metric-labels-allowlist=pods=[*]"
    )


def _none_fits(written: Written) -> str:
    reasons = _counted(written.left_out)
    return f"none of the {written.left_out.total():,} attempts found can be imported: {reasons}"


def _counted(left_out: Counter[str]) -> str:
    return "; ".join(f"{count:,}: {reason}" for reason, count in left_out.most_common())


def _say(console: Console, observations: Sequence[Observation], written: Written) -> None:
    succeeded = [each for each in observations if each.outcome is Outcome.SUCCEEDED]
    unmeasured = sum(each.peak_bytes is None for each in succeeded)
    tasks = len({each.task for each in observations})
    words = f"{written.rows:,} attempts of {counted(tasks, 'task')} were found"
    if unmeasured:
        words += (
            f"; of {unmeasured:,} only the runtime is known: their memory was read too seldom to"
            " know their peak"
        )
    console.print(words, markup=False, soft_wrap=True)
