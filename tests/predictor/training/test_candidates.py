"""Which number of bins is taken, by the judged savings and errors of each."""

from __future__ import annotations

from plimsoll_predictor.training.candidates import (
    AS_GOOD,
    MOST_TOO_SMALL,
    Candidate,
    best_candidate,
)


def a_candidate(served_improvement: float, *, u_rate: float = 0.0, bins: int = 2) -> Candidate:
    return Candidate(
        ceilings_bytes=tuple(range(1, bins + 1)),
        optimal_improvement=0.9,
        time_based_optimal_improvement=0.9,
        u_score=0.0,
        accuracy=1.0 - u_rate,
        u_rate=u_rate,
        estimated_improvement=0.8,
        served_improvement=served_improvement,
    )


ONE_BIN = a_candidate(0.4, bins=1)


def test_the_one_that_saves_most_is_taken() -> None:
    assert best_candidate([ONE_BIN, a_candidate(0.6), a_candidate(0.8)]) == 2


def test_of_those_as_good_the_one_with_fewest_bins_is_taken() -> None:
    assert best_candidate([ONE_BIN, a_candidate(0.8 - AS_GOOD / 2), a_candidate(0.8)]) == 1


def test_one_that_is_too_often_too_small_is_not_taken_however_much_it_saves() -> None:
    risky = a_candidate(0.9, u_rate=2 * MOST_TOO_SMALL)
    assert best_candidate([ONE_BIN, a_candidate(0.6), risky]) == 1


def test_where_all_but_one_bin_are_too_often_too_small_they_compete_all_the_same() -> None:
    risky = a_candidate(0.9, u_rate=2 * MOST_TOO_SMALL)
    assert best_candidate([ONE_BIN, risky]) == 1


def test_one_bin_alone_is_taken() -> None:
    assert best_candidate([ONE_BIN]) == 0
