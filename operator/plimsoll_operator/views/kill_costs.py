"""What kills, lifts and rescues of a task cost, counted from its attempts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import gb_hours
from plimsoll_predictor.store import DecisionRecord
from plimsoll_predictor.store.attempts.decisions import DECISIONS_KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class KillCosts:
    """Sums over attempts.

    attempts: so many, killed or not.
    kills: attempts that were killed. lost_s, lost_gb_h: the time and memory-time they lost.
    rescues: attempts that succeeded and needed more than they had at first. kept_s: how long they
        had run when they were first raised, which a kill would have lost.
    in_vain: attempts that were raised, and needed no more or were killed all the same.
    added_gb_h: what raised attempts held beyond their first size, also those that failed for
        another reason; for killed ones, ``lost_gb_h`` contains it.
    """

    attempts: int = 0
    kills: int = 0
    lost_s: float = 0.0
    lost_gb_h: float = 0.0
    rescues: int = 0
    kept_s: float = 0.0
    added_gb_h: float = 0.0
    in_vain: int = 0

    def __add__(self, other: KillCosts) -> KillCosts:
        """Return both together."""
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return KillCosts(**sums)


NO_COSTS: Final = KillCosts()


def kill_costs_of(
    observations: Sequence[Observation], decisions: Sequence[DecisionRecord]
) -> KillCosts:
    """Count what a task's kills and rescues cost.

    decisions: all that the store keeps of it, the newest first; a raise is one, too.
    """
    counted = _as_far_back_as(decisions, observations)
    raises = {each.of_attempt: each for each in decisions if each.is_rescue}
    return sum((_cost(each, raises) for each in counted), KillCosts(attempts=len(counted)))


def _as_far_back_as(
    decisions: Sequence[DecisionRecord], observations: Sequence[Observation]
) -> Sequence[Observation]:
    """Return the attempts whose raises are known: kills of older ones would outnumber rescues."""
    if len(decisions) < DECISIONS_KEPT:
        return observations
    oldest_s = min(each.at_s for each in decisions)
    return [each for each in observations if (each.started_s or each.submitted_s or 0) >= oldest_s]


def _cost(attempt: Observation, raises: Mapping[str, DecisionRecord]) -> KillCosts:
    raised = raises.get(attempt.attempt_uid)
    if attempt.outcome is Outcome.OOM_KILLED:
        runtime_s = attempt.runtime_s or 0.0
        return KillCosts(
            kills=1,
            lost_s=runtime_s,
            lost_gb_h=gb_hours(attempt.reserved_bytes or 0, runtime_s),
            in_vain=int(raised is not None),
        )
    if raised is None:
        return NO_COSTS
    if attempt.outcome is not Outcome.SUCCEEDED or attempt.need is None:
        return KillCosts(added_gb_h=_added_gb_h(attempt, raised))
    first_bytes = raised.request_bytes or 0
    if attempt.need.size_bytes <= first_bytes:
        return KillCosts(in_vain=1, added_gb_h=_added_gb_h(attempt, raised))
    started_s = raised.at_s if attempt.started_s is None else attempt.started_s
    kept_s = max(0.0, raised.at_s - started_s)
    return KillCosts(rescues=1, kept_s=kept_s, added_gb_h=_added_gb_h(attempt, raised))


def _added_gb_h(attempt: Observation, raised: DecisionRecord) -> float:
    added_bytes = max(0, (raised.allocation_bytes or 0) - (raised.request_bytes or 0))
    held_s = max(0.0, (attempt.finished_s or raised.at_s) - raised.at_s)
    return gb_hours(added_bytes, held_s)
