"""Reliability: what chances were given, and how often they came true."""

from __future__ import annotations

import numpy as np
import pytest

from plimsoll_predictor.training.u_score import Reliability, fitting_forecasts


def test_chances_that_come_true_as_often_as_they_say_have_no_error() -> None:
    found = Reliability.of(np.full(10, 0.8), np.array([True] * 8 + [False] * 2))
    assert found.error == pytest.approx(0)
    assert [(bucket.count, bucket.came_true) for bucket in found.buckets] == [(10, 0.8)]


def test_overconfidence_shows_as_the_distance_from_what_came_true() -> None:
    found = Reliability.of(np.full(10, 0.95), np.array([True] * 5 + [False] * 5))
    assert found.error == pytest.approx(0.45)


def test_certain_chances_have_buckets_too() -> None:
    found = Reliability.of(np.array([0.0, 1.0]), np.array([False, True]))
    assert [bucket.chance for bucket in found.buckets] == [0.0, 1.0]
    assert found.error == 0


def test_without_forecasts_there_is_no_error() -> None:
    found = Reliability.of(np.zeros(0), np.zeros(0, dtype=np.bool_))
    assert found == Reliability((), None)


def test_a_runs_chances_are_of_fitting_each_ceiling_but_the_last() -> None:
    chances, fits = fitting_forecasts(
        np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), np.array([10.0, 20.0]), (10, 15, 40)
    )
    assert chances == pytest.approx([0.5, 0.8, 0.1, 0.2])
    assert fits.tolist() == [True, True, False, False]
