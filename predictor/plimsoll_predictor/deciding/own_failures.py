"""Decides what follows a run that failed by itself, not by a kill. Pure.

A program with a heap or cache sized by its limit ends itself when that is too small, with any exit
code; so does one with a mistake of its own. Nobody can tell them apart at once, so the run's next
attempts are as its author wrote them, and how these end tells (experts/failures.py).
"""

from __future__ import annotations

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.deciding.safeguards import Attempts
from plimsoll_predictor.knowledge.knowledge import Lift


def lift_after_failure(
    failed: Observation, attempts: Attempts, lift: Lift | None, *, counted: bool
) -> Lift | None:
    """The lift of a run that failed by itself; None if there is nothing to lift.

    attempts: of the run. lift: the one that it has. counted: whether somebody else makes them, who
        counts them: of these each failure leaves one less, so that none is left for a gamble.
    It is the same one again if it is there already.
    """
    if not failed.failed_by_itself or attempts.left == 0:
        return None
    if not failed.is_lowered and not (counted and attempts.left):
        return None
    if lift is not None and (lift.as_written or not failed.is_lowered or _covers(lift, failed)):
        # The run was killed before: what it got for that is no less than was written.
        return lift
    return Lift(
        allocation_bytes=failed.request_bytes or 0,
        attempt=failed.attempt + 1,
        after_bytes=failed.allocation_bytes or 0,
        as_written=True,
    )


def _covers(lift: Lift, failed: Observation) -> bool:
    """Say whether the lift is no less than was written."""
    written_bytes = failed.written_limit_bytes
    if not written_bytes:
        return False
    return lift.allocation_bytes >= max(written_bytes, failed.request_bytes or 0)
