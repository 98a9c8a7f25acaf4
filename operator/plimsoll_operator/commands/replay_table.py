"""What a replay found, as a table in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from plimsoll_operator.figure_words import number_words
from plimsoll_predictor.replay.outcome import Totals
from plimsoll_predictor.replay.playing import Played
from plimsoll_predictor.replay.reading import Trace
from plimsoll_predictor.replay.sizer import UNASKED_BYTES

HEADINGS: Final = ("GB·h", "cold", "warm", "optimistic", "failed", "first fit", "ms")


def replay_table(played: Sequence[Played]) -> Table:
    """One trace's replays, at least one, a policy a line; the least waste stands out."""
    first = played[0]
    setting = first.setting
    first_words = "" if setting.first_size == 1 else f", first size {setting.first_size:g}"
    table = Table(
        title=f"{escape(first.trace.name)}: {first.totals.rows:,} runs,"
        f" decided at {setting.decide_at.value}{first_words}",
        caption=escape(trace_words(first.trace)),
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        collapse_padding=True,
        pad_edge=False,
        caption_justify="left",
    )
    table.add_column("policy", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    least = min(each.totals.waste_gb_h for each in played)
    for each in played:
        best = len(played) > 1 and each.totals.waste_gb_h == least
        table.add_row(each.policy.name, *_cells(each.totals), style="bold" if best else "")
    return table


def _cells(totals: Totals) -> list[str]:
    return [
        number_words(totals.waste_gb_h),
        number_words(totals.cold_gb_h),
        number_words(totals.warm_gb_h),
        number_words(totals.optimistic_gb_h),
        f"{totals.failed_attempts:,}",
        _or_dash(totals.first_fit_rate, "{:.1%}"),
        _or_dash(totals.ms_per_decision, "{:.2f}"),
    ]


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def trace_words(trace: Trace) -> str:
    """What was done to the trace before it was replayed; empty if nothing."""
    said = [out.words(why) for why, out in trace.left_out.items()]
    if trace.shifted:
        said.append(f"{trace.shifted:,} started before they were submitted: moved by the gap")
    if trace.unasked:
        gb = UNASKED_BYTES / 1e9
        said.append(f"{trace.unasked:,} ask for nothing: {gb:g} GB stands for it")
    return "\n".join(said)
