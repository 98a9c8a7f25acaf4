"""The circuit breaker: which failures count as "too small", and which as a run's own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.experts.failures import MOST_SUSPECTED, AttemptAt, Failures

LOW, WRITTEN = 300 * MIB, 1000 * MIB


def lowered(run: str = "a", size_bytes: int = LOW) -> AttemptAt:
    return AttemptAt(run, size_bytes, lowered=True)


def as_written(run: str = "a") -> AttemptAt:
    return AttemptAt(run, WRITTEN, lowered=False)


def failures_after(*attempts: tuple[bool, AttemptAt]) -> Failures:
    """Each attempt with whether it failed."""
    failures = Failures()
    for failed, attempt in attempts:
        (failures.failed if failed else failures.succeeded)(attempt)
    return failures


def test_a_failure_at_a_lower_size_gives_a_floor_above_it() -> None:
    assert failures_after((True, lowered())).floor_bytes == 2 * LOW


def test_the_floor_stays_once_the_run_got_through_as_written() -> None:
    later = [(False, lowered(f"later-{place}", 2 * LOW)) for place in range(200)]
    failures = failures_after((True, lowered()), (False, as_written()), *later)
    assert failures.floor_bytes == 2 * LOW


def test_the_floor_is_taken_back_if_the_run_fails_as_written_too() -> None:
    failures = failures_after((True, lowered()), (True, as_written()))
    assert failures.floor_bytes is None
    assert failures.fails_as_written


def test_a_task_that_failed_as_written_is_not_suspected_at_its_next_failure() -> None:
    failures = failures_after(
        (True, lowered("a")), (True, as_written("a")), (True, lowered("b", LOW))
    )
    assert failures.floor_bytes is None


def test_what_was_proven_stays_after_another_runs_own_mistake() -> None:
    failures = failures_after(
        *((True, lowered("a")), (False, as_written("a"))),
        *((True, lowered("b", 2 * LOW)), (True, as_written("b"))),
    )
    assert failures.floor_bytes == 2 * LOW


def test_a_failure_as_written_gives_no_floor() -> None:
    assert failures_after((True, as_written())).floor_bytes is None


def test_a_size_that_fails_each_time_is_proven_in_a_task_that_failed_as_written_once() -> None:
    past = [(place == 5, as_written(f"past-{place}")) for place in range(10)]
    runs = [each for run in "abc" for each in ((True, lowered(run)), (False, as_written(run)))]
    assert failures_after(*past, *runs).floor_bytes == 2 * LOW


def by_chance(share: float, seed: int, runs: int = 2000) -> Iterator[tuple[int | None, Failures]]:
    """The floor before each run of a task whose attempts fail by chance, at any size."""
    chance, failures = random.Random(seed), Failures()
    for run in range(runs):
        floor_bytes = failures.floor_bytes
        yield floor_bytes, failures
        size_bytes = max(LOW, floor_bytes or 0)
        attempt = AttemptAt(str(run), min(size_bytes, WRITTEN), lowered=size_bytes < WRITTEN)
        if chance.random() >= share:
            failures.succeeded(attempt)
            continue
        failures.failed(attempt)
        if attempt.lowered:
            again = as_written(str(run))
            (failures.failed if chance.random() < share else failures.succeeded)(again)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_failures_by_chance_cost_a_task_few_of_its_low_sizes(share: float, seed: int) -> None:
    floors = [floor_bytes for floor_bytes, _ in by_chance(share, seed)]
    assert floors.count(None) > 0.6 * len(floors)
    changes = sum(one != other for one, other in pairwise(floors))
    assert changes < 0.05 * len(floors)


@pytest.mark.parametrize(("share", "often"), [(0.02, False), (0.4, True)])
def test_a_task_that_fails_in_a_tenth_of_its_runs_fails_often(share: float, often: bool) -> None:
    marked = [failures.fails_often for _, failures in by_chance(share, 1)]
    assert (sum(marked[200:]) > 0.5 * len(marked)) is often


def test_suspicions_are_bounded_and_none_is_lost() -> None:
    runs = [(True, lowered(str(run), LOW + run)) for run in range(5 * MOST_SUSPECTED)]
    failures = failures_after((True, lowered("first", 3 * LOW)), *runs)
    assert len(failures.suspected) == MOST_SUSPECTED
    assert failures.floor_bytes == 6 * LOW
