"""Says what made a lift as large as it is, for people. Pure.

The lift is decided again with one thing unknown; if that changes the size, the thing is a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.deciding.bursts import failing_runs
from plimsoll_predictor.deciding.lifting import FailedAttempt, next_allocation
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants
from plimsoll_predictor.knowledge.shown import NOTHING_SHOWN


def lift_reasons(
    lift: Lift,
    failed: FailedAttempt,
    knowledge: Knowledge,
    bounds: Bounds,
    constants: Constants = SERVED,
) -> str:
    """What raised a lift, or kept it small, besides the ladder's usual step; empty if nothing.

    lift: what ``next_allocation`` returned for the same. Costs one decision for each known thing,
    so it is asked for once per kill.
    """
    reasons = []
    for otherwise, words in _otherwise(knowledge):
        other = next_allocation(failed, otherwise, bounds, constants)
        if isinstance(other, Lift) and other.allocation_bytes != lift.allocation_bytes:
            reasons.append(words)
    return "; ".join(reasons)


def _otherwise(knowledge: Knowledge) -> Iterator[tuple[Knowledge, str]]:
    """The task with one thing unknown, and what that thing says."""
    if knowledge.shown.floor_bytes:
        reached = words_for_bytes(knowledge.shown.floor_bytes)
        quiet = replace(knowledge, shown=NOTHING_SHOWN)
        yield quiet, f"running attempts have reached {reached}"
    if failing := failing_runs(knowledge):
        alone = replace(knowledge, lifts={})
        yield alone, f"{failing} of its task's runs fail now, a burst"
    if knowledge.rule is not None and knowledge.rule.curves:
        names = " and ".join(knowledge.rule.curves[0].names)
        yield replace(knowledge, rule=None), f"it is the room of its size over {names}"
