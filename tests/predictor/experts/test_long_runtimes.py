"""A run that hung, or a clock that jumped, outweighs no other runs."""

from __future__ import annotations

import random

import pytest

from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.panel import ANCHORS, PANEL, View, view_of
from plimsoll_predictor.experts.past import LATEST, Past
from plimsoll_predictor.experts.pool import LONGEST, Ratios
from plimsoll_predictor.knowledge.expert_names import BY_FEATURES, SAFE

GB = 10**9
DAY_S = 86_400.0


def a_past(*odd_runtimes_s: float, after: int = 200) -> Past:
    """300 runs of a minute each that vary, with some odd ones of the usual need among them."""
    draws, past = random.Random(5), Past()
    for place in range(300):
        if place == after:
            for runtime_s in odd_runtimes_s:
                past.add(EndedRun(GB, runtime_s), {})
                past.add_anchored(0.0, runtime_s)
        need_bytes = GB * draws.lognormvariate(0, 0.25)
        past.add(EndedRun(need_bytes, 60.0), {})
        past.add_anchored(draws.gauss(0, 0.1), 60.0)
    return past


def seen(past: Past) -> View:
    return view_of(past, {anchor: Ratios() for anchor in ANCHORS}, None)


@pytest.mark.parametrize("after", [0, 200])
@pytest.mark.parametrize("runtime_s", [DAY_S, 30 * DAY_S])
def test_one_odd_runtime_changes_neither_sizes_nor_the_failures_allowed(
    runtime_s: float, after: int
) -> None:
    usual, odd = seen(a_past(60.0, after=after)), seen(a_past(runtime_s, after=after))
    for expert in (SAFE, BY_FEATURES):
        assert PANEL[expert](odd) == PANEL[expert](usual)
    assert odd.failing_share == usual.failing_share
    assert odd.overhead_s < 1.1 * usual.overhead_s


def test_runtimes_that_merely_scatter_count_in_full() -> None:
    past = a_past(LONGEST * 60.0)
    assert past.mean_runtime_s == pytest.approx(sum(past.runtimes_s) / len(past.runtimes_s))


def test_an_odd_runtime_that_is_not_among_the_latest_any_more_counts_no_more_than_before() -> None:
    past = a_past(30 * DAY_S, after=0)
    for _ in range(2 * LATEST):
        past.add(EndedRun(GB, 60.0), {})
    assert past.mean_runtime_s < 1.05 * 60.0


def test_a_hang_that_an_older_version_counted_in_full_and_forgot_counts_no_more() -> None:
    hung = Past(runs=1000, total_runtime_s=999 * 60.0 + 7 * DAY_S)
    hung.runtimes_s.extend([60.0] * LATEST)
    assert hung.mean_runtime_s == pytest.approx(60.0)


def test_forgotten_runs_that_took_as_long_as_some_of_the_latest_count_in_full() -> None:
    past = Past(runs=1000, total_runtime_s=600 * 2000.0 + 200 * 3600.0 + 200 * 1.5)
    past.runtimes_s.extend([1.5, 3600.0] * (LATEST // 2))
    assert past.mean_runtime_s == pytest.approx(past.total_runtime_s / past.runs)


def test_runs_count_in_full_though_more_than_half_of_all_find_nothing_to_do() -> None:
    past = Past()
    for _ in range(60):
        for runtime_s in (1.5, 3600.0, 1.5, 3600.0, 1.5):
            past.add(EndedRun(GB, runtime_s), {})
    assert past.mean_runtime_s == pytest.approx(0.6 * 1.5 + 0.4 * 3600.0)


def test_where_most_runtimes_are_unknown_the_known_ones_count_in_full() -> None:
    past = Past()
    for runtime_s in (0.0, 0.0, 0.0, 3600.0):
        past.add(EndedRun(GB, runtime_s), {})
    assert past.mean_runtime_s == 900.0
