"""How fast memory grows, and when it reaches its limit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.rescue.growth import MOST_POINTS, Outlook, Readings

LIMIT = 400 * MIB


def read(mib: Sequence[float], every_s: float = 0.1) -> Readings:
    readings = Readings()
    for number, size in enumerate(mib):
        readings.add(number * every_s, int(size * MIB), LIMIT)
    return readings


@pytest.mark.parametrize("mib_s", [5, 20, 100, 400])
def test_a_ramp_is_told_by_its_pace(mib_s: int) -> None:
    outlook = read([10 + mib_s * 0.1 * n for n in range(12)]).outlook()
    assert outlook.growth_bytes_s == pytest.approx(mib_s * MIB, rel=0.01)


def test_a_ramp_that_pauses_between_its_pieces_has_its_mean_pace() -> None:
    # 16 MiB every half a second, read ten times a second.
    outlook = read([16 * (n // 5) for n in range(41)]).outlook()
    assert outlook.growth_bytes_s == pytest.approx(32 * MIB, rel=0.2)


@pytest.mark.parametrize(
    "mib",
    [
        pytest.param([100] * 20, id="flat memory"),
        pytest.param([100] * 9 + [200] * 9, id="one step"),
        pytest.param([8] * 9 + [40, 70, 95] + [96] * 9, id="what is loaded in three readings"),
        pytest.param([8] * 9 + [40, 70, 95], id="what is loaded just now"),
        pytest.param([20 * n for n in range(6)], id="a life too short to tell"),
        pytest.param([200] * 9 + [100] * 9, id="memory that was freed"),
        pytest.param([50, 150], id="two readings"),
    ],
)
def test_no_pace_is_told_of(mib: Sequence[float]) -> None:
    outlook = read(mib).outlook()
    assert outlook.growth_bytes_s == 0
    assert outlook.to_limit_s(int(mib[-1] * MIB), LIMIT) is None


def test_what_grows_reaches_its_limit_at_its_pace() -> None:
    assert Outlook(20.0 * MIB).to_limit_s(360 * MIB, LIMIT) == pytest.approx(2.0)
    assert Outlook(20.0 * MIB).to_limit_s(500 * MIB, LIMIT) == 0


def test_two_steps_forecast_a_third_as_high() -> None:
    stairs = [50] * 5 + [150] * 5 + [250] * 5
    outlook = read(stairs).outlook()
    assert (outlook.steps, outlook.step_bytes) == (2, 100 * MIB)
    assert not outlook.steps_over(250 * MIB, LIMIT)
    assert outlook.steps_over(310 * MIB, LIMIT)


def test_one_step_forecasts_no_other() -> None:
    outlook = read([50] * 5 + [390] * 5).outlook()
    assert outlook.steps == 1
    assert not outlook.steps_over(390 * MIB, LIMIT)


def test_a_step_that_one_reading_cut_in_two_is_one_step() -> None:
    outlook = read([50] * 5 + [100] + [150] * 5).outlook()
    assert (outlook.steps, outlook.step_bytes) == (1, 100 * MIB)


def test_a_long_ramp_is_no_step() -> None:
    outlook = read([50 + 20 * n for n in range(10)] + [230] * 5).outlook()
    assert outlook.steps == 0


def test_a_reading_that_is_not_later_is_left_out() -> None:
    readings = read([10, 20])
    readings.add(0.1, 500 * MIB, LIMIT)
    assert readings.latest == (0.1, 20 * MIB)


@pytest.mark.slow
@given(st.lists(st.integers(0, 4000), min_size=1, max_size=300), st.floats(0.05, 5))
def test_a_life_of_any_length_is_kept_in_few_points(mib: list[int], every_s: float) -> None:
    readings = read(mib, every_s)
    shape = readings.shape
    assert len(shape) <= MOST_POINTS + 1
    assert list(shape) == sorted(shape, key=lambda point: point[0])
    assert shape[-1] == readings.latest
    assert shape[0] == (0.0, mib[0] * MIB)
    assert readings.outlook().growth_bytes_s >= 0
