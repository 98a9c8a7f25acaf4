"""When an extender stops computing, and when it begins again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.extender.breaker import MOST_LATE, REST_S, Breaker


def late(times: int, breaker: Breaker | None = None, now_s: float = 0.0) -> Breaker:
    breaker = breaker or Breaker()
    for _ in range(times):
        breaker = breaker.after_late(now_s)
    return breaker


def test_a_few_late_answers_change_nothing() -> None:
    assert not Breaker().rests(0.0)
    assert not late(MOST_LATE - 1).rests(0.0)


def test_after_several_in_a_row_it_rests_for_a_while() -> None:
    breaker = late(MOST_LATE, now_s=7.0)
    assert breaker.rests(7.0)
    assert breaker.rests(7.0 + REST_S - 0.001)
    assert not breaker.rests(7.0 + REST_S)


def test_one_in_time_begins_the_count_anew() -> None:
    breaker = late(MOST_LATE - 1).after_timely()
    assert not late(MOST_LATE - 1, breaker).rests(0.0)


def test_after_a_rest_one_question_is_tried() -> None:
    tried = late(MOST_LATE)
    assert tried.after_late(REST_S).rests(REST_S)
    assert not late(MOST_LATE - 1, tried.after_timely(), REST_S).rests(REST_S)


@pytest.mark.slow
@given(st.lists(st.booleans(), max_size=60))
def test_it_rests_only_after_as_many_late_ones(answers: list[bool]) -> None:
    breaker, in_a_row = Breaker(), 0
    for now_s, was_late in enumerate(answers):
        if breaker.rests(float(now_s)):
            assert in_a_row >= MOST_LATE
            continue
        breaker = breaker.after_late(float(now_s)) if was_late else breaker.after_timely()
        in_a_row = in_a_row + 1 if was_late else 0
        assert breaker.rests(float(now_s)) is (in_a_row >= MOST_LATE)
