"""One task's attempts in flight: when they started, and the most that each was seen to need.

    a pod starts, an agent's running maximum, a pod ends ─► InFlight ─► Shown ─► Knowledge
What a running attempt has reached is a lower bound of its need. It is live state: nothing of it is
saved, and after a restart agents and pods report it again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from typing import Final

from plimsoll_predictor.experts.past import Past
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.knowledge.ladder import (
    LEAST_CEILING_STEP,
    STEPS_TO_REQUEST,
    Climb,
    lifted_bytes,
)
from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants
from plimsoll_predictor.knowledge.shown import MOST_STARTS, NOTHING_SHOWN, Shown

MOST_ATTEMPTS: Final = 1000
"""The most attempts in flight to look at; more of one task say nothing new."""
LATEST_ENDED: Final = 40
SECOND: Final = STEPS_TO_REQUEST - 1
"""The attempt after which the ladder still has a step below the request."""


@dataclass(slots=True)
class _Attempt:
    started_s: float | None = None
    reached_bytes: float = 0.0
    lift: Lift | None = None
    climbs: bool = False


@dataclass(slots=True)
class InFlight:
    """The attempts of one task that run now, by a key such as the pod's UID. Bounded."""

    constants: Constants = SERVED
    _attempts: dict[str, _Attempt] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._attempts)

    def started(self, attempt: str, at_s: float) -> None:
        """Note that an attempt has run since ``at_s``, Unix seconds."""
        if known := self._attempt(attempt):
            known.started_s = at_s

    def reached(self, attempt: str, need_bytes: float) -> None:
        """Note the most that an attempt was seen to need so far."""
        if known := self._attempt(attempt):
            known.reached_bytes = max(known.reached_bytes, need_bytes)

    def lifted(self, attempt: str, lift: Lift) -> None:
        """Note that an attempt continues a killed run, now at this size."""
        known = self._attempt(attempt)
        if known and (known.lift is None or lift.allocation_bytes > known.lift.allocation_bytes):
            known.lift = lift

    def climbs(self, attempt: str, *, still: bool) -> None:
        """Note whether an attempt that runs at its lift was seen to climb.

        It climbs if it took more lately, or has not yet reached the size at which its run was
        killed before.
        """
        if known := self._attempts.get(attempt):
            known.climbs = still

    def ended(self, attempt: str) -> None:
        """Forget an attempt; if it succeeded, its need is learned as any other."""
        self._attempts.pop(attempt, None)

    def shown(self, past: Past) -> Shown:
        """What they show, besides the runs that ended; nothing before the first run has ended."""
        if not past.runs or not self._attempts:
            return NOTHING_SHOWN
        starts = (each.started_s for each in self._attempts.values())
        return Shown(
            floor_bytes=max(self._floor_bytes(past), self._rung_bytes(past)),
            started_s=tuple(nsmallest(MOST_STARTS, (at_s for at_s in starts if at_s is not None))),
            longest_s=max(past.runtimes_s),
        )

    def _floor_bytes(self, past: Past) -> int:
        reached = [each.reached_bytes for each in self._attempts.values() if each.reached_bytes]
        if max(reached, default=0.0) <= past.largest_bytes:
            return 0
        needs = past.needs_bytes
        needs_bytes = [*islice(needs, max(0, len(needs) - LATEST_ENDED), None), *reached]
        needs_bytes.sort()
        few = len(needs_bytes) <= self.constants.shown_few
        share = 1.0 if few else self.constants.shown_quantile
        # One outlier among many must not lift all of its siblings.
        floor_bytes = needs_bytes[math.ceil(share * (len(needs_bytes) - 1))]
        return math.ceil(floor_bytes) if floor_bytes > past.largest_bytes else 0

    def _rung_bytes(self, past: Past) -> int:
        """What killed runs are expected to need if they are many: the middle of their sizes.

        At the sizes where these were killed, another run would be killed too. At a size where these
        still climb, it may also be killed: then the size after it counts.
        """
        lifts = [(each.lift, each.climbs) for each in self._attempts.values() if each.lift]
        few = max(self.constants.burst_runs - 1, self.constants.burst_share * past.runs)
        # A run with exactly its whole request got it as the ladder's last step: no measure.
        told = [each for each in lifts if each[0].allocation_bytes != past.largest_request_bytes]
        if len(lifts) <= few or not told:
            return 0
        # A run that got more at once counts with what it has, or each would lift all others.
        lowest = min(
            (lift.allocation_bytes for lift, _ in told if lift.attempt == SECOND), default=0
        )
        sizes = sorted(
            _next_bytes(lift, past)
            if up and lift.allocation_bytes < LEAST_CEILING_STEP * lowest
            else lift.allocation_bytes
            for lift, up in told
        )
        # Their sizes include that room already.
        rung_bytes = _middle(sizes) / self.constants.shown_room
        return math.ceil(rung_bytes) if rung_bytes > past.largest_bytes else 0

    def _attempt(self, attempt: str) -> _Attempt | None:
        known = self._attempts.get(attempt)
        if known is None and len(self._attempts) < MOST_ATTEMPTS:
            known = self._attempts[attempt] = _Attempt()
        return known


def _middle(ascending: Sequence[float]) -> float:
    return ascending[(len(ascending) - 1) // 2]


def _next_bytes(lift: Lift, past: Past) -> float:
    """The size after a second attempt's, if no run is known to have succeeded with that one.

    The request itself is never the answer: it is the ladder's last step, and no measure.
    """
    size_bytes, request_bytes = lift.allocation_bytes, past.largest_request_bytes
    proven = past.largest_bytes > lift.after_bytes
    if lift.attempt != SECOND or proven or request_bytes is None or size_bytes >= request_bytes:
        return size_bytes
    climb = Climb(largest_bytes=past.largest_bytes, request_bytes=request_bytes, in_burst=True)
    next_bytes = lifted_bytes(size_bytes, lift.attempt, climb)
    return next_bytes if next_bytes < request_bytes else size_bytes
