"""When the pods that there were at the controller's start were all seen."""

from __future__ import annotations

import pytest

from plimsoll_operator.controller.placing.first_list import (
    HANDLED_WITHIN_S,
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


def test_where_our_own_list_is_known_its_pods_show_that_the_watch_has_caught_up(
    first: FirstList,
) -> None:
    first.see("early", listed=True)
    handled = [first.handled]  # our own list is not known yet
    first.expect(["early", "a", "b"])
    first.see("a", listed=True)
    handled.append(first.handled)
    first.see("b", listed=False)
    assert [*handled, first.handled] == [False, False, True]
    assert not first.complete, "others than those of our own list may still come"


def test_a_quiet_moment_is_no_end_while_a_pod_of_our_own_list_was_not_handled(
    first: FirstList, clock: Clock
) -> None:
    first.expect(["a", "b"])
    first.see("a", listed=True)
    first.see("c", listed=False)
    clock.now_s += QUIET_S
    assert first.complete
    handled = [first.handled]
    first.see("b", listed=True)
    assert [*handled, first.handled] == [False, True]


def test_no_pod_is_waited_for_where_there_is_none(first: FirstList) -> None:
    first.expect([])
    assert first.handled


def test_a_pod_that_went_meanwhile_is_not_waited_for(first: FirstList) -> None:
    first.expect(["a", "gone"])
    first.see("a", listed=True)
    assert not first.handled
    first.expect(["a", "new"])
    assert first.handled, "a pod that came later is seen by the watch"


def test_without_our_own_list_time_shows_it(first: FirstList, clock: Clock) -> None:
    clock.now_s += NONE_LISTED_S
    assert first.handled


def test_a_pod_that_is_never_handled_is_not_waited_for_without_end(
    first: FirstList, clock: Clock
) -> None:
    first.expect(["a", "odd"])
    began_s = clock.now_s
    while clock.now_s + 1 < began_s + HANDLED_WITHIN_S:
        clock.now_s += 1
        first.see("a", listed=True)
        assert not first.handled
    clock.now_s += 1
    assert first.handled


def test_all_is_handled_where_nothing_begins_it(clock: Clock) -> None:
    assert FirstList(clock).handled
