"""The plots of a task's sizes: what is drawn, and where."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from plimsoll_operator.views.report.counting import points_of
from plimsoll_operator.views.report.thinning import thin
from plimsoll_operator.web.plots import size_plots as plots
from plimsoll_operator.web.plots.axes import Scale, even_ticks, linear_ticks_bytes, log_ticks_bytes
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.reports import an_attempt, killed


def test_the_timeline_puts_larger_sizes_higher_and_crosses_each_kill() -> None:
    chain = [killed(an_attempt("r")), replace(an_attempt("r", 2), allocation_bytes=GIB)]
    drawn = plots.timeline(thin(points_of(chain), 100))
    assert len(re.findall(r'<path class="kill"|class="kill"', drawn)) == 1
    assert drawn.count('class="lift"') == 2
    dashes = re.search(r'd="([^"]*)" class="allocation"', drawn)
    assert dashes
    heights = [float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)h", dashes[1])]
    assert heights[1] < heights[0]
    [need] = re.findall(r'cy="([\d.]+)" r="[\d.]+" class="need"', drawn)
    assert float(need) > heights[1]


def test_only_memory_that_was_requested_and_not_used_is_drawn_as_a_gap() -> None:
    """What a run uses above its request, below its limit, was not kept free for it."""
    roomy = replace(an_attempt("roomy"), request_memory_ran_bytes=512 * MIB)
    over = replace(an_attempt("over"), request_memory_ran_bytes=128 * MIB, allocation_bytes=GIB)
    drawn = plots.timeline(thin(points_of([roomy, over]), 100))
    gaps = re.search(r'd="([^"]*)" class="gap"', drawn)
    assert gaps
    assert gaps[1].count("V") == 1


def test_a_need_equal_to_its_allocation_lies_on_the_diagonal() -> None:
    even = replace(an_attempt(), allocation_bytes=300 * MIB)
    wide = replace(an_attempt("r2"), allocation_bytes=4 * GIB)
    drawn = plots.diagonal(thin(points_of([even, wide]), 10))
    ends = re.search(r'x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)" class="even"', drawn)
    assert ends
    x1, y1, x2, y2 = map(float, ends.groups())
    places = [tuple(map(float, p)) for p in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawn)]
    (even_x, even_y), (wide_x, wide_y) = places
    assert even_y == pytest.approx(y1 + (even_x - x1) / (x2 - x1) * (y2 - y1), abs=0.2)
    assert wide_x == even_x
    assert wide_y < even_y


def test_the_histogram_counts_every_need_once_and_marks_each_ceiling() -> None:
    needs = [100 * MIB, 110 * MIB, 900 * MIB]
    assert sum(plots.bar_counts(needs, 954 * MIB)) == 3
    drawn = plots.histogram(needs, (128 * MIB, 160 * MIB, GIB))
    assert drawn.count('class="ceiling"') == 3
    tops = re.findall(r'y="([\d.]+)" class="ceiling-label"', drawn)
    assert tops[0] != tops[1], "labels close to each other stand in two rows"


def test_plots_of_nothing_are_empty_pictures_not_errors() -> None:
    nothing = thin([], 100)
    for drawn in (plots.timeline(nothing), plots.diagonal(nothing), plots.histogram([], [])):
        assert drawn.startswith("<svg")
        assert "nan" not in drawn


def test_scales_map_ends_to_ends_and_keep_outliers_on_the_edge() -> None:
    across = Scale(low=0, high=10, start=100, end=0)
    assert (across(0), across(10), across(5), across(99)) == (100, 0, 50, 0)
    doubling = Scale(low=1, high=16, start=0, end=4, log=True)
    assert [doubling(value) for value in (1, 2, 4, 8, 16)] == [0, 1, 2, 3, 4]
    assert Scale(low=3, high=3, start=0, end=10)(3) == 5


def test_ticks_are_round_and_few() -> None:
    assert linear_ticks_bytes(4.2 * GIB) == [0, GIB, 2 * GIB, 3 * GIB, 4 * GIB]
    assert log_ticks_bytes(100 * MIB, 5 * GIB)[0] == 128 * MIB
    assert len(log_ticks_bytes(1, 2**60)) <= 7
    assert even_ticks(0, finest=0) == [0]
