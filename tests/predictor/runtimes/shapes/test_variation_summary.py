"""A task's variation in a sentence: the right word, and numbers that are true."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.runtimes.shapes.modes import modes_of
from plimsoll_predictor.runtimes.shapes.variation_summary import Form, summarise
from tests.builders.runtimes.shapes import Runtimes, spread_out, steady, two_moded
from tests.rigs.drawing import drawn

TASKS = max(drawn(60), 60)
"""Random tasks of a kind: one in fifty of the calmest may seem to have two modes."""
Kind = Callable[[np.random.Generator, int], Runtimes]


def test_a_steady_task_says_how_near_its_runs_are_and_how_many_are_not() -> None:
    runtimes = [*np.linspace(108, 132, 199), 300.0]
    assert summarise(runtimes).words == (
        "steady: half of the runs within 5% of 2 min; 1 of 200 longer than twice that"
    )


def test_a_two_moded_task_says_how_many_runs_are_near_which_mode() -> None:
    runtimes = [40.0, 360.0, 39.0, 361.0, 41.0, 40.0, 40.0, 359.0, 40.0, 40.0] * 10
    assert summarise(runtimes).words == "two-moded: 70% near 40 s, 30% near 6 min"


def test_modes_a_thousandfold_apart_are_two() -> None:
    found = summarise([2.0, 2000.0, 2.1, 1.9, 2001.0, 1999.0] * 5)
    assert [mode.runs for mode in found.modes] == [15, 15]
    assert found.words == "two-moded: 50% near 2 s, 50% near 33 min"


def test_a_task_that_has_moved_says_where_from_and_where_to() -> None:
    rose, fell = [60.0] * 20 + [600.0] * 10, [600.0] * 20 + [60.0] * 10
    assert summarise(rose).words == "moved: the last 10 runs near 10 min, the 20 before near 60 s"
    assert summarise(fell).words == "moved: the last 10 runs near 60 s, the 20 before near 10 min"


def test_a_task_of_three_modes_names_each() -> None:
    found = summarise([10.0, 100.0, 1000.0] * 20)
    assert found.form is Form.MANY_MODED
    assert [round(mode.usual_s) for mode in found.modes] == [10, 100, 1000]


def test_a_long_tail_is_told_with_its_outliers() -> None:
    runtimes = [*np.linspace(54, 66, 190), *[150.0] * 7, *[900.0] * 3]
    assert summarise(runtimes).words == (
        "long-tailed: half of the runs within 5% of 60 s; 10 of 200 longer than twice that, "
        "3 than ten times"
    )


def test_a_wide_task_gives_its_middle_half() -> None:
    found = summarise(np.exp(np.linspace(math.log(10), math.log(1000), 101)))
    assert found.form is Form.WIDE
    assert found.words.startswith("wide: half of the runs between 32 s and 5.3 min, usual 100 s")


def test_a_task_of_one_value_is_steady_at_it() -> None:
    assert summarise([120.0] * 50).words == (
        "steady: every run 2 min; none of 50 longer than twice that"
    )


@pytest.mark.parametrize(
    ("runtimes", "words"),
    [
        ([50.0] * 40 + [60.0] * 160, "steady: half of the runs or more 60 s; none of 200 longer"),
        ([60.0] * 29 + [86400.0], "steady: half of the runs or more 60 s; 1 of 30 longer"),
        (([60.0] * 29 + [6000.0]) * 6, "long-tailed: half of the runs or more 60 s; 6 of 180"),
    ],
)
def test_every_run_is_said_only_if_no_run_took_another_time(
    runtimes: list[float], words: str
) -> None:
    assert summarise(runtimes).words.startswith(words)


def test_one_run_says_that_it_is_one_and_few_that_they_are_few() -> None:
    assert summarise([60.0]).words == "few runs: 1 known, of 60 s; more is told from 5 on"
    assert summarise([60.0, 600.0, 61.0]).words == (
        "few runs: 3 known, usual 61 s; more is told from 5 on"
    )


@pytest.mark.parametrize("runtimes", [[], [0.0], [1.0, -2.0], [float("nan")], [float("inf")]])
def test_what_is_no_runtime_is_refused(runtimes: list[float]) -> None:
    with pytest.raises(ValueError, match="runtime"):
        summarise(runtimes)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [10, 20, 100, 1000])
@pytest.mark.parametrize(
    ("kind", "at_most"),
    [
        pytest.param(steady, 0.02, id="steady tasks"),
        pytest.param(spread_out, 0.1, id="wide tasks"),
        pytest.param(
            lambda random, runs: np.maximum(1, np.round(random.lognormal(1, 0.5, runs))),
            0.1,
            id="whole seconds of a coarse clock",
        ),
    ],
)
def test_chance_seldom_makes_two_modes(kind: Kind, runs: int, at_most: float) -> None:
    random = np.random.default_rng(runs)
    found = [len(modes_of(kind(random, runs))) > 1 for _ in range(TASKS)]
    assert np.mean(found) <= at_most


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "at_least"), [(15, 0.7), (50, 0.95), (500, 1.0)])
def test_two_modes_are_found_where_they_are(runs: int, at_least: float) -> None:
    random = np.random.default_rng(runs)
    found = [len(modes_of(two_moded(random, runs))) == 2 for _ in range(100)]
    assert np.mean(found) >= at_least


@pytest.mark.slow
@given(st.lists(st.floats(1e-3, 1e8), min_size=1, max_size=80))
def test_any_runtimes_have_a_summary_whose_numbers_add_up(runtimes: list[float]) -> None:
    found = summarise(runtimes)
    assert sum(mode.runs for mode in found.modes) == found.known_runs == len(runtimes)
    assert sum(mode.share for mode in found.modes) == pytest.approx(1)
    assert min(runtimes) <= found.low_s <= found.usual_s <= found.high_s <= max(runtimes)
    assert found.longer_than_ten_times <= found.longer_than_twice <= len(runtimes) / 2
    assert found.words.startswith(found.form)
    assert json.loads(json.dumps(found.to_dict()))["words"] == found.words


def test_a_hundred_thousand_runs_are_summed_up_like_a_thousand() -> None:
    random = np.random.default_rng(1)
    assert summarise(two_moded(random, 100_000)).form is Form.TWO_MODED


@pytest.mark.parametrize(
    ("duration_s", "words"),
    [(0.0, "0 s"), (0.5, "0.5 s"), (119.0, "119 s"), (120.0, "2 min"), (7200.0, "2 h")],
)
def test_a_duration_is_said_in_the_largest_unit_of_which_there_are_two(
    duration_s: float, words: str
) -> None:
    assert words_for_duration(duration_s) == words
