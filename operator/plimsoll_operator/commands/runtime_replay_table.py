"""What a replay of a log of runtimes found, as a table in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from plimsoll_predictor.runtime_log.judging import Judged
from plimsoll_predictor.runtime_log.log_run import RuntimeLog

HEADINGS: Final = (
    "pin, runs",
    "tasks",
    "≤ P95",
    "≤ P99",
    "skill 2×",
    "10×",
    "µs",
    "bytes",
)


def runtime_table(log: RuntimeLog, judged: Sequence[Judged]) -> Table:
    """One log's replays, at least one, a method a line; the lowest pin over runs stands out."""
    first = judged[0].score
    table = Table(
        title=f"{escape(log.name)}: {len(log.runs):,} runs, tested on the last {first.runs:,}"
        f" of {first.tasks:,} tasks",
        caption=escape(log_words(log)),
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        collapse_padding=True,
        pad_edge=False,
        caption_justify="left",
    )
    table.add_column("method", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    least = min(each.score.pin_runs for each in judged)
    for each in judged:
        best = len(judged) > 1 and each.score.pin_runs == least
        table.add_row(each.method, *_cells(each), style="bold" if best else "")
    return table


def _cells(judged: Judged) -> list[str]:
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


def log_words(log: RuntimeLog) -> str:
    """What was done to the log before it was replayed; empty if nothing."""
    said = [out.words(why) for why, out in log.left_out.items()]
    if log.shifted:
        said.append(f"{log.shifted:,} started before they were submitted: the clocks differ")
    if log.disordered:
        said.append(f"{log.disordered:,} submitted before the row above: sorted by submission")
    if log.zeros:
        said.append(f"{log.zeros:,} of 0 s: they count as the shortest runtime")
    return "\n".join(said)
