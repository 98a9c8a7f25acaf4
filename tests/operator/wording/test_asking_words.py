"""A task that asks for less than it needs gets words about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.wording.asking_words import (
    TooLittle,
    asks_words,
    too_little,
    too_little_cpu_sentence,
    too_little_cpu_words,
)
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import MIB
from tests.builders.reports import an_attempt, killed


def a_run(asked_mib: int | None, needed_mib: int | None, name: str = "r1") -> Observation:
    """A run that succeeded with 512Mi."""
    return replace(
        an_attempt(name),
        request_bytes=None if asked_mib is None else asked_mib * MIB,
        peak_bytes=None if needed_mib is None else needed_mib * MIB,
    )


def words_for(*attempts: Observation) -> str | None:
    return asks_words(too_little(attempts))


def test_a_need_above_the_request_is_told_with_both() -> None:
    assert words_for(a_run(100, 210)) == "too little: 100Mi, needs 210Mi"


def test_the_largest_need_counts_and_the_latest_request() -> None:
    runs = (a_run(90, 300), a_run(100, 150), a_run(100, 90))
    assert words_for(*runs) == "too little: 100Mi, needs 300Mi"


def test_a_run_that_was_killed_at_its_request_needs_more() -> None:
    kill = replace(killed(a_run(100, 100)), allocation_bytes=100 * MIB)
    assert words_for(kill) == "too little: 100Mi, needs more than 100Mi"
    assert words_for(kill, a_run(100, 210)) == "too little: 100Mi, needs 210Mi"


@pytest.mark.parametrize(
    "attempts",
    [
        pytest.param([], id="no attempt"),
        pytest.param([a_run(100, 90)], id="it asks for enough"),
        pytest.param([a_run(100, 101)], id="as good as enough"),
        pytest.param([a_run(100, 210), a_run(400, 210)], id="its author has raised the request"),
        pytest.param([a_run(400, 390), a_run(100, 90)], id="larger runs ask for more"),
        pytest.param([a_run(None, 210)], id="it asks for nothing"),
        pytest.param([a_run(100, None)], id="nobody measured it"),
        pytest.param(
            [replace(a_run(100, 210), outcome=Outcome.FAILED)], id="it failed for another reason"
        ),
        pytest.param(
            [replace(killed(a_run(100, 50)), allocation_bytes=50 * MIB), a_run(100, 90)],
            id="killed below its request",
        ),
    ],
)
def test_nothing_is_told_of_a_task_that_asks_for_enough(attempts: list[Observation]) -> None:
    assert words_for(*attempts) is None


@pytest.mark.parametrize(
    ("asked", "used", "words"),
    [
        pytest.param(0.1, 0.2575, "too little CPU: 100m, uses 258m", id="far below the use"),
        pytest.param(1.0, 1.2, None, id="a little below"),
        pytest.param(1.0, 0.5, None, id="enough"),
        pytest.param(None, 0.5, None, id="none is asked for"),
        pytest.param(0.5, None, None, id="nobody measured it"),
    ],
)
def test_a_cpu_request_far_below_the_use_is_told(
    asked: float | None, used: float | None, words: str | None
) -> None:
    assert too_little_cpu_words(asked, used) == words


def test_a_sentence_names_both_figures_and_what_to_do() -> None:
    told = TooLittle(100 * MIB, 210 * MIB).sentence
    assert told == "its pods request 100Mi of memory, but the task needs 210Mi; raise the request"
    killed_there = TooLittle(100 * MIB, 100 * MIB, censored=True).sentence
    assert "but the task needs more than 100Mi; raise" in killed_there
    assert too_little_cpu_sentence(1, 1.1) is None


def test_memory_comes_before_cpu() -> None:
    both = asks_words(TooLittle(100 * MIB, 210 * MIB), too_little_cpu_words(1, 3))
    assert both == "too little: 100Mi, needs 210Mi; too little CPU: 1, uses 3"
    assert asks_words(None, too_little_cpu_words(1, 3)) == "too little CPU: 1, uses 3"
