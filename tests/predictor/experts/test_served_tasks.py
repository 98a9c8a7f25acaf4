"""Whole tasks, served run by run: how many runs are killed, and how much they get."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping

import pytest

from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.experts.charging import EndedRun, charge
from plimsoll_predictor.experts.panel import CURVED_RUNS
from tests.builders.experts.served_tasks import TASK, Run, kinds, served


def steady(runs: int) -> Iterator[Run]:
    draw = random.Random(1)
    for _ in range(runs):
        yield 400 * MIB * draw.uniform(0.98, 1.02), {}


def by_rows(runs: int, need_mib: Callable[[float], float]) -> Iterator[Run]:
    draw = random.Random(2)
    for _ in range(runs):
        rows = draw.choice((1.0, 2.0, 4.0, 8.0, 16.0)) * draw.uniform(0.8, 1.2)
        yield need_mib(rows) * MIB * draw.uniform(0.98, 1.02), {"rows": rows}


@pytest.mark.parametrize("overhead_s", [None, 0.0], ids=["the usual price", "kills cost nothing"])
def test_runs_that_take_no_time_by_the_clock_get_what_runs_of_a_second_get(
    overhead_s: float | None,
) -> None:
    """Kubernetes tells whole seconds. What takes no time cost nothing, however often it failed."""
    at_once, _ = served(steady(100), 0.0, overhead_s)
    a_second, _ = served(steady(100), 1.0, overhead_s)
    assert at_once == a_second
    assert sum(run.killed for run in at_once) <= 2


def test_the_features_of_runs_that_take_no_time_are_followed() -> None:
    _, at_once = served(by_rows(80, lambda rows: 50 * rows), 0.0)
    found, a_second = served(by_rows(80, lambda rows: 50 * rows), 1.0)
    assert at_once.standing(TASK).champion == a_second.standing(TASK).champion
    assert sum(run.over for run in found[60:]) / 20 < 1.2


def test_a_kill_costs_even_where_a_run_took_no_time() -> None:
    run = EndedRun(400.0 * MIB, 0.0)
    assert charge(100.0 * MIB, run, 400.0 * MIB, 0.0).cost > 0
    assert charge(800.0 * MIB, run, 400.0 * MIB, 0.0).cost > 0


@pytest.mark.slow
def test_a_programs_own_memory_and_so_much_a_row_stays_known_for_good() -> None:
    """A line with an intercept is none of logarithms, which is what another expert knows."""
    found, _ = served(by_rows(CURVED_RUNS + 100, lambda rows: 300 + 50 * rows))
    late = found[CURVED_RUNS + 1 :]
    assert sum(run.over for run in late) / len(late) < 1.1
    assert sum(run.killed for run in late) <= 5


@pytest.mark.slow
@pytest.mark.parametrize("old", [300, 4000])
def test_a_release_kills_few_runs_however_old_its_task_is(old: int) -> None:
    found, _ = served(kinds(old + 200, old))
    assert sum(run.killed for run in found[old:]) <= 10


Telling = Callable[[int, bool], Mapping[str, FeatureValue]]
"""The features of a run, by its number and whether it is of a weekend."""


def weeks(count: int, runs_a_day: int, features: Telling) -> Iterator[Run]:
    draw = random.Random(1)
    for number in range(7 * runs_a_day * count):
        weekend = number // runs_a_day % 7 >= 5
        need_mib = (200 if weekend else 800) * draw.uniform(0.97, 1.03)
        yield need_mib * MIB, features(number, weekend)


def day(weekend: bool) -> str:
    return "weekend" if weekend else "workday"


@pytest.mark.slow
@pytest.mark.parametrize("runs_a_day", [24, 100])
@pytest.mark.parametrize(
    "features",
    [
        pytest.param(lambda _, weekend: {"day": day(weekend)}, id="a word"),
        pytest.param(lambda _, weekend: {"rows": 100 if weekend else 1000}, id="a number"),
        pytest.param(
            lambda number, weekend: {"day": day(weekend), "sample": f"s{number}"},
            id="a word, and another that is new each time",
        ),
        pytest.param(
            lambda number, weekend: {"day": day(weekend), "hour": f"{number % 24:02}"},
            id="a word, and another of two dozen",
        ),
    ],
)
def test_a_task_that_alternates_by_a_feature_has_changed_once_at_most(
    features: Telling, runs_a_day: int
) -> None:
    found, standings = served(weeks(4, runs_a_day, features))
    assert standings.standing(TASK).drift.shifts == 1, "the first weekend"
    assert sum(run.killed for run in found[14 * runs_a_day :]) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("runs_a_day", [24, 100])
def test_a_task_that_alternates_by_the_name_of_the_day_has_changed_twice_at_most(
    runs_a_day: int,
) -> None:
    """At the first Monday, it knows no Monday among the latest runs."""
    found, standings = served(
        weeks(4, runs_a_day, lambda number, _: {"day": "MTWtFSs"[number // runs_a_day % 7]})
    )
    assert standings.standing(TASK).drift.shifts <= 2
    assert sum(run.killed for run in found[14 * runs_a_day :]) <= 8


def test_a_task_that_alternates_by_nothing_that_is_known_has_changed() -> None:
    found, standings = served(weeks(1, 24, lambda *_: {"rows": 5}))
    assert standings.standing(TASK).drift.shifts == 1
    assert found[-1].over < 1.5


@pytest.mark.slow
def test_a_task_that_alternates_by_nothing_that_is_known_keeps_its_past_from_the_third_time() -> (
    None
):
    """Its first runs of each week were killed one step after another."""
    found, standings = served(weeks(6, 24, lambda *_: {"rows": 5}))
    assert standings.standing(TASK).drift.shifts == 2
    assert sum(run.killed for run in found[14 * 24 :]) <= 8


@pytest.mark.parametrize(
    "feature",
    [
        pytest.param(lambda number: {"release": f"r{number // 24}"}, id="a release"),
        pytest.param(lambda number: {"day": f"2026-12-{1 + number // 24:02}"}, id="a date"),
        pytest.param(lambda number: {"run": number}, id="a number of the run"),
        pytest.param(lambda number: {"rows": 1000 * 1.01**number}, id="rows that grow"),
    ],
)
@pytest.mark.parametrize(
    ("levels_mib", "shifts"),
    [
        pytest.param((800, 200), 1, id="a leak that was mended"),
        pytest.param((200, 800), 1, id="a leak that came"),
        pytest.param((200, 800, 200), 2, id="a leak that came and was mended"),
    ],
)
def test_a_feature_that_is_new_with_a_level_explains_nothing(
    feature: Callable[[int], Mapping[str, FeatureValue]], levels_mib: tuple[int, ...], shifts: int
) -> None:
    """Its task has really changed: people are told, and the old needs are forgotten."""
    draw = random.Random(1)
    each = 72
    runs = (
        (levels_mib[number // each] * MIB * draw.uniform(0.97, 1.03), feature(number))
        for number in range(each * len(levels_mib))
    )
    found, standings = served(runs)
    assert standings.standing(TASK).drift.shifts == shifts
    assert sum(run.over for run in found[-48:]) / 48 < 1.2
