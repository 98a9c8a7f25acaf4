from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.model.svm import CompiledSvm
from plimsoll_predictor.training.compile import compile_svm
from tests.builders.training.fitted_svms import FittedSvm
from tests.rigs.drawing import examples


def rows_of(n: int, seed: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 4)) * [2.0, 60.0, 0.02, 1.0] + [1.0, 0.0, 0.0, 2.0]).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.slow
@given(n_classes=st.integers(2, 8), seed=st.integers(0, 2**16))
@examples(30)
def test_any_row_gets_the_class_scikit_learn_predicts(n_classes: int, seed: int) -> None:
    fitted = FittedSvm(n_classes, seed)
    compiled = fitted.compiled()
    X = rows_of(200, seed + 1)
    expected = fitted.svc.predict(fitted.scaled(X))
    assert [compiled.predict(row) for row in X] == expected.tolist()


def test_its_probabilities_are_how_often_each_bin_was_true_at_that_prediction() -> None:
    fitted = FittedSvm(3, seed=0)
    compiled = fitted.compiled()
    for row in rows_of(20, seed=1):
        expected = fitted.calibration[compiled.predict(row)]
        np.testing.assert_array_equal(compiled.probabilities(row), expected)


def test_an_answer_cannot_be_used_to_change_the_model() -> None:
    compiled = FittedSvm(3, seed=0).compiled()
    row = rows_of(1, seed=1)[0]
    compiled.probabilities(row)[:] = 0.0
    assert compiled.probabilities(row).sum() == pytest.approx(1.0)


def test_absurd_values_still_get_an_answer() -> None:
    compiled = FittedSvm(3, seed=0).compiled()
    for value in (3e38, -3e38, np.inf, np.nan):
        assert compiled.predict(np.full(4, value, dtype=np.float32)) in (0, 1, 2)


def test_a_saved_svm_answers_as_before() -> None:
    compiled = FittedSvm(4, seed=2).compiled()
    loaded = from_document(CompiledSvm, json.loads(json.dumps(to_document(compiled))), "the SVM")
    rows = rows_of(100, seed=3)
    assert [loaded.predict(row) for row in rows] == [compiled.predict(row) for row in rows]


def test_another_kernel_or_classes_without_runs_are_refused_in_words() -> None:
    linear = FittedSvm(3, seed=0, kernel="linear")
    with pytest.raises(ModelError, match="linear"):
        linear.compiled()
    fitted = FittedSvm(3, seed=0)
    with pytest.raises(ModelError, match="cannot serve 4 bins"):
        compile_svm(fitted.svc, fitted.scaler, fitted.medians, np.eye(4))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param({"gamma": 0.0}, id="no gamma"),
        pytest.param({"gamma": "0.1"}, id="a gamma that is text"),
        pytest.param({"scale": "mean"}, id="a scale that is not positive"),
        pytest.param({"calibration": "coefficients"}, id="a calibration of another shape"),
        pytest.param({"vectors": "mean"}, id="vectors of another dimension"),
        pytest.param({"n_vectors_of_class": "mean"}, id="counts of another type"),
    ],
)
def test_a_damaged_svm_is_refused(damage: dict[str, Any]) -> None:
    data = to_document(FittedSvm(3, seed=0).compiled())
    for key, value in damage.items():
        data[key] = data.get(value, value)
    with pytest.raises(ModelError):
        from_document(CompiledSvm, data, "the SVM", ModelError)
