"""The figures of a replay: each run's cost, the sums over a trace, and points to draw.

A page cannot show a million runs: the points are a few hundred of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from plimsoll_predictor.core.units import HOUR_S
from plimsoll_predictor.replay.sizes.rows import TraceRow

CURVE_POINTS: Final = 240
CLOUD_POINTS: Final = 400


@dataclass(slots=True, kw_only=True)
class ReplayedRow:
    """A run as it goes under a policy; the replay fills it in, attempt by attempt.

    cold: whether it was decided before its task had a completed run. last_bytes: of its last
    attempt, below its peak only if even the cap was too small. ended_s: the end of its last
    attempt. optimistic_gb_h: the waste if attempts failed after half their runtime, not at their
    end.
    """

    row: TraceRow
    cold: bool
    first_bytes: int = 0
    last_bytes: int = 0
    ended_s: float = 0.0
    waste_gb_h: float = 0.0
    optimistic_gb_h: float = 0.0
    failed_attempts: int = 0

    @property
    def killed_below_request(self) -> bool:
        """Whether its first attempt failed at a size below its request."""
        preset_bytes = self.row.preset_bytes
        failed = self.failed_attempts > 0 and preset_bytes is not None
        return failed and self.first_bytes < (preset_bytes or 0)

    @property
    def completed(self) -> bool:
        """Whether it completed at all."""
        return self.last_bytes >= self.row.peak_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """A policy on a trace, in sums. Waste in GB·h, times in milliseconds (medians).

    lost_h: hours that failed attempts ran; their runs ended later by so much.
    first_fit_rate: share of runs whose first attempt sufficed; None without runs.
    never_fit: runs that even the cap did not hold.
    """

    rows: int
    waste_gb_h: float
    cold_gb_h: float
    warm_gb_h: float
    optimistic_gb_h: float
    failed_attempts: int
    lost_h: float
    first_fit_rate: float | None
    never_fit: int
    ms_per_decision: float | None
    ms_per_update: float | None


def totals(
    rows: Sequence[ReplayedRow], decisions_s: Sequence[float], updates_s: Sequence[float]
) -> Totals:
    """The sums over replayed runs; times are None if nothing was called."""
    waste = sum(row.waste_gb_h for row in rows)
    cold = sum(row.waste_gb_h for row in rows if row.cold)
    fitting = sum(row.failed_attempts == 0 for row in rows)
    return Totals(
        rows=len(rows),
        waste_gb_h=waste,
        cold_gb_h=cold,
        warm_gb_h=waste - cold,
        optimistic_gb_h=sum(row.optimistic_gb_h for row in rows),
        failed_attempts=sum(row.failed_attempts for row in rows),
        lost_h=sum(row.failed_attempts * row.row.runtime_s for row in rows) / HOUR_S,
        first_fit_rate=fitting / len(rows) if rows else None,
        never_fit=sum(not row.completed for row in rows),
        ms_per_decision=median(decisions_s) * 1000 if decisions_s else None,
        ms_per_update=median(updates_s) * 1000 if updates_s else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Waste up to a moment. at_s: Unix seconds."""

    at_s: float
    waste_gb_h: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudPoint:
    """One run's first allocation against its need."""

    task: str
    first_bytes: int
    peak_bytes: int
    cold: bool

    @property
    def fits(self) -> bool:
        """Whether the first attempt sufficed."""
        return self.first_bytes >= self.peak_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """Waste and failures at one setting of a policy's knob; strictness None for its default."""

    strictness: float | None
    waste_gb_h: float
    failed_attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plotted:
    """A replay, thinned. runs: how many there were before."""

    curve: Sequence[CurvePoint]
    cloud: Sequence[CloudPoint]
    runs: int


def plotted(rows: Sequence[ReplayedRow]) -> Plotted:
    """Thin replayed runs, in the order they ended, to what a page can show."""
    return Plotted(curve=_curve(rows), cloud=_cloud(rows), runs=len(rows))


def _curve(rows: Sequence[ReplayedRow]) -> list[CurvePoint]:
    points: list[CurvePoint] = []
    waste_gb_h = 0.0
    last, stride = len(rows) - 1, _stride(len(rows), CURVE_POINTS)
    for place, row in enumerate(rows):
        waste_gb_h += row.waste_gb_h
        if place % stride == 0 or place == last:
            points.append(CurvePoint(at_s=row.ended_s, waste_gb_h=waste_gb_h))
    return points


def _cloud(rows: Sequence[ReplayedRow]) -> list[CloudPoint]:
    # Failures are few and what people look for: as many as fit, then every nth success.
    failing = [row for row in rows if row.failed_attempts]
    fitting = [row for row in rows if not row.failed_attempts]
    half = CLOUD_POINTS // 2
    room = CLOUD_POINTS - min(half, len(failing))
    chosen = failing[:: _stride(len(failing), half)] + fitting[:: _stride(len(fitting), room)]
    return [
        CloudPoint(
            task=row.row.task,
            first_bytes=row.first_bytes,
            peak_bytes=row.row.peak_bytes,
            cold=row.cold,
        )
        for row in chosen
    ]


def _stride(rows: int, most: int) -> int:
    """The step that leaves at most so many of the rows."""
    return max(1, -(-rows // most))
