"""What living pods show of their runs' times: written down once each, for the forecaster."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from plimsoll_operator.controller.runtimes.long_runs import LongRuns
from plimsoll_operator.controller.runtimes.runtimes import Runtimes
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import NewSighting, SightingKind, Writer

KEPT: Final = 50_000
"""Living attempts of which is remembered what was written; of others it is written again."""


class RunSightings:
    """Sees living attempts, however often; ends are told by observations."""

    def __init__(self, writer: Writer, runtimes: Runtimes, long_runs: LongRuns) -> None:
        self._writer = writer
        self._runtimes = runtimes
        self._long_runs = long_runs
        self._written: OrderedDict[str, SightingKind] = OrderedDict()

    async def living(self, pod: Pod, task: TaskId, status: AttemptStatus) -> None:
        """An attempt was seen that has not ended."""
        self._long_runs.see(status.attempt_uid, pod)
        new = self._new(task, status)
        if not new:
            return
        self._written[status.attempt_uid] = new[-1].kind
        if len(self._written) > KEPT:
            self._written.popitem(last=False)
        await self._writer.sight(new)
        self._runtimes.news()

    def _new(self, task: TaskId, status: AttemptStatus) -> list[NewSighting]:
        uid, started_s = status.attempt_uid, status.started_s
        # A life after a restart in place was asked for when it began, not with its pod.
        submitted_s = started_s if status.restarts else status.submitted_s
        seen: list[NewSighting] = []
        if submitted_s is not None and not self._knows(uid, SightingKind.SUBMITTED):
            seen.append(_sighting(task, uid, SightingKind.SUBMITTED, submitted_s))
        if started_s is not None and not self._knows(uid, SightingKind.STARTED):
            seen.append(_sighting(task, uid, SightingKind.STARTED, started_s))
        return seen

    def _knows(self, uid: str, kind: SightingKind) -> bool:
        """Whether it was written: by us, or by who led before, as what was taken up tells."""
        written, made = self._written.get(uid), self._runtimes.flying(uid)
        if written is SightingKind.STARTED or (made is not None and made.started_s is not None):
            return True
        return kind is SightingKind.SUBMITTED and (written is not None or made is not None)


def _sighting(task: TaskId, uid: str, kind: SightingKind, at_s: float) -> NewSighting:
    return NewSighting(task=task, kind=kind, attempt_uid=uid, at_s=at_s)
