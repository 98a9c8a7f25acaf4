"""Whether a classifier's chances are what they say: of all it gives 90%, nine in ten come true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

BOUNDS: Final = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0)
"""Of the buckets of chance: narrow at the ends, where sizes are decided."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Forecasts of about one chance. chance: their mean; came_true: the share that did."""

    chance: float
    came_true: float
    count: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """Forecasts "the need fits this ceiling", by chance; empty buckets are left out.

    error: mean distance between chance and share that came true, weighted by count (the expected
        calibration error); None where nothing was forecast.
    """

    buckets: tuple[Bucket, ...]
    error: float | None

    @classmethod
    def of(cls, chances: NDArray[np.float64], came_true: NDArray[np.bool_]) -> Reliability:
        """Of forecasts, (n,) from 0 to 1, and what became of them, (n,)."""
        places = np.clip(np.searchsorted(BOUNDS, chances, side="right") - 1, 0, len(BOUNDS) - 2)
        buckets = tuple(
            Bucket(
                chance=float(chances[inside].mean()),
                came_true=float(came_true[inside].mean()),
                count=int(inside.sum()),
            )
            for place in range(len(BOUNDS) - 1)
            if (inside := places == place).any()
        )
        off = sum(abs(bucket.chance - bucket.came_true) * bucket.count for bucket in buckets)
        return cls(buckets, off / chances.size if chances.size else None)


def fitting_forecasts(
    probabilities: NDArray[np.float64],
    needs_bytes: NDArray[np.float64],
    ceilings_bytes: Sequence[int],
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Each run's chance to fit each ceiling but the last, and whether it did; flat, (n (k - 1),).

    probabilities: (n, k) of each true bin. needs_bytes: (n,). ceilings_bytes: k, ascending.
    """
    chances = np.cumsum(probabilities, axis=1)[:, :-1]
    fits = needs_bytes[:, np.newaxis] <= np.asarray(ceilings_bytes[:-1], dtype=np.float64)
    return np.minimum(chances, 1.0).ravel(), fits.ravel()
