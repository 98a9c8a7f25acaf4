"""Scenarios of real runs: each once, weighted, and chosen to resemble all."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.campaigns.recorded import Recording, of_recorded, text_of
from plimsoll_predictor.campaigns.scenarios import BadScenarios, Feature
from plimsoll_predictor.core.record import Features

ROWS = Feature(name="rows", numeric=True)
REGION = Feature(name="region")
BOTH = (ROWS, REGION)


def runs(*pairs: tuple[float | str, str]) -> list[Features]:
    return [{"rows": rows, "region": region, "other": "x"} for rows, region in pairs]


def test_each_scenario_is_there_once_and_the_commonest_first() -> None:
    found = of_recorded(runs((5, "eu"), (7.0, "us"), (7, "us"), (7, "eu")), BOTH, Recording())
    assert found.rows[0] == {"rows": "7", "region": "us"}
    assert {each["rows"] + each["region"] for each in found.rows} == {"5eu", "7us", "7eu"}
    assert found.weights == (2, 1, 1)
    assert found.duplicates == 0


def test_what_lacks_a_feature_or_says_no_number_is_left_out() -> None:
    odd: list[Features] = [{"rows": 1.0}, {"region": "eu"}, *runs(("many", "eu"), (1, "x" * 257))]
    found = of_recorded([*odd, *runs((3, "eu"))], BOTH, Recording())
    assert found.rows == ({"rows": "3", "region": "eu"},)


@pytest.mark.parametrize(
    ("past", "words"),
    [
        pytest.param([], "no run of the task is known of the last 30 days", id="nothing"),
        pytest.param(
            [{"region": "eu"}] * 9,
            "none of 9 runs of the last 30 days has the feature 'rows'; write it",
            id="a feature that nobody has",
        ),
        pytest.param(
            runs(("many", "eu")),
            "none of 1 run of the last 30 days has a value that can be used of each of rows",
            id="no number",
        ),
    ],
)
def test_what_gives_no_scenario_says_why(past: list[Features], words: str) -> None:
    with pytest.raises(BadScenarios, match=words):
        of_recorded(past, BOTH, Recording())


def test_of_many_the_ends_and_even_steps_are_chosen_in_each_category() -> None:
    past = runs(*((n, "eu") for n in range(1000)), *((n, "us") for n in range(500)))
    found = of_recorded(past, BOTH, Recording(most=30))
    assert len(found.rows) == 30
    assert sum(found.weights) == 1500
    numbers = [int(each["rows"]) for each in found.rows]
    assert (min(numbers), max(numbers)) == (0, 999)
    assert 18 <= sum(each["region"] == "eu" for each in found.rows) <= 22
    assert max(found.weights) < 110


def test_what_many_runs_did_is_chosen_and_weighs_as_much() -> None:
    past = runs(*([(5, "eu")] * 900), *((n, "eu") for n in range(100, 200)))
    found = of_recorded(past, BOTH, Recording(most=10))
    assert (found.rows[0]["rows"], len(found.rows)) == ("5", 10)
    assert 900 <= found.weights[0] < 960


def test_no_more_are_chosen_than_asked_for_even_of_ends() -> None:
    found = of_recorded(runs(*((n, "eu") for n in range(9))), BOTH, Recording(most=1))
    assert found.rows == ({"rows": "8", "region": "eu"},)
    assert found.weights == (9,)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(-50, 50) | st.floats(-1e6, 1e6), st.sampled_from("abc")),
        min_size=1,
        max_size=80,
    ),
    st.integers(1, 90),
)
def test_every_run_counts_once_whatever_is_chosen(past: list[tuple[float, str]], most: int) -> None:
    found = of_recorded(runs(*past), BOTH, Recording(most=most))
    seen = Counter((text_of(rows), region) for rows, region in past)
    chosen = [(each["rows"], each["region"]) for each in found.rows]
    assert len(chosen) == len(set(chosen)) == min(most, len(seen))
    assert set(chosen) <= set(seen)
    assert sum(found.weights) == len(past)
    assert list(found.weights) == sorted(found.weights, reverse=True)
    if most >= len(seen):
        assert dict(zip(chosen, found.weights, strict=True)) == seen


@pytest.mark.parametrize(
    ("value", "text"), [(1e300, "1e+300"), (0.1, "0.1"), (-3.0, "-3"), (7, "7"), (" a ", "a")]
)
def test_a_number_is_written_as_people_would(value: float | str, text: str) -> None:
    assert text_of(value) == text
