"""A controller that knows one run of a task, and what running attempts then show."""

from __future__ import annotations

from dataclasses import replace

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.controller.hub.hub import TaskPublished
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.shown import Shown
from tests.builders.controller.ledgers import Inside, a_final, a_train, ended
from tests.builders.pods import APod

KNOWN_MIB = 40


def running(name: str, *, at: str = "2026-01-01T00:00:30Z", pod: APod | None = None) -> APod:
    """Say since when its container runs."""
    status = {
        "name": "main",
        "restartCount": 0,
        "containerID": "containerd://main",
        "state": {"running": {"startedAt": at}},
    }
    living = (pod or a_train(name)).with_status(phase="Running", containerStatuses=[status])
    built = living.built()
    built["spec"]["nodeName"] = "n1"
    return APod(built)


def reached(pod: str, mib: int, container_id: str | None = None) -> PeakReport:
    """An agent's report of a running pod, or of one of its containers."""
    final = a_final(pod, need_bytes=mib * MIB)
    return replace(final, final=False, container_id=container_id)


class Told:
    """A controller that knows one run, and what it publishes about the task from then on."""

    def __init__(self, inside: Inside) -> None:
        self.inside = inside
        self.published: list[Shown] = []
        inside.controller.hub.subscribe(TaskPublished, self._note)

    def _note(self, event: TaskPublished) -> None:
        self.published.append(self.inside.controller.publications.deciding(event.task).shown)

    @property
    def floor_mib(self) -> float:
        return self.inside.known.shown.floor_bytes / MIB

    def report(self, *reports: PeakReport) -> None:
        self.inside.controller.peaks.add(reports)

    async def publish(self) -> None:
        await self.inside.controller.publications.publish()

    async def knows(self, name: str, mib: int = KNOWN_MIB) -> None:
        """Let another run succeed, with a known need."""
        await self.inside.report(a_final(name, need_bytes=mib * MIB))
        await self.inside.see(ended(a_train(name)))
        await self.publish()
