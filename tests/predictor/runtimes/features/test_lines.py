"""A task's own lines: the feature that determines its runtime is found and used."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

import pytest

from plimsoll_predictor.runtimes.features.asked import MOST_FEATURES
from plimsoll_predictor.runtimes.features.lines import LONG_ABSENT, NO_READING, Lines, signed_ln


def ruled(runs: int, spread: float = 0.05) -> Lines:
    """Runtimes are rows/100; another feature says nothing."""
    dice, lines = random.Random(2), Lines()
    for run in range(runs):
        rows = dice.lognormvariate(9, 1)
        runtime_ln = math.log(rows / 100) + dice.gauss(0, spread)
        lines.learn({"day": dice.uniform(0, 31), "rows": rows}, runtime_ln, run)
    return lines


@pytest.mark.parametrize("rows", [1_000.0, 50_000.0])
def test_the_line_of_the_feature_that_rules_a_task_speaks(rows: float) -> None:
    reading = ruled(40).read({"day": 3.0, "rows": rows})
    assert reading.at == signed_ln(rows)
    assert reading.line_ln == pytest.approx(math.log(rows / 100), abs=0.15)
    assert reading.off < 0.3 * reading.off_mean


@pytest.mark.parametrize("odd", [1e300, 1e18, -1.0])
@pytest.mark.parametrize("times", [1, 2])
def test_a_value_that_stands_for_an_unknown_one_switches_no_line_off(
    odd: float, times: int
) -> None:
    dice, lines, missed = random.Random(2), Lines(), list[float]()
    for run in range(160):
        rows = dice.lognormvariate(10, 1)
        runtime_ln = math.log(rows / 100) + dice.gauss(0, 0.05)
        if run >= 150:
            missed.append(abs(lines.read({"rows": rows}).line_ln - runtime_ln))
        lines.learn({"rows": odd if 100 <= run < 100 + times else rows}, runtime_ln, run)
    assert sum(missed) / len(missed) < (0.1 if times == 1 else 0.4)


@pytest.mark.parametrize("every", [7, 12, 30])
@pytest.mark.parametrize("full", [1e6, 1e9])
def test_a_full_load_among_many_runs_that_find_nothing_to_do_is_learned(
    full: float, every: int
) -> None:
    dice, lines, missed = random.Random(1), Lines(), list[float]()
    for run in range(300):
        is_full = run % every == every - 1
        rows = full * dice.lognormvariate(0, 0.3) if is_full else 0.0
        runtime_ln = math.log(3600 if is_full else 60) + dice.gauss(0, 0.1)
        if is_full and run > 100:
            missed.append(abs(lines.read({"rows": rows}).line_ln - runtime_ln))
        lines.learn({"rows": rows}, runtime_ln, run)
    assert sum(missed) / len(missed) < 0.3


def test_a_feature_that_is_counted_in_another_unit_from_now_on_is_learned_again() -> None:
    dice, lines, missed = random.Random(2), Lines(), list[float]()
    for run in range(300):
        rows = dice.lognormvariate(3, 1)
        runtime_ln = math.log(rows) + dice.gauss(0, 0.05)
        told = rows if run < 100 else rows * 1e9
        if run >= 280:
            missed.append(abs(lines.read({"rows": told}).line_ln - runtime_ln))
        lines.learn({"rows": told}, runtime_ln, run)
    assert sum(missed) / len(missed) < 0.5


def test_a_feature_without_a_past_says_only_where_it_is() -> None:
    assert Lines().read({}) == NO_READING
    reading = Lines().read({"rows": math.e - 1})
    assert reading.at == pytest.approx(1.0)
    assert math.isnan(reading.line_ln)


def test_one_run_is_no_slope() -> None:
    lines = Lines()
    lines.learn({"rows": 10.0}, 4.0, 1)
    assert lines.read({"rows": 1e6}).line_ln == 4.0


def test_a_task_keeps_lines_of_a_bounded_number_of_features() -> None:
    lines = Lines()
    for number in range(50):
        lines.learn({f"f{number}": 1.0}, 3.0, number)
    assert len(lines.sums) == MOST_FEATURES


def learn(lines: Lines, names: Iterable[str], runs: Iterable[int]) -> None:
    """Runs that take rows/100, and have these features, all with the same value."""
    dice, names = random.Random(5), tuple(names)
    for run in runs:
        rows = dice.lognormvariate(9, 1)
        lines.learn(dict.fromkeys(names, rows), math.log(rows / 100), run)


def test_a_feature_that_was_renamed_gets_a_line_in_place_of_the_old_one() -> None:
    lines, others = Lines(), [f"f{number}" for number in range(MOST_FEATURES - 1)]
    learn(lines, [*others, "rows"], range(50))
    learn(lines, [*others, "row_count"], range(50, 100))
    assert set(lines.sums) == {*others, "row_count"}
    reading = lines.read({"row_count": 50_000.0})
    assert reading.line_ln == pytest.approx(math.log(500), abs=0.15)


def test_runs_that_take_turns_with_their_features_keep_their_lines() -> None:
    lines, first = Lines(), [f"f{number}" for number in range(MOST_FEATURES)]
    for run in range(100):
        learn(lines, first if run % 2 == 0 else ["other"], [run])
    assert set(lines.sums) == set(first)
    learn(lines, ["other"], range(100, 100 + LONG_ABSENT))
    assert "other" in lines.sums


def test_of_features_that_went_away_together_the_same_goes_after_a_restart() -> None:
    first, *others = [f"f{number}" for number in reversed(range(MOST_FEATURES))]
    lines = Lines()
    learn(lines, [first], [0])
    learn(lines, [first, *others], range(1, 10))
    restored = Lines(dict(sorted(lines.sums.items())))
    for each in (lines, restored):
        learn(each, ["new"], range(10 + LONG_ABSENT, 13 + LONG_ABSENT))
    assert lines.sums == restored.sums


def test_lines_that_an_older_version_counted_let_go_too() -> None:
    before = [f"f{number}" for number in range(MOST_FEATURES)]
    lines = Lines({name: [20.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 300.0] for name in before})
    learn(lines, [*before[1:], "new"], range(700, 702))
    assert set(lines.sums) == {*before[1:], "new"}


@pytest.mark.parametrize("value", [0.0, -1e300, 1e300, -0.5])
def test_any_number_has_its_place_on_a_line(value: float) -> None:
    lines = Lines()
    for run in range(3):
        lines.learn({"rows": value}, 3.0, run)
    reading = lines.read({"rows": -value})
    assert all(map(math.isfinite, reading))
