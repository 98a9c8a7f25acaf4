"""A support vector machine as arrays: one row answered with numpy alone."""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from plimsoll_predictor.core.packing import FloatMatrix, FloatVector, Int32Vector, ModelError
from plimsoll_predictor.model.trees import MAX_CLASSES

FloatArray: TypeAlias = NDArray[np.float64]


class CompiledSvm(Struct, frozen=True, eq=False, dict=True, tag_field="kind", tag="svm"):
    """One-vs-one decisions of a support vector machine with an RBF kernel, on scaled features.

    A row is imputed (missing -> median), standardised ((x - mean) / scale), and compared with
    each support vector: k = exp(-gamma |x - v|^2). Classes i < j duel by
    sum(coefficient k) + intercept; the class that wins the most duels is predicted; of equals,
    the lowest, as libsvm does.

    median, mean, scale: (n_features,); scale is positive.
    vectors: (n_vectors, n_features), scaled, grouped by class.
    n_vectors_of_class: (n_classes,), int32.
    coefficients: (n_classes - 1, n_vectors): of a vector of class i in its duel against the
        other classes, in their order.
    intercepts: (n_classes (n_classes - 1) / 2,), in the order (0,1), (0,2) ... (1,2) ...
    calibration: (n_classes, n_classes): P(true bin | predicted bin), a row per prediction.
    """

    gamma: float
    median: FloatVector
    mean: FloatVector
    scale: FloatVector
    vectors: FloatMatrix
    n_vectors_of_class: Int32Vector
    coefficients: FloatMatrix
    intercepts: FloatVector
    calibration: FloatMatrix

    def __post_init__(self) -> None:
        """Check shapes and ranges; ModelError if the arrays do not fit together."""
        classes, vectors, features = self.n_classes, self.vectors.shape[0], self.n_features
        shapes = {
            "median": (self.median.shape, (features,)),
            "mean": (self.mean.shape, (features,)),
            "scale": (self.scale.shape, (features,)),
            "coefficients": (self.coefficients.shape, (classes - 1, vectors)),
            "intercepts": (self.intercepts.shape, (classes * (classes - 1) // 2,)),
            "calibration": (self.calibration.shape, (classes, classes)),
        }
        for name, (shape, expected) in shapes.items():
            if shape != expected:
                raise ModelError(f"the SVM's {name} has shape {shape}, expected {expected}")
        if not 2 <= classes <= MAX_CLASSES:
            raise ModelError(f"an SVM of {classes} classes; it must have 2 to {MAX_CLASSES}")
        # An empty class would make reduceat answer for its neighbour.
        if np.any(self.n_vectors_of_class < 1) or int(self.n_vectors_of_class.sum()) != vectors:
            raise ModelError("the SVM's vectors do not divide into its classes; train again")
        if not (np.isfinite(self.gamma) and self.gamma > 0 and np.all(self.scale > 0)):
            raise ModelError("the SVM's gamma and scales must be positive; train again")
        sums = self.calibration.sum(axis=1)
        if np.any(self.calibration < 0) or np.any(np.abs(sums - 1.0) > 1e-6):
            raise ModelError("the SVM's calibration rows must be probabilities; train again")

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """The place where each class's vectors begin, (n_classes,)."""
        return np.concatenate([[0], np.cumsum(self.n_vectors_of_class[:-1])]).astype(np.int64)

    @property
    def n_classes(self) -> int:
        """Bins it tells apart."""
        return len(self.n_vectors_of_class)

    @property
    def n_features(self) -> int:
        """Columns of a row, expanded."""
        return int(self.vectors.shape[1])

    def predict(self, row: NDArray[np.float32]) -> int:
        """The class of one row (n_features,). Not finite means missing."""
        # Absurd values overflow to "infinitely far from every vector", which is an answer.
        with np.errstate(all="ignore"):
            imputed = np.where(np.isfinite(row), row, self.median)
            offsets = self.vectors - (imputed - self.mean) / self.scale
            kernel = np.exp(-self.gamma * np.einsum("ij,ij->i", offsets, offsets))
            return self._winner(np.add.reduceat(self.coefficients * kernel, self._starts, axis=1))

    def _winner(self, sums: FloatArray) -> int:
        """sums: (n_classes - 1, n_classes), what each class's vectors say in each duel."""
        if self.n_classes == 2:
            # scikit-learn turns the sign for two classes: positive is the second one.
            return int(sums[0].sum() + self.intercepts[0] >= 0)
        first, second = np.triu_indices(self.n_classes, k=1)
        duels = sums[second - 1, first] + sums[first, second] + self.intercepts
        winners = np.where(duels > 0, first, second)
        return int(np.bincount(winners, minlength=self.n_classes).argmax())

    def probabilities(self, row: NDArray[np.float32]) -> FloatArray:
        """P(bin), (n_classes,): how often each bin was true when this one was predicted."""
        calibrated: FloatArray = self.calibration[self.predict(row)]
        return calibrated.copy()
