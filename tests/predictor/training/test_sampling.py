"""Every sampler balances what it can, and breaks on nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from plimsoll_predictor.training.sampling import Sampler, sample
from tests.rigs.drawing import examples

_CELLS = st.one_of(
    st.floats(width=32, allow_infinity=False),
    st.just(float("nan")),
    st.sampled_from([0.0, 1.0, 3.4e38]),
)


@pytest.mark.slow
@examples(80)
@given(data=st.data(), sampler=st.sampled_from(list(Sampler)))
def test_no_rows_however_odd_break_a_sampler(data: st.DataObject, sampler: Sampler) -> None:
    n_rows, n_columns = data.draw(st.integers(1, 14)), data.draw(st.integers(1, 4))
    X = data.draw(arrays.arrays(np.float32, (n_rows, n_columns), elements=_CELLS))
    y = data.draw(arrays.arrays(np.int64, n_rows, elements=st.integers(0, 3)))
    categorical = tuple(range(data.draw(st.integers(0, n_columns))))
    codes = data.draw(
        arrays.arrays(
            np.float32,
            (n_rows, len(categorical)),
            elements=st.sampled_from([0.0, 1.0, 2.0, float("nan")]),
        )
    )
    X[:, list(categorical)] = codes
    before = X.copy()

    sampled = sample(X, y, sampler, categorical=categorical, seed=3)
    again = sample(X, y, sampler, categorical=categorical, seed=3)

    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(sampled.X[:n_rows], X)
    np.testing.assert_array_equal(sampled.X, again.X)
    np.testing.assert_array_equal(sampled.y[:n_rows], y)
    assert sampled.X.shape == (sampled.y.size, n_columns)
    assert not np.isinf(sampled.X).any()
    for column in categorical:
        known = set(X[~np.isnan(X[:, column]), column].tolist())
        made = sampled.X[n_rows:, column]
        assert set(made[~np.isnan(made)].tolist()) <= known
    if sampler in (Sampler.RANDOM, Sampler.SMOTE):
        counts = np.unique(sampled.y, return_counts=True)[1]
        assert counts.min() == counts.max()


def _imbalanced(rare: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(0, 1, (40, 2)), random.normal(9, 1, (rare, 2))])
    return X.astype(np.float32), np.asarray([0] * 40 + [1] * rare)


@pytest.mark.parametrize("rare", [2, 3, 4, 20])
def test_smote_makes_rows_between_those_of_a_rare_class(rare: int) -> None:
    X, y = _imbalanced(rare)
    made = sample(X, y, Sampler.SMOTE, categorical=(), seed=1).X[y.size :]
    assert made.shape[0] == 40 - rare
    members = X[y == 1]
    assert np.all(made >= members.min(axis=0) - 1e-4)
    assert np.all(made <= members.max(axis=0) + 1e-4)
    assert len({tuple(row) for row in made.tolist()} - {tuple(row) for row in members.tolist()}) > 1


def test_a_class_of_one_is_repeated() -> None:
    X, y = _imbalanced(1)
    made = sample(X, y, Sampler.SMOTE, categorical=(), seed=1).X[y.size :]
    np.testing.assert_array_equal(made, np.repeat(X[-1:], 39, axis=0))


def test_rows_of_categories_only_are_repeated() -> None:
    X = np.asarray([[0], [0], [0], [1], [2]], dtype=np.float32)
    y = np.asarray([0, 0, 0, 1, 1])
    sampled = sample(X, y, Sampler.SMOTE, categorical=(0,), seed=1)
    assert set(sampled.X[5:, 0].tolist()) <= {1.0, 2.0}
    assert np.bincount(sampled.y).tolist() == [3, 3]


def test_weights_make_classes_count_alike_and_change_no_row() -> None:
    X, y = _imbalanced(4)
    sampled = sample(X, y, Sampler.WEIGHTS, categorical=(), seed=1)
    assert sampled.X is X
    assert sampled.weights is not None
    assert sampled.weights[y == 0].sum() == pytest.approx(sampled.weights[y == 1].sum())


def test_another_seed_makes_other_rows() -> None:
    X, y = _imbalanced(5)
    one, other = (sample(X, y, Sampler.SMOTE, categorical=(), seed=seed).X for seed in (1, 2))
    assert not np.array_equal(one, other)
