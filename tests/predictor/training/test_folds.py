"""Splitting history: the past trains, the future judges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from plimsoll_predictor.training.folds import stratified_folds, time_folds

_LABELS = arrays.arrays(np.int64, st.integers(1, 60), elements=st.integers(0, 4))


@pytest.mark.slow
@given(labels=_LABELS, n_folds=st.integers(1, 5))
def test_every_training_part_has_every_bin_and_its_own_past_only(
    labels: np.ndarray, n_folds: int
) -> None:
    for fold in stratified_folds(labels, n_folds):
        assert set(labels[fold.training]) == set(labels)
        assert not set(fold.training) & set(fold.validation)
        for label in set(labels[fold.validation].tolist()):
            trained = fold.training[labels[fold.training] == label]
            judged = fold.validation[labels[fold.validation] == label]
            assert trained.max() < judged.min()


@pytest.mark.slow
@given(labels=_LABELS, n_folds=st.integers(1, 5))
def test_no_row_is_judged_twice_and_each_bin_of_two_or_more_is_judged(
    labels: np.ndarray, n_folds: int
) -> None:
    folds = stratified_folds(labels, n_folds)
    judged = [row for fold in folds for row in fold.validation.tolist()]
    assert len(judged) == len(set(judged))
    repeated = {label for label in labels.tolist() if (labels == label).sum() > 1}
    assert {int(labels[row]) for row in judged} == repeated


@pytest.mark.slow
@given(n_rows=st.integers(0, 80), n_folds=st.integers(1, 8))
def test_time_folds_train_on_all_that_came_before_and_nothing_later(
    n_rows: int, n_folds: int
) -> None:
    for fold in time_folds(n_rows, n_folds):
        first = int(fold.validation.min())
        assert fold.training.tolist() == list(range(first))


def test_each_fold_trains_on_the_one_before_and_what_that_was_judged_on() -> None:
    folds = time_folds(10, 3)
    assert [fold.training.size for fold in folds] == [4, 6, 8]
    assert [fold.validation.tolist() for fold in folds] == [[4, 5], [6, 7], [8, 9]]
