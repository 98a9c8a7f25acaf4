"""A task's figures, points and lifts, counted from its observations. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll_operator.views.report.records import AttemptPoint, CpuFigures, Figures
from plimsoll_predictor.core.cpu import MIN_RUNTIME_S
from plimsoll_predictor.core.record import Cause, Observation, Outcome, PeakSource
from plimsoll_predictor.core.units import HOUR_S, gb_hours


def figures_of(observations: Sequence[Observation]) -> Figures:
    """Counts and memory-time; see ``Figures`` for what is counted."""
    own = [each for each in observations if not _imported(each)]
    priced = [each for each in own if None not in (each.request_bytes, each.runtime_s)]
    return Figures(
        runs=len({each.run for each in own}),
        attempts=len(own),
        imported=len(observations) - len(own),
        oom_kills=sum(each.outcome is Outcome.OOM_KILLED for each in own),
        retries=sum(each.attempt > 1 for each in own),
        requested_gb_h=sum(
            _gb_h(each.request_bytes, each) for each in priced if not _killed_below_request(each)
        ),
        allocated_gb_h=sum(_gb_h(each.reserved_bytes, each) for each in priced),
        peak_gb_h=sum(_gb_h(each.peak_bytes, each) for each in priced),
    )


def points_of(observations: Sequence[Observation]) -> tuple[AttemptPoint, ...]:
    """One point per attempt, in the order given."""
    by_number = {(each.run, each.attempt): each for each in observations}
    return tuple(_point(each, by_number.get((each.run, each.attempt + 1))) for each in observations)


def causes_of(observations: Sequence[Observation]) -> list[Cause]:
    """Why the unsuccessful ones ended, as far as it is known, in reverse order."""
    return [each.cause for each in reversed(observations) if each.cause is not None]


def lifts_of(points: Sequence[AttemptPoint], *, limit: int) -> tuple[AttemptPoint, ...]:
    """The newest ``limit`` kills that were not history, newest first."""
    killed = [point for point in reversed(points) if point.killed and not point.imported]
    return tuple(killed[:limit])


def cpu_figures_of(observations: Sequence[Observation]) -> CpuFigures | None:
    """Sums over the attempts that asked for CPU and were measured; None if there are none."""
    counted = [each for each in observations if _counts_cpu(each)]
    if not counted:
        return None
    hours = [(each, (each.runtime_s or 0.0) / HOUR_S) for each in counted]
    return CpuFigures(
        requested_core_h=sum((each.request_cores or 0.0) * hour for each, hour in hours),
        allocated_core_h=sum((each.allocated_cores or 0.0) * hour for each, hour in hours),
        used_core_h=sum((each.cpu_s or 0.0) for each in counted) / HOUR_S,
        most_cores=max((e.peak_cores for e in counted if e.peak_cores is not None), default=None),
    )


def needs_used(observations: Sequence[Observation]) -> tuple[int, ...]:
    """Needs of the runs that the store counts in a task's use (``TotalRecords.task_uses``)."""
    return tuple(
        each.peak_bytes
        for each in observations
        if each.outcome is Outcome.SUCCEEDED
        and each.peak_bytes is not None
        and (each.runtime_s or 0.0) >= MIN_RUNTIME_S
    )


def _counts_cpu(each: Observation) -> bool:
    measured = each.outcome is Outcome.SUCCEEDED and each.cpu_s is not None
    return bool(measured and not _imported(each) and each.runtime_s and each.request_cores)


def _point(each: Observation, following: Observation | None) -> AttemptPoint:
    need = each.need
    lifted = following if each.outcome is Outcome.OOM_KILLED else None
    return AttemptPoint(
        at_s=each.finished_s,
        run=each.run,
        attempt=each.attempt,
        outcome=each.outcome,
        cause=each.cause,
        request_bytes=each.request_bytes,
        reserved_bytes=each.reserved_bytes,
        need_bytes=None if need is None else need.size_bytes,
        lifted_to_bytes=None if lifted is None else lifted.allocation_bytes,
        lift_outcome=None if lifted is None else lifted.outcome,
        lift_cause=None if lifted is None else lifted.cause,
        imported=_imported(each),
    )


def _imported(each: Observation) -> bool:
    return each.peak_source is PeakSource.IMPORTED


def _killed_below_request(each: Observation) -> bool:
    """Its request would have been enough, and the retry that succeeded counts it already."""
    return each.outcome is Outcome.OOM_KILLED and each.killed_below_request


def _gb_h(size_bytes: int | None, each: Observation) -> float:
    return gb_hours(size_bytes or 0, each.runtime_s or 0.0)
