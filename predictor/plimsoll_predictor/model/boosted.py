"""A high quantile of a run's need by its features, as it serves: numpy only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.model.trees import CompiledTrees

MARGIN: Final = 1.1
"""Factor over the quantile, in every bid. The newest runs differ from those learned from, so fewer
fit than the level says; choosing the factor by each task's past was worse (docs/sap.md)."""
MAX_NEED_BYTES: Final = 2.0**62


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoostedNeed:
    """Gradient-boosted trees of the logarithm of a need.

    trees: over the expanded columns of the schema it was fitted with.
    least_bytes, most_bytes: the needs it has seen; it answers nothing outside, since trees that
        learned from few runs overreach.
    level: the quantile it answers.
    """

    trees: CompiledTrees
    level: float
    least_bytes: float
    most_bytes: float

    def __post_init__(self) -> None:
        """Check that it is one regression over a range of needs; ModelError if not."""
        if self.trees.n_classes != 1:
            raise ModelError(
                f"boosted needs of {self.trees.n_classes} classes, not one; train the task again"
            )
        if not 0 < self.level < 1:
            raise ModelError(f"a quantile of {self.level} is not within 0 and 1; train again")
        if not 0 < self.least_bytes <= self.most_bytes <= MAX_NEED_BYTES:
            raise ModelError(
                f"needs from {self.least_bytes:g} to {self.most_bytes:g} bytes are no range; "
                "train the task again"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoostedNeed) and to_document(self) == to_document(other)

    def __hash__(self) -> int:
        return hash((self.level, self.least_bytes, self.most_bytes))

    def need_bytes(self, row: NDArray[np.float32]) -> float:
        """The quantile of one run's need; row: (n_features,), expanded. NaN means missing."""
        logarithm = self.trees.margin(row)
        # Compared before exp, which overflows on the trees of a foreign file.
        if logarithm >= math.log(self.most_bytes):
            return self.most_bytes
        return max(math.exp(logarithm), self.least_bytes)
