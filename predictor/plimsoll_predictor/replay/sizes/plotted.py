"""What is kept of a replay to be drawn: a million runs become a few hundred points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.replay.sizes.outcome import ReplayedRow

CURVE_POINTS: Final = 240
CLOUD_POINTS: Final = 400


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
    last = len(rows) - 1
    stride = max(1, -(-len(rows) // CURVE_POINTS))
    for place, row in enumerate(rows):
        waste_gb_h += row.waste_gb_h
        if place % stride == 0 or place == last:
            points.append(CurvePoint(at_s=row.ended_s, waste_gb_h=waste_gb_h))
    return points


def _cloud(rows: Sequence[ReplayedRow]) -> list[CloudPoint]:
    # Failures are few and what one looks for: all that there is room for, then every nth success.
    failing = [row for row in rows if row.failed_attempts]
    fitting = [row for row in rows if not row.failed_attempts]
    half = CLOUD_POINTS // 2
    chosen = _every_nth(failing, half) + _every_nth(fitting, CLOUD_POINTS - min(half, len(failing)))
    return [
        CloudPoint(
            task=row.row.task,
            first_bytes=row.first_bytes,
            peak_bytes=row.row.peak_bytes,
            cold=row.cold,
        )
        for row in chosen
    ]


def _every_nth(rows: list[ReplayedRow], most: int) -> list[ReplayedRow]:
    return rows[:: max(1, -(-len(rows) // most))]
