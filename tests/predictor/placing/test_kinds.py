"""Which kinds of tasks are told apart, and how often each has been seen."""

from __future__ import annotations

import pytest

from plimsoll_predictor.placing.kinds import Kinds


def test_a_kind_that_takes_a_place_no_longer_counts_among_the_others() -> None:
    """All runs are of three kinds that have places, or of the one that takes a place."""
    kinds, runs = Kinds(retention=0.99, most=3), 300
    for run in range(runs):
        kinds.seen(f"old{run % 3}")
    assert kinds.shares()[0] == 0
    seen, lost = 0, None
    while lost is None:
        shares = kinds.shares()
        lost = kinds.seen("new")
        seen += 1
    every = sum(0.99**age for age in range(runs + seen))
    assert seen > 1
    assert kinds.shares()[0] == pytest.approx(shares[lost] * 0.99, rel=0.02)
    own = sum(0.99**age for age in range(seen)) / every
    assert kinds.shares()[kinds.place("new")] == pytest.approx(own, rel=0.02)


def test_kinds_that_have_no_place_stay_among_the_others_when_another_takes_one() -> None:
    kinds = Kinds(retention=0.99, most=1)
    for run in range(100):
        kinds.seen("old" if run % 2 else f"rare{run % 8}")
    others = kinds.shares()[0]
    while not kinds.place("new"):
        kinds.seen("new")
    assert kinds.shares()[0] > 0.3 * others
    assert sum(kinds.shares()) == pytest.approx(1.0)
