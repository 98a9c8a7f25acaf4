"""Attempts that live: where they run, when they started, and the size they were decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.attempts.placement import Placed, Placement
from plimsoll_operator.controller.hub.first_times import FirstTimes
from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.profiles.profiles import ProfileKeeper
from plimsoll_operator.controller.runtimes.runtimes_seen import RunSightings
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_operator.sizing.decision_note import DecisionNote
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.experts.charging import DECIDED


@dataclass(slots=True, kw_only=True)
class LivingAttempts:
    """Sees them as often as they change; each thing is written down once."""

    placement: Placement
    sightings: RunSightings
    standings: Standings
    announcer: Announcer
    profiles: ProfileKeeper
    now_s: Callable[[], float]
    _sized: FirstTimes = field(init=False, default_factory=FirstTimes)

    async def see(self, pod: Pod, watched: WatchedPod, status: AttemptStatus) -> None:
        """An attempt was seen that has not ended."""
        self._place(watched, status)
        await self.sightings.living(pod, watched.task, status)
        if watched.note is not None and self._sized.add(status.uid):
            attempt = watched.attempt
            bids = await self.standings.bids(watched.task, attempt.request_bytes, attempt.features)
            bids = {**bids, **_recommended(watched.note)}
            await self.announcer.sized(pod, watched.task, watched.note, bids)
            self.profiles.mark(watched.task)

    def _place(self, watched: WatchedPod, status: AttemptStatus) -> None:
        now_s = self.now_s()
        if status.node is not None and status.started_s is not None:
            size = watched.limit_bytes or watched.attempt.request_bytes or 0
            placed = Placed(watched.task, size, watched.cpu_request)
            self.placement.start(status.uid, status.node, placed, now_s - status.started_s)
        elif status.submitted_s is not None:
            self.placement.wait(status.uid, now_s - status.submitted_s)


def _recommended(note: DecisionNote) -> dict[str, float]:
    """What recommend mode decided and did not do, to be counted once the run's need is known."""
    if note.mode is not Mode.RECOMMEND or note.allocation_bytes is None:
        return {}
    return {DECIDED: float(note.allocation_bytes)}
