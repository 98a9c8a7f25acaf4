"""Decides what a kill changes about its run's lift. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from plimsoll_operator.attempts.last_attempt import counts_siblings
from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.deciding.lift_reasons import lift_reasons
from plimsoll_predictor.deciding.lifting import (
    FailedAttempt,
    Leaking,
    held_lift,
    may_be_held,
    next_allocation,
)
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """An attempt that was killed for memory, and that another one follows.

    killed_s: when, in the whole seconds of the API server's times.
    refused: how many attempts before it used up no lift.
    """

    observation: Observation
    watched: WatchedPod
    killed_s: float
    refused: int = 0

    @property
    def failed(self) -> FailedAttempt:
        """Return what the ladder of lifts has to know of it."""
        killed, watched = self.observation, self.watched
        assert killed.allocation_bytes is not None
        return FailedAttempt(
            killed_at_bytes=killed.allocation_bytes,
            attempt=killed.attempt,
            request_bytes=killed.request_bytes,
            limit_bytes=watched.written_limit_bytes,
            attempts_left=watched.attempts.to_risk,
            run=killed.run,
            refused=self.refused,
        )


@dataclass(frozen=True, slots=True)
class Stands:
    """The run's lift covers the kill.

    due_again: it is newer than the lift. A pod that was made before the kill must not end the lift.
    """

    lift: Lift
    due_again: bool


@dataclass(frozen=True, slots=True)
class Held:
    """The next attempt has as much memory, because it will need less."""

    lift: Lift


@dataclass(frozen=True, slots=True)
class Follows:
    """The next attempt has more memory. reasons: as ``lift_reasons``."""

    lift: Lift
    reasons: str


@dataclass(frozen=True, slots=True)
class GetsWritten:
    """The run was lowered, and no lift gives it more than its author wrote."""


@dataclass(frozen=True, slots=True)
class UsedUp:
    """All lifts are made, maybe for siblings' attempts, so nothing is known of a leak."""


@dataclass(frozen=True, slots=True)
class Leaks:
    """No further attempt is worth its memory. words: why, for people."""

    words: str


Step = Stands | Held | Follows | GetsWritten | UsedUp | Leaks


def may_be_spared(kill: Kill, knowledge: Knowledge) -> bool:
    """Say whether the run may go on in as much memory, if its next attempt needs less."""
    lifted = kill.observation.run in knowledge.lifts
    return not lifted and may_be_held(kill.failed, knowledge.policy)


def lift_step(kill: Kill, knowledge: Knowledge, bounds: Bounds, *, spared: bool) -> Step:
    """Decide. spared: it ``may_be_spared``, and its next attempt needs less."""
    killed, failed = kill.observation, kill.failed
    there = knowledge.lifts.get(killed.run)
    if there is not None and _covers(there, kill):
        if kill.killed_s <= (there.killed_s or 0):
            return Stands(there, due_again=False)
        return Stands(replace(there, killed_s=kill.killed_s, answered=False), due_again=True)
    if spared:
        return Held(replace(held_lift(failed), killed_s=kill.killed_s))
    answer = next_allocation(failed, knowledge, bounds)
    if killed.is_lowered and (isinstance(answer, Leaking) or answer.as_written):
        return GetsWritten()
    if isinstance(answer, Leaking):
        used_up = failed.lifts >= knowledge.policy.max_lifts > 0
        return UsedUp() if used_up and counts_siblings(kill.watched) else Leaks(answer.words)
    reasons = lift_reasons(answer, failed, knowledge, bounds)
    return Follows(replace(answer, killed_s=kill.killed_s), reasons)


def _covers(lift: Lift, kill: Kill) -> bool:
    """Say whether the run's lift covers this attempt; pods that share a run differ in size.

    A lift that keeps the size covers the kill that it was made for, and no later one.
    """
    killed = kill.observation
    if lift.attempt <= killed.attempt:
        return False
    if lift.as_written:
        return killed.is_lowered
    killed_bytes = killed.allocation_bytes or 0
    if lift.is_held and lift.allocation_bytes == killed_bytes:
        return kill.killed_s <= (lift.killed_s or 0)
    return lift.allocation_bytes > killed_bytes
