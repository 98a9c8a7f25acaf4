"""Features that come after as many as are followed were known."""

from __future__ import annotations

import random

import pytest

from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.features import lines, run_table
from plimsoll_predictor.experts.features.lines import FeatureLines
from plimsoll_predictor.experts.features.run_table import RunTable
from plimsoll_predictor.experts.past import Past

GB = 1e9


def junk(count: int) -> dict[str, float]:
    return {f"junk-{place}": float(place + 1) for place in range(count)}


def test_features_that_never_came_again_keep_no_later_one_from_being_learned() -> None:
    draws, past = random.Random(2), Past()
    past.add(EndedRun(GB, 60.0, 4 * GB), junk(max(run_table.MOST_FEATURES, lines.MOST_FEATURES)))
    for _ in range(run_table.LATEST):
        rows = draws.uniform(1, 10)
        past.add(EndedRun(GB * rows, 60.0, 20 * GB), {"rows": rows})
    assert past.curve is not None
    assert past.curve.at({"rows": 5.0}) == pytest.approx(5 * GB, rel=0.05)
    assert [fitted.line.feature for fitted in past.lines.fitted()] == ["rows"]


def test_the_feature_that_the_fewest_runs_tell_goes_first() -> None:
    table, told = RunTable(), junk(run_table.MOST_FEATURES)
    table.add(told, GB)
    seldom = told.pop("junk-5")
    table.add({**told, "rows": 7.0}, 2 * GB)
    assert "junk-5" not in table.names
    assert table.names[-1] == "rows"
    assert [row.values[-1] for row in table.rows][-1] == 7.0
    # The other columns stayed where they belong.
    for place, name in enumerate(table.names[:-1]):
        assert [row.values[place] for row in table.rows] == [told[name]] * 2
    assert seldom not in table.rows[0].values


def test_a_feature_of_one_run_takes_the_place_of_none_that_more_runs_tell() -> None:
    table, told = RunTable(), junk(run_table.MOST_FEATURES)
    for _ in range(2):
        table.add(told, GB)
    table.add({"rows": 7.0}, GB)
    table.add({**told, "rows": 7.0}, GB)
    assert table.names == list(told)


def test_the_line_that_was_told_longest_ago_goes_first() -> None:
    followed, told = FeatureLines(), junk(lines.MOST_FEATURES)
    followed.add(told, GB)
    followed.add({name: value for name, value in told.items() if name != "junk-5"}, GB)
    followed.add({"rows": 7.0}, GB)
    assert followed.by_feature.keys() == {*told, "rows"} - {"junk-5"}


def test_no_line_goes_while_a_run_tells_them_all() -> None:
    followed, told = FeatureLines(), junk(lines.MOST_FEATURES)
    for _ in range(2):
        followed.add({**told, "rows": 7.0}, GB)
    assert followed.by_feature.keys() == told.keys()
