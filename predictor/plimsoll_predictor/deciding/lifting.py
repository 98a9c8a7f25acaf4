"""Decides the next attempt of an OOM-killed run: its allocation, or why there should be none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.units import plural, words_for_bytes
from plimsoll_predictor.deciding.bursts import fails_in_burst, over_shown
from plimsoll_predictor.deciding.clamping import Range
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.knowledge.ladder import USEFUL_STEP, Climb, lifted_bytes
from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants

LIFTING_OFF: Final = "lifting is switched off (maxLifts 0)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAttempt:
    """An attempt the kernel killed at its memory limit.

    killed_at_bytes: that limit; it was decided, raised by a rescue, or written by its author.
    attempt: 1 for a run's first pod.
    request_bytes: what the user had asked for; None if nothing.
    limit_bytes: the limit as its author wrote it; None if there was none.
    attempts_left: how many attempts of the run may still be killed; None if nobody says.
    run: its key; None if unknown.
    refused: how many attempts before it tried nothing, as their nodes refused their pods.
    """

    killed_at_bytes: int
    attempt: int
    run: str | None = None
    request_bytes: int | None = None
    limit_bytes: int | None = None
    attempts_left: int | None = None
    refused: int = 0

    @property
    def lifts(self) -> int:
        """How often its run was lifted before, at most."""
        return self.attempt - 1 - self.refused

    @property
    def written_bytes(self) -> int:
        """The memory that its author let it have; 0 if nothing was written."""
        return max(self.request_bytes or 0, self.limit_bytes or 0)

    @property
    def was_lowered(self) -> bool:
        """Whether the run might have lived as its author wrote it."""
        return self.limit_bytes is None or self.killed_at_bytes < self.written_bytes


@dataclass(frozen=True, slots=True)
class Leaking:
    """No further attempt is worth its memory.

    reason: for people. remedy: what they can do about it, besides looking for a leak; empty if the
        reason says it.
    """

    reason: str
    remedy: str = ""

    @property
    def words(self) -> str:
        """The reason, and what people can do about it."""
        advice = f"; look for a leak, or {self.remedy}" if self.remedy else ""
        return f"{self.reason}{advice}"


def may_be_held(failed: FailedAttempt, policy: Policy) -> bool:
    """Say whether a run may go on with the same memory if it will need less, as in smaller chunks.

    It may once, and only if two more of its attempts may be killed for memory: so it can still be
    lifted if that was wrong.
    """
    left = failed.attempts_left
    return left is not None and left >= 2 and failed.attempt == 1 and policy.max_lifts >= 2


def held_lift(failed: FailedAttempt) -> Lift:
    """Return the next attempt's allocation: what the killed one had."""
    return Lift(
        allocation_bytes=failed.killed_at_bytes,
        attempt=failed.attempt + 1,
        after_bytes=failed.killed_at_bytes,
    )


def next_allocation(
    failed: FailedAttempt, knowledge: Knowledge, bounds: Bounds, constants: Constants = SERVED
) -> Lift | Leaking:
    """The next attempt's allocation, by a gentle ladder.

    It is the smallest useful step among the model's ceilings, a little over the largest need seen
    (or twice the failed allocation, if that is no step; see knowledge.ladder), and the user's
    request. Jumping straight to the request wastes more than it saves (the ladder was measured
    better). But an attempt that is the last, or may be, gets no less than was written: no run may
    fail that would have succeeded as its author wrote it. For the same reason nodes, quotas and the
    policy's maximum hold back only a lift above the request. If they allow no more than that, a run
    whose limit was lowered gets what was written.
    """
    policy = knowledge.policy
    lifts = failed.lifts
    if policy.max_lifts == 0:
        return Leaking(LIFTING_OFF)
    if lifts >= policy.max_lifts:
        told = f"lifted {lifts} {plural(lifts, 'time')} and killed again"
        return Leaking(told, "raise maxLifts")
    climb = Climb(
        largest_bytes=knowledge.largest_bytes or 0,
        ceilings_bytes=knowledge.model.bins.ceilings_bytes if knowledge.model else (),
        request_bytes=failed.request_bytes,
        in_burst=fails_in_burst(failed.run, knowledge, constants),
        curve_bytes=knowledge.rule.after_curve(failed.killed_at_bytes) if knowledge.rule else 0,
    )
    wanted_bytes = lifted_bytes(failed.killed_at_bytes, lifts + 1, climb)
    wanted_bytes = over_shown(wanted_bytes, failed.request_bytes, knowledge, constants)
    left = failed.attempts_left
    if lifts + 1 == policy.max_lifts or left is None or left <= 1:
        wanted_bytes = max(wanted_bytes, failed.written_bytes)
    allowed = Range.of(policy, bounds, failed.request_bytes)
    allocation_bytes = allowed.lift(wanted_bytes)
    if allocation_bytes < USEFUL_STEP * failed.killed_at_bytes:
        if not failed.was_lowered or allowed.is_cut(USEFUL_STEP * failed.killed_at_bytes):
            # So little room is left that the next attempt would be killed like the last one.
            at = words_for_bytes(failed.killed_at_bytes)
            told = f"killed at {at} and already at {allowed.cap_words}"
            return Leaking(told, allowed.remedy)
        if allocation_bytes <= (failed.request_bytes or 0):
            # It may request no more than its author did, as in a quota. If it is killed at its
            # author's limit, too, it may.
            return Lift(
                allocation_bytes=failed.request_bytes or 0,
                attempt=failed.attempt + 1,
                after_bytes=failed.killed_at_bytes,
                as_written=True,
            )
        # Only the author's own limit is larger than what Plimsoll may set: the last attempt gets
        # it. The step only makes the lift differ from the killed attempt.
        return Lift(
            allocation_bytes=math.ceil(USEFUL_STEP * failed.killed_at_bytes),
            attempt=policy.max_lifts + 1 + failed.refused,
            after_bytes=failed.killed_at_bytes,
        )
    return Lift(
        allocation_bytes=allocation_bytes,
        attempt=failed.attempt + 1,
        after_bytes=failed.killed_at_bytes,
    )
