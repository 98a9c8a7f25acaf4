"""Runs as arrays: what bins, classifiers and experts are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Features
from plimsoll_predictor.model.bins import BinLimits
from plimsoll_predictor.training.runs import Run

UNKNOWN_RUNTIME_S: Final = 60.0
"""Where no run's runtime is known, all count alike."""
SHORTEST_RUNTIME_S: Final = 0.5
"""Kubernetes tells times in whole seconds: a runtime of zero is somewhere below one."""


@dataclass(frozen=True, slots=True, eq=False)
class RunRows:
    """Runs in time order; all arrays (n,).

    runtimes_s: above zero; the median of the known ones where unknown.
    requests_bytes: the median of the known ones where unknown; None if no run asked for anything.
    """

    runs: Sequence[Run]
    needs_bytes: NDArray[np.float64]
    runtimes_s: NDArray[np.float64]
    requests_bytes: NDArray[np.float64] | None

    @classmethod
    def of(cls, runs: Sequence[Run]) -> RunRows:
        """The rows of at least one run."""
        runtimes = _filled([run.runtime_s for run in runs])
        if runtimes is None:
            runtimes = np.full(len(runs), UNKNOWN_RUNTIME_S)
        return cls(
            runs=runs,
            needs_bytes=np.asarray([run.need_bytes for run in runs], dtype=np.float64),
            runtimes_s=np.where(runtimes > 0, runtimes, SHORTEST_RUNTIME_S),
            requests_bytes=_filled([run.request_bytes for run in runs]),
        )

    @property
    def features(self) -> list[Features]:
        """Each run's features."""
        return [run.features for run in self.runs]

    def reference_bytes(self, headroom: float) -> float:
        """What the user asks for: the median request, else the largest need with headroom."""
        if self.requests_bytes is not None:
            return float(np.median(self.requests_bytes))
        return float(self.needs_bytes.max()) * headroom

    def limits(self, policy: Policy) -> BinLimits:
        """What a search for these runs' bins must keep to."""
        return BinLimits(
            reference_bytes=self.reference_bytes(policy.headroom),
            max_bins=policy.max_bins,
            headroom=policy.headroom,
            floor_bytes=policy.min_bytes,
        )

    def part(self, places: NDArray[np.int64]) -> RunRows:
        """Some of the runs; what was filled in is filled in from these alone."""
        return RunRows.of([self.runs[place] for place in places])


def _filled(values: Sequence[float | None]) -> NDArray[np.float64] | None:
    numbers = np.asarray([np.nan if v is None else v for v in values], dtype=np.float64)
    present = numbers[~np.isnan(numbers)]
    return np.where(np.isnan(numbers), np.median(present), numbers) if present.size else None
