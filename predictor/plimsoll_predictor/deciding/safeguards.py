"""The reasons for which a size is not lowered below what its author wrote. Pure.

A lower size is a gamble: the run may be killed at it. The gamble is harmless only while somebody
makes the run's next attempt, and while Plimsoll sees to it that this attempt gets more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.knowledge.knowledge import Knowledge

SPARED: Final = 1
"""So many of the attempts that a Job or an engine makes are never risked. Their author allowed them
for failures of other kinds, such as an eviction."""

ANSWERED_WITHIN_S: Final = 6 * 3600.0
"""Within this time the next attempt of a killed run has succeeded, if somebody made it. If runs
take longer, the task's other runs get what was written in the meantime."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts that somebody makes of one run.

    most: how many in all; None if nobody says.
    number: which of them this one is; 1 for a run's first.
    by: who says so, for people.
    by_people: whether people say so, which may not be true.
    max_lifts: of the policy; after so many, more memory is not tried.
    spared: how many of them are never risked.
    """

    most: int | None
    number: int = 1
    by: str = ""
    max_lifts: int = 3
    spared: int = 0
    by_people: bool = False

    @property
    def left(self) -> int | None:
        """How many follow this one; None if nobody says."""
        return None if self.most is None else max(0, self.most - self.number)

    @property
    def to_risk(self) -> int | None:
        """How many of these Plimsoll may use up by sizes that were too small; None as ``left``."""
        if self.most is None:
            return None
        return max(0, min(self.most - self.spared, self.max_lifts + 1) - self.number)


def why_not_lowered(attempts: Attempts, unhealed: str | None = None) -> str | None:
    """Why this attempt gets no less than its author wrote; None if it may get less.

    attempts: of its run.
    unhealed: why nobody would give the next attempt more; None if somebody does.
    """
    if unhealed is not None:
        return unhealed
    if attempts.left is None:
        return f"nobody says how many attempts this run gets{_by(attempts)}"
    if attempts.left == 0 and attempts.number == 1:
        return f"nobody makes a second attempt{_by(attempts)}"
    if attempts.left == 0:
        return f"attempt {attempts.number} is the last one{_by(attempts)}"
    if attempts.to_risk == 0 and attempts.number > attempts.max_lifts:
        return f"no lift follows attempt {attempts.number} (maxLifts {attempts.max_lifts})"
    if attempts.to_risk == 0:
        return f"the attempts left are for failures of other kinds{_by(attempts)}"
    return None


def why_failures_hold(knowledge: Knowledge, run: str | None, limit_bytes: int | None) -> str | None:
    """Why a run's or its task's own failures forbid lowering it so far; None if they do not.

    run: its key; None if unknown. limit_bytes: the lowered limit; None for no limit.
    """
    lift = knowledge.lifts.get(run) if run is not None else None
    if lift is not None and lift.as_written:
        at = f" at {words_for_bytes(lift.after_bytes)}" if lift.after_bytes else ""
        return f"attempt {lift.attempt} of this run, whose attempt before ended too early{at}"
    floor = knowledge.floor
    return floor.words if floor is not None and floor.forbids(limit_bytes) else None


def why_not_believed(
    attempts: Attempts, knowledge: Knowledge, run: str | None, now_s: float | None
) -> str | None:
    """Why people's word on the attempts counts for nothing; None if it counts.

    A run of the task was killed long ago, and none of its later attempts has succeeded: it seems
    that nobody made one. now_s: Unix seconds; None if unknown.
    """
    if not attempts.by_people or now_s is None:
        return None
    for other, lift in knowledge.lifts.items():
        killed_s = lift.killed_s
        if other != run and lift.is_awaited and killed_s and now_s - killed_s > ANSWERED_WITHIN_S:
            at = words_for_bytes(lift.after_bytes)
            return (
                f"a run was killed at {at}, and for hours nobody is seen to have made its next"
                f" attempt, whatever is said{_by(attempts)}"
            )
    return None


def _by(attempts: Attempts) -> str:
    return f" ({attempts.by})" if attempts.by else ""
