"""Replays of sizes and of runtimes as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from plimsoll_operator.commands.printing.tables import FittedTable
from plimsoll_operator.wording.figure_words import number_words
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.replay.runtimes.judging import Judged
from plimsoll_predictor.replay.sizes.figures import Totals
from plimsoll_predictor.replay.sizes.playing import Played
from plimsoll_predictor.replay.sizes.sizer import UNASKED_BYTES
from plimsoll_predictor.replay.sizes.traces import Trace
from plimsoll_predictor.runtimes.runs.log_run import RuntimeLog

SIZE_HEADINGS: Final = ("GB·h", "cold", "warm", "optimistic", "failed", "first fit", "ms")
RUNTIME_HEADINGS: Final = (
    *("pin, runs", "tasks", "≤ P95", "≤ P99", "skill 2×", "10×"),
    *("µs", "bytes"),
)


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a table. loss: the line with the lowest loss is the best."""

    name: str
    cells: Sequence[str]
    loss: float


def replay_table(played: Sequence[Played]) -> Table:
    """One trace's replays, at least one, a policy a line; the least waste stands out."""
    first = played[0]
    setting = first.setting
    first_words = "" if setting.first_size == 1 else f", first size {setting.first_size:g}"
    title = (
        f"{first.trace.name}: {counted(first.totals.rows, 'run')},"
        f" decided at {setting.decide_at.value}{first_words}"
    )
    rows = [
        _Row(each.policy.name, _size_cells(each.totals), each.totals.waste_gb_h) for each in played
    ]
    return _table(title, trace_words(first.trace), ("policy", *SIZE_HEADINGS), rows)


def runtime_table(log: RuntimeLog, judged: Sequence[Judged]) -> Table:
    """One log's replays, at least one, a method a line; the lowest pin over runs stands out."""
    first = judged[0].score
    title = (
        f"{log.name}: {counted(len(log.runs), 'run')}, tested on the last {first.runs:,}"
        f" of {counted(first.tasks, 'task')}"
    )
    rows = [_Row(each.method, _runtime_cells(each), each.score.pin_runs) for each in judged]
    return _table(title, log_words(log), ("method", *RUNTIME_HEADINGS), rows)


def _table(title: str, caption: str, headings: Iterable[str], rows: Sequence[_Row]) -> Table:
    table = FittedTable(
        title=escape(title),
        caption=escape(caption),
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        collapse_padding=True,
        pad_edge=False,
        caption_justify="left",
    )
    name, *figures = headings
    table.add_column(name, no_wrap=True)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    least = min(each.loss for each in rows)
    for each in rows:
        best = len(rows) > 1 and each.loss == least
        table.add_row(each.name, *each.cells, style="bold" if best else "")
    return table


def _size_cells(totals: Totals) -> list[str]:
    return [
        number_words(totals.waste_gb_h),
        number_words(totals.cold_gb_h),
        number_words(totals.warm_gb_h),
        number_words(totals.optimistic_gb_h),
        f"{totals.failed_attempts:,}",
        _or_dash(totals.first_fit_rate, "{:.1%}"),
        _or_dash(totals.ms_per_decision, "{:.2f}"),
    ]


def _runtime_cells(judged: Judged) -> list[str]:
    score = judged.score
    return [
        f"{score.pin_runs:.3f}",
        f"{score.pin_tasks:.3f}",
        f"{score.p95_coverage:.3f}",
        f"{score.p99_coverage:.3f}",
        _or_dash(score.skill_2x, "{:.2f}"),
        _or_dash(score.skill_10x, "{:.2f}"),
        f"{judged.us_per_forecast:.1f}",
        _or_dash(judged.bytes_per_task, "{:,.0f}"),
    ]


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def trace_words(trace: Trace) -> str:
    """Say how the trace was changed before the replay; empty if it was not."""
    sentences = [out.words(why) for why, out in trace.left_out.items()]
    if trace.shifted:
        sentences.append(f"{trace.shifted:,} started before they were submitted: moved by the gap")
    if trace.unasked:
        gb = UNASKED_BYTES / 1e9
        sentences.append(f"{trace.unasked:,} ask for nothing: {gb:g} GB stands for it")
    return "\n".join(sentences)


def log_words(log: RuntimeLog) -> str:
    """Say how the log was changed before the replay; empty if it was not."""
    sentences = [out.words(why) for why, out in log.left_out.items()]
    if log.shifted:
        sentences.append(f"{log.shifted:,} started before they were submitted: the clocks differ")
    if log.disordered:
        sentences.append(f"{log.disordered:,} submitted before the row above: sorted by submission")
    if log.zeros:
        sentences.append(f"{log.zeros:,} of 0 s: they count as the shortest runtime")
    return "\n".join(sentences)
