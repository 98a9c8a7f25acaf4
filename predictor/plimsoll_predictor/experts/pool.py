"""Charges and ratios of all tasks together, by how many runs a task had: a young task's prior."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.experts.expected import N_CELLS, cell_of
from plimsoll_predictor.experts.restarts import Restarts
from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants

AGES: Final = 12
"""An age is the logarithm to base 2 of a task's runs: 1, 2-3, 4-7 ..."""
FORGETTING: Final = 0.997
"""The share of an age's charges that each new charge leaves."""
MOST_CHARGED: Final = 3.0
"""One run's charge, in sizes of the run: an outlier of one task says little about others."""
NEIGHBOUR: Final = 0.3
"""Weight of the ages beside a task's own."""
LONGEST: Final = 20.0
"""A run's runtime counts at most this much: in mean runtimes of its task here, in what most of its
runs take in ``past.Runtimes``."""

Vector = NDArray[np.float64]


def _around() -> Vector:
    """The weights of the ages around each, (AGES, AGES)."""
    apart = abs(np.subtract.outer(np.arange(AGES), np.arange(AGES)))
    nearer = [[NEIGHBOUR**each for each in row] for row in apart.tolist()]
    return np.where(apart > 2, 0.0, nearer)


_AROUND: Final = _around()


def age_of(runs: int) -> int:
    """The age of a task with that many runs."""
    return min(AGES - 1, int(math.log2(runs + 1)))


@dataclass(slots=True)
class Ratios:
    """Ratios of needs to one kind of anchor, by age: (AGES, N_CELLS)."""

    by_runtime: Vector = field(default_factory=lambda: np.zeros((AGES, N_CELLS)))
    by_count: Vector = field(default_factory=lambda: np.zeros((AGES, N_CELLS)))

    def add(self, age: int, log_ratio: float, runtimes: float) -> None:
        """Count a run. runtimes: its runtime in mean runtimes of its task."""
        cell = cell_of(log_ratio)
        self.by_runtime[age, cell] += min(runtimes, LONGEST)
        self.by_count[age, cell] += 1.0

    def around(self, age: int) -> tuple[Vector, Vector] | None:
        """Mean of an age and its neighbours; None if nothing was seen there."""
        weights = _AROUND[age]
        counted = weights @ self.by_count
        n = np.add.reduce(counted)
        return (weights @ self.by_runtime / n, counted / n) if n > 0 else None


def _without_null(charges: Vector) -> Vector:
    """Charges as an older version stored them, with the age's mean where it wrote null."""
    known = np.isfinite(charges)
    total = np.where(known, charges, 0.0).sum(axis=1, keepdims=True)
    mean = total / np.maximum(known.sum(axis=1, keepdims=True), 1)
    return np.where(known, charges, mean)


class Pool:
    """Charges of experts, ratios to anchors, and the usual restart, over all tasks.

    constants: the chosen ones, with the measured restart.
    """

    def __init__(
        self, experts: Sequence[str], anchors: Sequence[str], constants: Constants = SERVED
    ) -> None:
        self._chosen = self.constants = constants
        self.restarts = Restarts()
        self._experts = tuple(experts)
        self._charges = np.zeros((AGES, len(self._experts)))
        self._weights = np.zeros(AGES)
        self.ratios: dict[str, Ratios] = {anchor: Ratios() for anchor in anchors}

    def charge(self, runs: int, charges: Vector) -> None:
        """Learn what each expert was charged for one run of a task with that many runs."""
        age = age_of(runs)
        # What is no number counts as MOST_CHARGED: it would stay in the sum for ever.
        self._charges[age] = self._charges[age] * FORGETTING + np.fmin(charges, MOST_CHARGED)
        self._weights[age] = self._weights[age] * FORGETTING + 1.0

    def restarted(self, restart_s: float) -> None:
        """Learn how long a killed run waited for its next attempt. Later prices use it."""
        self.restarts.add(restart_s)
        self._price_restarts()

    def _price_restarts(self) -> None:
        usual_s = self.restarts.usual_s
        if usual_s is not None:
            self.constants = replace(self._chosen, restart_s=usual_s)

    def mean_charges(self, runs: int) -> Vector:
        """Each expert's mean charge at that age and beside it; zeros where none was seen."""
        age = age_of(runs)
        weights = np.zeros(AGES)
        weights[max(0, age - 1) : age + 2] = NEIGHBOUR
        weights[age] = 1.0
        n = float(weights @ self._weights)
        charges: Vector = weights @ self._charges
        return charges / n if n > 0 else charges

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; ``restore`` reads it back."""
        return {
            "experts": list(self._experts),
            "charges": self._charges.tolist(),
            "weights": self._weights.tolist(),
            "ratios": {
                anchor: [ratios.by_runtime.tolist(), ratios.by_count.tolist()]
                for anchor, ratios in self.ratios.items()
            },
            "restarts_s": self.restarts.seconds,
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Inverse of ``to_dict``; the charges of another version's experts are dropped.

        Raises:
            AttributeError, KeyError, TypeError, ValueError: if it cannot be read; it may be half
                restored then.
        """
        self.restarts = Restarts(data.get("restarts_s", ()))  # an older version measured none
        self._price_restarts()
        if tuple(data["experts"]) != self._experts:
            return
        charges, weights = (np.array(data[key], dtype=np.float64) for key in ("charges", "weights"))
        if (charges.shape, weights.shape) != (self._charges.shape, self._weights.shape):
            raise ValueError(f"charges of {charges.shape} and weights of {weights.shape}")
        self._charges, self._weights = _without_null(charges), weights
        for anchor, (by_runtime, by_count) in data["ratios"].items():
            restored = np.array(by_runtime, dtype=np.float64), np.array(by_count, dtype=np.float64)
            if anchor in self.ratios and restored[0].shape == (AGES, N_CELLS):
                self.ratios[anchor] = Ratios(*restored)
