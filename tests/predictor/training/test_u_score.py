"""The thesis's figures, recomputed where it prints their inputs."""

from __future__ import annotations

import numpy as np
import pytest

from plimsoll_predictor.training.u_score import (
    confusion_matrix,
    estimated_improvement,
    evaluate,
    u_score,
)


@pytest.mark.parametrize(
    ("optimal", "accuracy", "u_rate", "printed"),
    [
        pytest.param(79.3, 99.8, 0.0, 79.1, id="heavy task 1, 30; 350"),
        pytest.param(88.1, 97.5, 0.2, 85.7, id="heavy task 1, 10; 60; 350"),
        pytest.param(89.0, 96.6, 1.1, 84.9, id="heavy task 1, 10; 20; 60; 350"),
        pytest.param(59.4, 99.8, 0.0, 59.3, id="heavy task 2, 40; 200"),
        pytest.param(71.0, 98.9, 0.5, 69.7, id="heavy task 2, 20; 70; 200"),
        pytest.param(74.3, 95.9, 2.0, 69.3, id="heavy task 2, 10; 30; 70; 200"),
    ],
)
def test_table_11_recomputes_within_its_rounding(
    optimal: float, accuracy: float, u_rate: float, printed: float
) -> None:
    estimated = estimated_improvement(optimal / 100, accuracy / 100, u_rate / 100) * 100
    # Each of the three inputs is itself rounded to 0.1.
    assert abs(estimated - printed) <= 0.1 + 0.05


@pytest.mark.parametrize(
    ("accuracy", "u_rate", "printed"),
    [
        pytest.param(99.8, 0.0, 0.2, id="heavy task 1, 30; 350, XGBoost"),
        pytest.param(97.5, 0.2, 4.5, id="heavy task 1, 10; 60; 350, XGBoost"),
        pytest.param(96.6, 1.1, 13.6, id="heavy task 1, 10; 20; 60; 350, SVM"),
        pytest.param(99.8, 0.0, 0.2, id="heavy task 2, 40; 200, XGBoost"),
        pytest.param(98.9, 0.5, 5.2, id="heavy task 2, 20; 70; 200, SVM"),
        pytest.param(95.9, 2.0, 22.5, id="heavy task 2, 10; 30; 70; 200, XGBoost"),
    ],
)
def test_the_u_scores_of_tables_7_and_8_follow_from_accuracy_and_u_rate(
    accuracy: float, u_rate: float, printed: float
) -> None:
    errors, under = 100 - accuracy, u_rate
    recomputed = (errors - under) + under * 10
    # The u-rate's rounding, 0.05, counts nine times, the accuracy's once.
    assert abs(recomputed - printed) <= 0.05 * 9 + 0.05 + 0.05


def test_one_over_estimated_run_in_440_prints_as_table_8_does() -> None:
    confusion = np.asarray([[400, 1], [0, 39]])
    figures = evaluate(confusion, penalty=10)
    assert round(figures.accuracy * 100, 1) == 99.8
    assert figures.u_rate == 0
    assert round(figures.u_score, 1) == 0.2


def test_under_estimates_stand_below_the_diagonal_and_count_penalty_times() -> None:
    true_bins = np.asarray([0, 0, 1, 2, 2, 2])
    predicted = np.asarray([0, 1, 1, 2, 0, 1])
    confusion = confusion_matrix(true_bins, predicted, 3)
    assert confusion.tolist() == [[1, 1, 0], [0, 1, 0], [1, 1, 1]]
    figures = evaluate(confusion, penalty=10)
    assert figures.accuracy == pytest.approx(3 / 6)
    assert figures.u_rate == pytest.approx(2 / 6)
    assert figures.o_rate == pytest.approx(1 / 6)
    assert figures.u_score == pytest.approx((1 + 2 * 10) / 6 * 100)


def test_all_correct_scores_zero_and_so_does_nothing() -> None:
    assert u_score(over=0, under=0, total=100, penalty=10) == 0
    assert evaluate(np.zeros((2, 2), dtype=np.int64), penalty=10).u_score == 0
