"""Scenarios: tables and grids, and what is wrong with them, in sentences."""

from __future__ import annotations

import pytest

from plimsoll_predictor.campaigns.scenarios import (
    MOST_SCENARIOS,
    BadScenarios,
    Feature,
    checked,
    of_csv,
    of_grid,
)

ROWS = Feature(name="rows", numeric=True)
REGION = Feature(name="region")


def test_rows_become_texts_and_the_same_scenario_is_run_once() -> None:
    found = checked(
        [
            {"rows": 1, "region": "north"},
            {"rows": 2, "region": "n"},
            {"rows": "1", "region": "north"},
        ],
        [ROWS, REGION],
    )
    assert found.rows == ({"rows": "1", "region": "north"}, {"rows": "2", "region": "n"})
    assert found.duplicates == 1


@pytest.mark.parametrize(
    ("row", "words"),
    [
        pytest.param({"region": "n"}, "scenario 1 has no 'rows'", id="missing"),
        pytest.param({"rows": " ", "region": "n"}, "scenario 1 has no 'rows'", id="empty"),
        pytest.param(
            {"rows": "many", "region": "n"},
            "scenario 1: 'rows' is 'many', which is no number",
            id="no number",
        ),
        pytest.param({"rows": "NaN", "region": "n"}, "which is no number", id="not finite"),
        pytest.param({"rows": 1, "region": "x" * 300}, "longer than 256 characters", id="too long"),
        pytest.param({"rows": 1, "region": "n\0"}, "'region' has a zero byte", id="zero byte"),
        pytest.param(
            {"rows": 1, "region": "n", "regoin": "s"},
            "scenario 1 has 'regoin', which spec.features does not list",
            id="unknown",
        ),
    ],
)
def test_a_wrong_scenario_is_named(row: dict[str, object], words: str) -> None:
    with pytest.raises(BadScenarios, match=words.replace("(", r"\(")):
        checked([row], [ROWS, REGION])


def test_of_many_wrong_scenarios_a_few_are_named() -> None:
    with pytest.raises(BadScenarios, match=r"; and 7 more$"):
        checked([{"rows": "x", "region": str(n)} for n in range(10)], [ROWS, REGION])


@pytest.mark.slow
def test_no_scenario_and_too_many_are_refused() -> None:
    with pytest.raises(BadScenarios, match="there is no scenario"):
        checked([], [ROWS])
    for count in (MOST_SCENARIOS + 1, 100_000):
        with pytest.raises(BadScenarios, match=f"there are {count:,} scenarios.*5,000 at most"):
            of_csv("rows\n" + "".join(f"{n}\n" for n in range(count)), "csv")
    with pytest.raises(BadScenarios, match="there are 1,000,000 scenarios"):
        of_grid({name: list(range(1000)) for name in ("a", "b")})


def test_a_csv_is_read_by_its_header() -> None:
    found = of_csv("rows, region\n10,north\n20,\n", "csv")
    assert found == [{"rows": "10", "region": "north"}, {"rows": "20", "region": ""}]
    with pytest.raises(BadScenarios, match="csv: row 1 has more cells than the header"):
        of_csv("rows\n10,north\n", "csv")
    with pytest.raises(BadScenarios, match="ConfigMap x: row 1 is no CSV"):
        of_csv('rows\n"10', "ConfigMap x")
    with pytest.raises(BadScenarios, match="csv: its first line names 'rows' twice"):
        of_csv("rows, rows\n10,20\n", "csv")
    assert of_csv("\ufeffrows\n10\n", "csv") == [{"rows": "10"}]


def test_a_grid_is_each_value_with_each() -> None:
    assert of_grid({"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]
