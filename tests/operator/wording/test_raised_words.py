"""What determines a size, and what raises it, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.wording.raised_words import (
    words_for_burst,
    words_for_reached,
    words_for_rule,
)
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.experts.features.curves import LEAST_RUNS
from plimsoll_predictor.knowledge.curve import KindLines, Kinds, Product, Steps, Straight
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.knowledge.rule import Line, Rule

EXCEEDED = ", which some 1.5% of runs are expected to exceed"


def a_task(failing: int, runs: int) -> Knowledge:
    lifts = {f"r{number}": Lift(2, 2, 1) for number in range(failing)}
    return Knowledge(task=TaskId("shop", "train"), policy=Policy(), runs=runs, lifts=lifts)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        pytest.param(None, "", id="no rule"),
        pytest.param(Rule(base_bytes=1.0), "", id="no feature"),
        pytest.param(
            Rule(base_bytes=1.0, lines=(Line("rows", 1.0, 0.0),)),
            "its size follows a line over the logarithm of rows",
            id="a line",
        ),
        pytest.param(
            Rule(base_bytes=1.0, curves=(Straight(("rows", "columns"), (1.0, 2.0), 0.0),)),
            "its size follows a straight line over rows and columns" + EXCEEDED,
            id="straight over two",
        ),
        pytest.param(
            Rule(
                base_bytes=1.0,
                curves=(Straight(("rows",), (1.0,), 0.0, True, 1.08, 20.0 * MIB),),
            ),
            "its size follows a straight line over the logarithm of rows,"
            " with room: 1.08 times that and 20Mi more" + EXCEEDED,
            id="in logarithms, with room",
        ),
        pytest.param(
            Rule(base_bytes=1.0, curves=(Steps("rows", (1.0, 2.0), (1.0, 2.0, 3.0)),)),
            "its size follows rows, in 3 steps" + EXCEEDED,
            id="steps",
        ),
        pytest.param(
            Rule(base_bytes=1.0, curves=(Kinds("region", {"eu": 1.0, "us": 2.0}),)),
            "its size follows region, with a size for each of 2 values" + EXCEEDED,
            id="kinds",
        ),
        pytest.param(
            Rule(base_bytes=1.0, curves=(Product(("rows", "columns"), 1.0, 0.0, 1.05),)),
            "its size follows a straight line over rows times columns, with room: 1.05 times that"
            + EXCEEDED,
            id="a product",
        ),
        pytest.param(
            Rule(
                base_bytes=1.0,
                curves=(KindLines("rows", "region", {"eu": (1.0, 1.0), "us": (1.0, 2.0)}),),
            ),
            "its size follows a straight line over rows for each of 2 values of region" + EXCEEDED,
            id="a line for each kind",
        ),
    ],
)
def test_the_features_that_sizes_follow_are_named(rule: Rule | None, words: str) -> None:
    assert words_for_rule(rule, LEAST_RUNS) == words
    assert words_for_rule(rule, LEAST_RUNS - 1) == words.removesuffix(EXCEEDED)


def test_a_long_name_is_cut() -> None:
    rule = Rule(base_bytes=1.0, curves=(Kinds("x" * 500, {"eu": 1.0}),))
    assert len(words_for_rule(rule, LEAST_RUNS)) < 160


def test_what_running_attempts_have_reached_is_told_where_it_is_news() -> None:
    assert words_for_reached(0) == ""
    assert "have reached 240Mi" in words_for_reached(240 * MIB)


@pytest.mark.parametrize(
    ("failing", "runs", "burst"),
    [(1, 1, False), (2, 1, True), (2, 7, True), (2, 8, False), (0, 0, False)],
)
def test_a_burst_is_told_where_lifts_climb_by_it(failing: int, runs: int, *, burst: bool) -> None:
    assert bool(words_for_burst(a_task(failing, runs))) is burst


def test_runs_that_were_not_killed_by_their_size_are_no_burst() -> None:
    noted = {f"r{number}": Lift(2, 2, 0, as_written=True) for number in range(3)}
    assert words_for_burst(replace(a_task(0, 1), lifts=noted)) == ""
