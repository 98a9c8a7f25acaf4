"""The floor of a task's sizes: what its failures and its elasticity say together.

    attempt ended ─► a lesson ─► Failures, Elasticity ─► Floor ─► Knowledge ─► the feed
Like the experts' bids it is a fold over the lessons, so that a restart comes to the same floor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.experts.elasticity import Elasticity
from plimsoll_predictor.experts.failures import AttemptAt, Failures
from plimsoll_predictor.knowledge.floor import Floor, FloorKind


@dataclass(slots=True)
class Floors:
    """What is known of one task that keeps its sizes from sinking. Bounded."""

    failures: Failures = field(default_factory=Failures)
    elasticity: Elasticity = field(default_factory=Elasticity)

    def succeeded(
        self,
        attempt: AttemptAt,
        peak_bytes: float,
        runtime_s: float | None,
        features: Mapping[str, FeatureValue],
    ) -> None:
        """Learn from an attempt that succeeded and was measured."""
        self.failures.succeeded(attempt)
        self.elasticity.learn(
            features, attempt.allocation_bytes, peak_bytes, runtime_s, lowered=attempt.lowered
        )

    def failed(self, attempt: AttemptAt) -> None:
        """Learn from an attempt that failed by itself."""
        self.failures.failed(attempt)

    @property
    def floor(self) -> Floor | None:
        """The floor now; None if sizes are free."""
        failed_bytes = self.failures.floor_bytes
        if not self.elasticity.is_elastic:
            return None if failed_bytes is None else Floor(failed_bytes, FloorKind.FAILED)
        good_bytes = self.elasticity.good_bytes
        if good_bytes is None:
            return Floor(None, FloorKind.ELASTIC)
        return Floor(max(good_bytes, failed_bytes or 0), FloorKind.ELASTIC)
