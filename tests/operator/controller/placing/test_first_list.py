"""When the pods that there were at the controller's start were all seen."""

from __future__ import annotations

import pytest

from plimsoll_operator.controller.placing.first_list import (
    NONE_LISTED_S,
    QUIET_S,
    UNCHANGED_S,
    FirstList,
)


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def first(clock: Clock) -> FirstList:
    made = FirstList(clock)
    assert made.complete, "nothing is awaited before it begins"
    made.begin()
    return made


def test_a_change_shows_that_the_list_has_ended(first: FirstList, clock: Clock) -> None:
    first.see(listed=True)
    clock.now_s += 10 * QUIET_S
    assert not first.complete, "the next page may take long"
    first.see(listed=True)
    first.see(listed=False)
    assert not first.complete, "pods of the list may still be handled"
    clock.now_s += QUIET_S
    assert first.complete


def test_where_nothing_changes_time_shows_it(first: FirstList, clock: Clock) -> None:
    clock.now_s += UNCHANGED_S
    assert not first.complete, "the API server may be away"
    first.see(listed=True)
    clock.now_s += UNCHANGED_S - 1
    first.see(listed=True)
    clock.now_s += UNCHANGED_S - 1
    assert not first.complete, "pods still come"
    clock.now_s += 1
    assert first.complete


def test_where_no_pod_comes_there_is_none(first: FirstList, clock: Clock) -> None:
    clock.now_s += NONE_LISTED_S - 1
    assert not first.complete
    clock.now_s += 1
    assert first.complete


def test_a_later_list_takes_nothing_back(first: FirstList, clock: Clock) -> None:
    clock.now_s += NONE_LISTED_S
    assert first.complete
    first.see(listed=True)
    assert first.complete
