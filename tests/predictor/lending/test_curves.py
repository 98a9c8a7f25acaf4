"""How long an attempt's memory has been flat."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.lending.curves import FLAT_SHARE, Curve

LEAST_S = 60.0


def a_curve(*maxima_mib: float, every_s: float = 10.0) -> Curve:
    """Maxima at equal intervals of seconds, the first at 0."""
    curve = Curve.begin(int(maxima_mib[0] * MIB), 0.0)
    for number, mib in enumerate(maxima_mib[1:], start=1):
        curve = curve.advance(int(mib * MIB), number * every_s)
    return curve


def test_what_does_not_rise_is_flat_after_the_least_time() -> None:
    assert not a_curve(100).is_flat(LEAST_S - 1, LEAST_S)
    assert a_curve(100).is_flat(LEAST_S, LEAST_S)


def test_a_rise_begins_the_time_anew() -> None:
    curve = a_curve(100, 100, 150)
    assert curve.used_bytes == 150 * MIB
    assert not curve.is_flat(20 + LEAST_S - 1, LEAST_S)
    assert curve.is_flat(20 + LEAST_S, LEAST_S)


def test_steps_that_are_small_alone_are_a_rise_together() -> None:
    slowly = a_curve(*(100 + number for number in range(41)))
    assert slowly.since_s == 310
    assert slowly.used_bytes == 140 * MIB


def test_a_small_step_is_kept_as_used_and_is_no_rise() -> None:
    curve = a_curve(100, 103)
    assert (curve.since_s, curve.used_bytes) == (0.0, 103 * MIB)


def test_what_rose_for_hours_has_to_be_flat_for_longer() -> None:
    curve = a_curve(*(100 * 1.2**number for number in range(20)), every_s=1000.0)
    assert not curve.is_flat(19_000 + LEAST_S, LEAST_S)
    assert curve.is_flat(19_000 + FLAT_SHARE * 19_000, LEAST_S)


@pytest.mark.slow
@given(st.lists(st.integers(0, 10 * 2**30), min_size=1, max_size=30))
def test_a_curve_knows_its_largest_maximum_in_any_order(maxima: list[int]) -> None:
    curve = Curve.begin(maxima[0], 0.0)
    for number, used_bytes in enumerate(maxima[1:], start=1):
        curve = curve.advance(used_bytes, float(number))
    assert curve.used_bytes == max(maxima)
    assert curve.level_bytes <= curve.used_bytes
    assert curve.first_s <= curve.since_s


@pytest.mark.parametrize("used_mib", [1, 64, 100])
def test_a_maximum_never_falls(used_mib: int) -> None:
    assert a_curve(100, used_mib).used_bytes == 100 * MIB
