"""Probabilities that mean what they say, from held-out runs.

Trees are too timid after few rounds and too bold after many, and a sampler that gives rare bins
more weight makes them look frequent. Two numbers correct both: how much the margins are stretched,
and how far the bins' sampled shares are moved back to the true ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.model.trees import CompiledTrees

SCALES: Final = (0.7, 1.0, 1.4, 2.0)
"""No scale is below these: a held-out classifier learned from fewer runs, and looks bolder."""
STRENGTHS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
LEAST_PROBABILITY: Final = 1e-4
"""The worst charge of one run: one surprise must not choose for all other runs."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Margins x scale + shift x strength. By default it changes nothing."""

    scale: float = 1.0
    strength: float = 0.0

    def __post_init__(self) -> None:
        """Check the bounds; ModelError if not."""
        if not (0 < self.scale <= 100 and 0 <= self.strength <= 1):
            raise ModelError(
                f"a calibration of {self.scale:g} and {self.strength:g} is out of range; the "
                "scale is above 0 and at most 100, the strength from 0 to 1"
            )

    def applied(
        self, proba: NDArray[np.float64], shift: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Calibrated probabilities, (n, n_bins) -> (n, n_bins); shift: (n_bins,)."""
        margins = np.log(np.maximum(proba, 1e-12)) * self.scale + shift * self.strength
        powers = np.exp(margins - margins.max(axis=1, keepdims=True))
        calibrated: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
        return calibrated

    def compiled(self, trees: CompiledTrees, shift: NDArray[np.float64]) -> CompiledTrees:
        """The same on compiled trees, whose leaves and base are margins; shift: (n_bins,)."""
        is_leaf = trees.left == np.arange(trees.n_nodes)
        scale = np.where(is_leaf, self.scale, 1.0)
        # Two classes have one margin, that of the second over the first.
        moved = shift[1:] - shift[0] if trees.n_classes == 2 else shift
        return msgspec.structs.replace(
            trees,
            value=(trees.value * scale).astype(np.float32),
            base=trees.base * self.scale + moved * self.strength,
        )


@dataclass(frozen=True, slots=True)
class HeldOut:
    """One fold: probabilities (n, n_bins) of runs not learned from, their bins (n,), the shift."""

    proba: NDArray[np.float64]
    y: NDArray[np.int64]
    shift: NDArray[np.float64]


def shares_shift(counts: NDArray[np.float64], sampled: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shift from a sampler's shares of the bins back to the true ones, in margins, (n_bins,).

    counts: runs per bin; sampled: rows or weights per bin that were learned from. A bin with none
    of either stays as it is.
    """
    both = (counts > 0) & (sampled > 0)
    shift = np.zeros(counts.size)
    shift[both] = np.log(counts[both] / counts.sum()) - np.log(sampled[both] / sampled.sum())
    return shift


def fitted_calibration(folds: Sequence[HeldOut]) -> Calibration:
    """The calibration under which the held-out runs' bins are likeliest; none without runs."""
    if not any(fold.y.size for fold in folds):
        return Calibration()
    candidates = [Calibration(scale, strength) for scale in SCALES for strength in STRENGTHS]
    # Among equals, the one that changes least is first.
    candidates.sort(key=lambda each: (abs(np.log(each.scale)), each.strength))
    return min(candidates, key=lambda each: sum(_surprise(fold, each) for fold in folds))


def _surprise(fold: HeldOut, calibration: Calibration) -> float:
    proba = calibration.applied(fold.proba, fold.shift)
    given = proba[np.arange(fold.y.size), fold.y]
    return -float(np.log(np.maximum(given, LEAST_PROBABILITY)).sum())
