"""A task's CPU as its section of the report shows it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.units import HOUR_S


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuFigures:
    """CPU over time, in core·h, of attempts that ran under Plimsoll's eyes and were measured.

    requested_core_h: what the user asked for; allocated_core_h: the requests they ran under.
    most_cores: of the busiest minute; None if none lasted one.
    """

    requested_core_h: float
    allocated_core_h: float
    used_core_h: float
    most_cores: float | None

    @property
    def saved(self) -> float:
        """Share of what was asked for that was not allocated; negative if more was."""
        return 1 - self.allocated_core_h / self.requested_core_h


def cpu_figures_of(observations: Sequence[Observation]) -> CpuFigures | None:
    """What the attempts add up to; None if none of them asked for CPU and was measured."""
    counted = [each for each in observations if _counts(each)]
    if not counted:
        return None
    hours = [(each, (each.runtime_s or 0.0) / HOUR_S) for each in counted]
    return CpuFigures(
        requested_core_h=sum((each.request_cores or 0.0) * hour for each, hour in hours),
        allocated_core_h=sum((each.allocated_cores or 0.0) * hour for each, hour in hours),
        used_core_h=sum((each.cpu_s or 0.0) for each in counted) / HOUR_S,
        most_cores=max((e.peak_cores for e in counted if e.peak_cores is not None), default=None),
    )


def _counts(each: Observation) -> bool:
    measured = each.outcome is Outcome.SUCCEEDED and each.cpu_s is not None
    own = each.peak_source is not PeakSource.IMPORTED
    return bool(measured and own and each.runtime_s and each.request_cores)
