"""From a task's observations to its figures, points and lifts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from plimsoll_operator.views.records import AttemptPoint, Figures, LiftRow
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.units import gb_hours

Successors = Mapping[tuple[str, int], Observation]
"""(run, attempt) -> that attempt."""


def figures_of(observations: Sequence[Observation]) -> Figures:
    """Counts and memory-time; see ``Figures`` for what is counted."""
    own = [each for each in observations if not _imported(each)]
    priced = [each for each in own if each.request_bytes and each.runtime_s is not None]
    return Figures(
        runs=len({each.run for each in own}),
        attempts=len(own),
        imported=len(observations) - len(own),
        oom_kills=sum(each.outcome is Outcome.OOM_KILLED for each in own),
        retries=sum(each.attempt > 1 for each in own),
        requested_gb_h=sum(
            _gb_h(each.request_bytes, each) for each in priced if not _killed_below_request(each)
        ),
        allocated_gb_h=sum(
            _gb_h(each.allocation_bytes or each.request_bytes, each) for each in priced
        ),
        peak_gb_h=sum(_gb_h(each.peak_bytes, each) for each in priced),
    )


def points_of(observations: Sequence[Observation]) -> tuple[AttemptPoint, ...]:
    """One point per attempt, in the order given."""
    following = _successors(observations)
    return tuple(_point(each, following) for each in observations)


def lifts_of(observations: Sequence[Observation], *, limit: int) -> tuple[LiftRow, ...]:
    """The newest ``limit`` kills that were not history, newest first, with what followed."""
    following = _successors(observations)
    killed = [
        each
        for each in reversed(observations)
        if each.outcome is Outcome.OOM_KILLED and not _imported(each)
    ]
    return tuple(_lift(each, following) for each in killed[:limit])


def latest_request_bytes(observations: Sequence[Observation]) -> int | None:
    """What the user asked for last; None if never."""
    return next((each.request_bytes for each in reversed(observations) if each.request_bytes), None)


def _successors(observations: Sequence[Observation]) -> Successors:
    return {(each.run, each.attempt): each for each in observations}


def _point(each: Observation, following: Successors) -> AttemptPoint:
    need = each.need
    point = AttemptPoint(
        at_s=each.finished_s,
        run=each.run,
        attempt=each.attempt,
        outcome=each.outcome,
        request_bytes=each.request_bytes,
        allocation_bytes=each.allocation_bytes,
        need_bytes=None if need is None else need.size_bytes,
        imported=_imported(each),
    )
    after = following.get((each.run, each.attempt + 1))
    if after is None or each.outcome is not Outcome.OOM_KILLED:
        return point
    return replace(point, lifted_to_bytes=after.allocation_bytes)


def _lift(each: Observation, following: Successors) -> LiftRow:
    after = following.get((each.run, each.attempt + 1))
    return LiftRow(
        at_s=each.finished_s,
        run=each.run,
        attempt=each.attempt,
        from_bytes=each.allocation_bytes,
        to_bytes=after.allocation_bytes if after else None,
        outcome=after.outcome if after else None,
    )


def _imported(each: Observation) -> bool:
    return each.peak_source is PeakSource.IMPORTED


def _killed_below_request(each: Observation) -> bool:
    """The request would have carried it, and the retry that succeeded counts it already."""
    return (
        each.outcome is Outcome.OOM_KILLED
        and each.allocation_bytes is not None
        and each.request_bytes is not None
        and each.allocation_bytes < each.request_bytes
    )


def _gb_h(size_bytes: int | None, each: Observation) -> float:
    return gb_hours(size_bytes or 0, each.runtime_s or 0.0)
