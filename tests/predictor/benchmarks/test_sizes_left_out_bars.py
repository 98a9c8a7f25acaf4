"""Bars of the other traces' choice: each trace compared with its rule, and all together."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.bar import Bar
from benchmarks.public_traces import TRACES
from benchmarks.sizes.kept import Figures
from benchmarks.sizes.left_out import LeftOut
from benchmarks.sizes.left_out_bars import left_out_bars
from plimsoll_predictor.replay.sizes.engine import DecideAt


def a_line(trace: str, waste_gb_h: float = 90.0, failed: int = 100, live: int = 90) -> LeftOut:
    """A trace whose best rule wastes 100 GB·h, half of it warm."""
    found = Figures(waste_gb_h, failed, warm_gb_h=waste_gb_h - 65)
    return LeftOut(
        trace=trace,
        chosen="as served",
        found=found,
        served=found,
        own="as served",
        best_own=found,
        best_rule_gb_h=100.0,
        best_rule_warm_gb_h=50.0,
        live=Figures(waste_gb_h, live),
    )


def missed(lines: Sequence[LeftOut], decide_at: DecideAt = DecideAt.SUBMIT) -> list[Bar]:
    return [bar for bar in left_out_bars(lines, decide_at) if not bar.holds]


def test_each_trace_and_all_together_have_their_bars() -> None:
    lines = [a_line(trace) for trace in TRACES]
    assert len(list(left_out_bars(lines, DecideAt.SUBMIT))) == len(TRACES) + 3
    assert len(list(left_out_bars(lines, DecideAt.START))) == len(TRACES) + 1
    assert not missed(lines)


def test_the_trace_that_misses_its_bar_is_named() -> None:
    first, *others = TRACES
    (bar,) = missed([a_line(first, 104.0), *(a_line(trace, 80.0) for trace in others)])
    assert first in bar.what
    assert bar.measured == "1.040"


def test_failed_attempts_count_over_all_traces_and_with_live_bounds_apart() -> None:
    first, *others = TRACES
    lines = [a_line(first, failed=451), *(a_line(trace) for trace in others)]
    assert [bar.measured for bar in missed(lines)] == ["951"]
    lines = [a_line(first, live=351), *(a_line(trace) for trace in others)]
    assert [bar.measured for bar in missed(lines)] == ["801"]


def test_a_part_of_the_traces_has_no_bar_over_all() -> None:
    assert len(list(left_out_bars([a_line(TRACES[0])], DecideAt.SUBMIT))) == 1
