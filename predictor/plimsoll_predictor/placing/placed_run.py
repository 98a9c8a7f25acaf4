"""One finished run with its node and what ran beside it, as it stands in the store."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_predictor.placing.encounter import Encounter

LEAST_RUNTIME_S: Final = 1.0
"""Clusters give times in whole seconds: a shorter run says nothing about a slowdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRun:
    """A run that succeeded on a known node. Times are Unix seconds.

    kind: its task, as ``namespace/name``. forecast_s: seconds that it was forecast to take at its
    submission (the median). beside: other kinds -> how many of each ran beside it on average,
    weighted by time.
    """

    kind: str
    node: str
    submitted_s: float | None
    started_s: float
    finished_s: float
    forecast_s: float
    beside: Mapping[str, float]

    @property
    def runtime_s(self) -> float:
        """Seconds it ran; never below zero."""
        return max(0.0, self.finished_s - self.started_s)

    def with_forecast(self, forecast_s: float) -> PlacedRun:
        """Return the same run with its forecast."""
        return replace(self, forecast_s=forecast_s)

    @property
    def encounter(self) -> Encounter | None:
        """What it teaches about its neighbours; None if the run is too short to tell."""
        if min(self.runtime_s, self.forecast_s) < LEAST_RUNTIME_S:
            return None
        return Encounter(self.kind, self.beside, math.log(self.runtime_s / self.forecast_s))
