"""Decides what follows a run that failed by itself, not by a kill. Pure.

A program with a heap or cache sized by its limit ends itself when that is too small, with any exit
code; so does one with a mistake of its own. Nobody can tell them apart at once, so the run's next
attempts are as its author wrote them, and their ends tell which it was (experts/failures.py).
"""

from __future__ import annotations

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.deciding.restoring_written import no_less_than_written
from plimsoll_predictor.deciding.safeguards import Attempts
from plimsoll_predictor.knowledge.knowledge import Lift


def lift_after_failure(
    failed: Observation, attempts: Attempts, lift: Lift | None, *, counted: bool
) -> Lift | None:
    """The lift of the attempt after a failure by itself; None if there is nothing to lift.

    attempts: of the run. lift: the one that it has. counted: whether somebody else makes and counts
        them: then each failure leaves one less, and none is left for a gamble.
    If the run has such a lift already, it is returned.
    """
    if not failed.failed_by_itself:
        return None
    if not failed.is_lowered and not (counted and attempts.left):
        return None
    if lift is not None and not failed.is_lowered:
        return lift
    # If the run was killed before, its lift for that may be more than was written.
    return no_less_than_written(failed, lift)
