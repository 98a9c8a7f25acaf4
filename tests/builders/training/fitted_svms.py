"""Support vector machines of scikit-learn, and what is compiled from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from plimsoll_predictor.model.svm import CompiledSvm
from plimsoll_predictor.training.compile import compile_svm


class FittedSvm:
    """A real SVC on imputed, scaled rows, and the rows that missing values are drawn from."""

    def __init__(self, n_classes: int, seed: int, kernel: str = "rbf") -> None:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(120, 4)) * [1.0, 50.0, 0.01, 1.0]
        X[:, 3] = 2.0  # a column that never changes must not divide by zero
        y = np.arange(120) % n_classes
        X[:, 0] += y
        self.medians = np.median(X, axis=0)
        self.scaler = StandardScaler().fit(X)
        self.svc = SVC(kernel=kernel, C=3.0, gamma="scale").fit(self.scaler.transform(X), y)
        confusion = np.eye(n_classes) * 8 + 1
        self.calibration = confusion / confusion.sum(axis=1, keepdims=True)

    def scaled(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        filled = np.where(np.isfinite(X), X, self.medians).astype(np.float64)
        scaled: NDArray[np.float64] = self.scaler.transform(filled)
        return scaled

    def compiled(self) -> CompiledSvm:
        return compile_svm(self.svc, self.scaler, self.medians, self.calibration)
