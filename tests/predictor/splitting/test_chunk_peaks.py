"""The memory that chunks need, fitted to their peaks."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.splitting.costs import MOST_ITEMS
from plimsoll_predictor.splitting.peaks import MOST_BYTES, Peaks, PeakSums

MB = 10**6


def fitted(peaks: list[tuple[int, int]], killed: tuple[int, int] | None = None) -> Peaks:
    told = PeakSums()
    for items, peak_bytes in peaks:
        told.add(items, peak_bytes)
    if killed is not None:
        told.killed(*killed)
    found = told.fit()
    assert found is not None
    return found


def line(items: int) -> int:
    return (60 + 5 * items) * MB


def test_two_sizes_tell_base_and_slope() -> None:
    peaks = fitted([(n, line(n)) for n in (1, 2, 4, 8, 16)])
    assert peaks.base_bytes == pytest.approx(60 * MB)
    assert peaks.slope_bytes == pytest.approx(5 * MB)
    assert peaks.apart


def test_of_one_size_smaller_chunks_are_believed_to_need_as_much() -> None:
    peaks = fitted([(8, 100 * MB)] * 3)
    assert peaks.mean_bytes(1) == pytest.approx(100 * MB)
    assert peaks.mean_bytes(16) > 100 * MB


def test_where_nothing_is_tried_again_all_that_one_size_needs_may_be_the_items() -> None:
    peaks = fitted([(8, 100 * MB)] * 300)
    assert peaks.most_items(199 * MB) == 16, "half of it is believed to be no item's"
    assert 8 <= peaks.most_items(199 * MB, surely=True) < 16
    assert peaks.most_items(220 * MB, surely=True) == 16
    assert peaks.most_items(50 * MB, surely=True) == 1
    apart = fitted([(n, line(n)) for n in (1, 2, 4, 8, 16)] * 20)
    assert apart.most_items(199 * MB, surely=True) == apart.most_items(199 * MB)


def test_a_container_holds_nearly_all_chunks_of_its_size() -> None:
    draw = random.Random(2)
    peaks = fitted(
        [(n, round(line(n) * math.exp(0.05 * draw.gauss(0, 1)))) for n in [1, 5, 20] * 50]
    )
    room = peaks.container_bytes(10)
    drawn = [line(10) * math.exp(0.05 * draw.gauss(0, 1)) for _ in range(10_000)]
    assert max(drawn) < room < 1.5 * line(10)
    low, high = peaks.interval_bytes(10)
    assert 0.85 < sum(low < each < high for each in drawn) / len(drawn) < 0.95


def test_what_spilled_would_have_been_held() -> None:
    told = PeakSums()
    told.add(4, 50 * MB, spilled_bytes=30 * MB)
    peaks = told.fit()
    assert peaks is not None
    assert peaks.mean_bytes(4) == pytest.approx(80 * MB)


def test_a_chunk_grows_to_twice_of_what_is_known_and_no_further() -> None:
    peaks = fitted([(1, line(1)), (2, line(2))] * 20)
    assert peaks.most_items(10_000 * MB) == 4
    assert peaks.most_items(line(3)) < 4


def test_a_container_too_small_for_anything_still_gets_an_item() -> None:
    assert fitted([(10, line(10)), (20, line(20))]).most_items(1) == 1


def test_a_killed_chunk_bounds_those_in_as_little_memory() -> None:
    known = [(n, line(n)) for n in (1, 2, 4, 8, 16)]
    free = fitted(known).most_items(200 * MB)
    assert fitted(known, (6, 200 * MB)).most_items(200 * MB) == 3 < free
    assert fitted(known, (6, 100 * MB)).most_items(200 * MB) == free


@pytest.mark.parametrize("odd_first", [True, False])
def test_a_peak_far_below_the_usual_moves_the_line_of_no_size(odd_first: bool) -> None:
    usual, odd = [(n, line(n)) for n in (1, 2, 4, 8, 16, 32)] * 5, [(16, 2 * MB), (1, 3 * MB)]
    peaks = fitted([*odd, *usual] if odd_first else [*usual, *odd])
    assert peaks.mean_bytes(20) == pytest.approx(line(20), rel=0.03)
    assert peaks.noise < 0.1


@pytest.mark.parametrize("after", [0, 10, 40])
def test_a_single_peak_far_above_the_usual_counts_like_any_other(after: int) -> None:
    usual, high = (100, 1_000 * MB), (100, 6_000 * MB)
    peaks = fitted([*[usual] * 40, high, *[usual] * after])
    assert peaks.mean_bytes(100) < 1_100 * MB
    assert peaks.container_bytes(100) < 2 * high[1]
    assert peaks.most_items(2_000 * MB) > 50


@pytest.mark.parametrize("idle", [1, 30, 500])
def test_if_more_than_a_few_peaks_are_far_above_those_before_the_others_had_nothing_to_do(
    idle: int,
) -> None:
    peaks = fitted([(100, 8 * MB)] * idle + [(100, 1_000 * MB)] * 20)
    assert peaks.mean_bytes(100) == pytest.approx(1_000 * MB, rel=0.05)


def test_small_chunks_of_a_task_without_a_base_are_not_odd() -> None:
    peaks = fitted([(n, 5 * n * MB) for n in (64, 32, 1, 2, 128)])
    assert peaks.base_bytes == pytest.approx(0, abs=1)
    assert peaks.slope_bytes == pytest.approx(5 * MB)


def test_a_program_that_needs_a_tenth_from_now_on_is_believed_after_some_jobs() -> None:
    told, jobs = PeakSums(), 0
    for peak in [100 * MB] * 10 + [10 * MB] * 20:
        told.fade(0.8)
        for _ in range(40):
            told.add(8, peak)
        found = told.fit()
        assert found is not None
        if peak < 100 * MB:
            jobs += 1
            if found.mean_bytes(8) < 20 * MB:
                break
    assert 2 < jobs <= 20


@pytest.mark.parametrize(
    ("items", "peak", "spilled"),
    [
        pytest.param(0, 1, 0, id="no items"),
        pytest.param(1, 0, 0, id="no memory"),
        pytest.param(1, MOST_BYTES + 1, 0, id="more memory than there is"),
        pytest.param(1, 1, -1, id="spilled less than nothing"),
    ],
)
def test_what_no_chunk_can_have_had_is_refused(items: int, peak: int, spilled: int) -> None:
    with pytest.raises(ValueError, match=r"a (chunk|peak)"):
        PeakSums().add(items, peak, spilled)


@given(
    st.lists(
        st.tuples(st.integers(1, MOST_ITEMS), st.integers(1, MOST_BYTES)), min_size=1, max_size=30
    ),
    st.integers(1, MOST_BYTES),
)
def test_whatever_is_told_a_chunk_has_an_item_and_needs_what_is_finite(
    told: list[tuple[int, int]], container_bytes: int
) -> None:
    peaks = fitted(told)
    assert 1 <= peaks.most_items(container_bytes) <= 2 * peaks.largest
    assert 0 < peaks.container_bytes(peaks.largest) < math.inf
    assert peaks.slope_bytes >= 0
