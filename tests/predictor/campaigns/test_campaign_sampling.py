"""Scenarios drawn from a space: few of them cover all of it."""

from __future__ import annotations

import pytest

from plimsoll_predictor.campaigns.sampling import Axis, drawn
from plimsoll_predictor.campaigns.scenarios import MOST_SCENARIOS, BadScenarios

AXES = (
    Axis(name="rows", low=10, high=100_000, whole=True, logarithmic=True),
    Axis(name="region", values=("north", "south")),
)


def test_a_seed_draws_the_same_and_reaches_all_of_a_range() -> None:
    found = drawn(AXES, 20, seed=3)
    assert found == drawn(AXES, 20, seed=3) != drawn(AXES, 20, seed=4)
    rows = sorted(int(str(each["rows"])) for each in found)
    assert all(10 <= each <= 100_000 for each in rows)
    # There is one draw from each twentieth of the range, by factors.
    assert rows[0] <= 16
    assert rows[-1] >= 63_000
    assert 600 < rows[10] < 1600
    regions = [each["region"] for each in found]
    assert regions.count("north") == regions.count("south") == 10


def test_a_space_with_few_values_gives_each_of_them_once() -> None:
    found = drawn((Axis(name="n", low=1, high=3, whole=True),), 50, seed=1)
    assert sorted(str(each["n"]) for each in found) == ["1", "2", "3"]


def test_no_more_are_drawn_than_a_campaign_takes() -> None:
    with pytest.raises(BadScenarios, match=r"there are 5,001 scenarios.*5,000 at most"):
        drawn(AXES, MOST_SCENARIOS + 1, seed=1)
