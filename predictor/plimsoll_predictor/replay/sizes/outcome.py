"""What a replayed run cost, and the sums over a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from plimsoll_predictor.core.units import gb_hours
from plimsoll_predictor.replay.sizes.rows import TraceRow


@dataclass(slots=True)
class RunCost:
    """What a run's attempts have cost so far, in GB·h."""

    waste_gb_h: float = 0.0
    optimistic_gb_h: float = 0.0
    """The same if attempts failed after half their runtime instead of at their end."""
    failed_attempts: int = 0

    def fail(self, allocation_bytes: int, runtime_s: float) -> None:
        """An attempt failed: all it held was wasted."""
        held_gb_h = gb_hours(allocation_bytes, runtime_s)
        self.waste_gb_h += held_gb_h
        self.optimistic_gb_h += held_gb_h / 2
        self.failed_attempts += 1

    def succeed(self, spare_bytes: int, runtime_s: float) -> None:
        """An attempt succeeded with spare_bytes it did not need."""
        spare_gb_h = gb_hours(spare_bytes, runtime_s)
        self.waste_gb_h += spare_gb_h
        self.optimistic_gb_h += spare_gb_h


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRow:
    """A run as it went under a policy."""

    row: TraceRow
    cold: bool
    """Whether it was decided while its task had no completed run."""
    first_bytes: int
    last_bytes: int
    """What its last attempt was given; below its peak only if even the cap was too small."""
    ended_s: float
    """When its last attempt ended."""
    waste_gb_h: float
    optimistic_gb_h: float
    failed_attempts: int

    @property
    def completed(self) -> bool:
        """Whether it completed at all."""
        return self.last_bytes >= self.row.peak_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """A policy on a trace, in sums. Waste in GB·h, times in milliseconds (medians)."""

    rows: int
    waste_gb_h: float
    cold_gb_h: float
    warm_gb_h: float
    optimistic_gb_h: float
    failed_attempts: int
    first_fit_rate: float | None
    """Share of runs whose first attempt sufficed; None without runs."""
    never_fit: int
    """Runs that even the cap did not hold."""
    ms_per_decision: float | None
    ms_per_update: float | None


def totals(
    rows: Sequence[ReplayedRow], decisions_s: Sequence[float], updates_s: Sequence[float]
) -> Totals:
    """The sums over replayed runs; times are None if nothing was called."""
    waste = sum(row.waste_gb_h for row in rows)
    cold = sum(row.waste_gb_h for row in rows if row.cold)
    fitting = sum(1 for row in rows if row.failed_attempts == 0)
    return Totals(
        rows=len(rows),
        waste_gb_h=waste,
        cold_gb_h=cold,
        warm_gb_h=waste - cold,
        optimistic_gb_h=sum(row.optimistic_gb_h for row in rows),
        failed_attempts=sum(row.failed_attempts for row in rows),
        first_fit_rate=fitting / len(rows) if rows else None,
        never_fit=sum(1 for row in rows if not row.completed),
        ms_per_decision=median(decisions_s) * 1000 if decisions_s else None,
        ms_per_update=median(updates_s) * 1000 if updates_s else None,
    )
