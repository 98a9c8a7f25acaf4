"""A task's own lines: the feature that determines its runtime is found and used."""

from __future__ import annotations

import math
import random

import pytest

from plimsoll_predictor.runtimes.features.asked import MOST_FEATURES
from plimsoll_predictor.runtimes.features.lines import NO_READING, Lines, signed_ln


def ruled(runs: int, spread: float = 0.05) -> Lines:
    """Runtimes are rows/100; another feature says nothing."""
    dice, lines = random.Random(2), Lines()
    for _ in range(runs):
        rows = dice.lognormvariate(9, 1)
        runtime_ln = math.log(rows / 100) + dice.gauss(0, spread)
        lines.learn({"day": dice.uniform(0, 31), "rows": rows}, runtime_ln)
    return lines


@pytest.mark.parametrize("rows", [1_000.0, 50_000.0])
def test_the_line_of_the_feature_that_rules_a_task_speaks(rows: float) -> None:
    reading = ruled(40).read({"day": 3.0, "rows": rows})
    assert reading.at == signed_ln(rows)
    assert reading.line_ln == pytest.approx(math.log(rows / 100), abs=0.15)
    assert reading.off < 0.3 * reading.off_mean


def test_a_feature_without_a_past_says_only_where_it_is() -> None:
    assert Lines().read({}) == NO_READING
    reading = Lines().read({"rows": math.e - 1})
    assert reading.at == pytest.approx(1.0)
    assert math.isnan(reading.line_ln)


def test_one_run_is_no_slope() -> None:
    lines = Lines()
    lines.learn({"rows": 10.0}, 4.0)
    assert lines.read({"rows": 1e6}).line_ln == 4.0


def test_a_task_keeps_lines_of_a_bounded_number_of_features() -> None:
    lines = Lines()
    for number in range(50):
        lines.learn({f"f{number}": 1.0}, 3.0)
    assert len(lines.sums) == MOST_FEATURES


@pytest.mark.parametrize("value", [0.0, -1e300, 1e300, -0.5])
def test_any_number_has_its_place_on_a_line(value: float) -> None:
    lines = Lines()
    for _ in range(3):
        lines.learn({"rows": value}, 3.0)
    reading = lines.read({"rows": -value})
    assert all(map(math.isfinite, reading))
