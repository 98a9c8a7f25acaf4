"""A controller's inside that rescues, with an API server and a node that remember."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from plimsoll_operator.attempts.alarms import Alarm, Alarms
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.controller.announcing.announcer import Announcer, Raised
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.lending.agents_heard import AgentsHeard
from plimsoll_operator.controller.rescue.limit_raiser import LimitRaiser
from plimsoll_operator.controller.rescue.rescuable_pods import MAX_BYTES, RescuablePods
from plimsoll_operator.controller.rescue.rescues import Rescues
from plimsoll_operator.kube.errors import Refused
from plimsoll_operator.kube.running_pods import PodWriter
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.wording.event_words import Happening, Regarding
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.experts.past import Past
from plimsoll_predictor.experts.standing import Standing
from tests.builders.controller.ledgers import Inside, a_final, a_train, an_inside, decided
from tests.builders.nodes import a_node
from tests.builders.pods import RUNNING, APod

AUTO = {"mode": "enforce", "rescue": "auto"}


def running(name: str = "train-1", node: str = "node-1") -> APod:
    pod = decided(a_train(name)).with_spec(nodeName=node)
    built = pod.with_status(phase="Running", containerStatuses=[RUNNING]).built()
    built["metadata"]["resourceVersion"] = "1"  # it exists and has a node
    return APod(built)


def of_container(limit_mib: int, name: str = "train-1") -> PeakReport:
    """The last report of a pod's container, whose cgroup had that limit."""
    report = replace(a_final(name), container_id="main", limit_bytes=limit_mib * MIB)
    return replace(report, final=False)


@dataclass(slots=True)
class Server:
    """Keeps pods as the API server does; its node grants each raise at once, unless ``answers``."""

    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    refuses: list[Exception] = field(default_factory=list)
    refuses_notes: list[Exception] = field(default_factory=list)
    slow: dict[str, asyncio.Event] = field(default_factory=dict)
    """Limit -> a raise to it is answered after this event."""
    noting: asyncio.Event | None = None
    """What a raised pod had before is written after this event."""
    answers: str | None = None
    """Deferred or Infeasible."""
    silent: bool = False
    api: Any = None
    stays: list[Any] = field(default_factory=list)
    """Conditions that are on each pod after its next resize."""
    raises: list[str] = field(default_factory=list)
    notes: int = 0
    """Calls that write what a pod had before."""

    async def resize_in_place(self, pod: Pod, body: Mapping[str, Any]) -> Pod:
        kept = self._kept(pod, body)
        (container,) = body["spec"]["containers"]
        self.raises.append(container["resources"]["limits"]["memory"])
        if self.raises[-1] in self.slow:
            await self.slow[self.raises[-1]].wait()
        if self.refuses:
            raise self.refuses.pop(0)
        resources = kept["spec"]["containers"][0]["resources"]
        granted = resources["limits"]["memory"]
        for kind in ("requests", "limits"):
            resources[kind].update(container["resources"][kind])
        wanted = resources["limits"]["memory"]
        more = parse_bytes(wanted) > parse_bytes(granted)
        kept["status"]["conditions"] = list(self.stays)
        if more and self.answers:
            kept["status"]["conditions"] = [
                {"type": "PodResizePending", "status": "True", "reason": self.answers}
            ]
        shown = granted if more and (self.answers or self.silent) else wanted
        status = {**RUNNING, "resources": {"limits": {"memory": shown}}}
        kept["status"]["containerStatuses"] = [status]
        return APod(kept).built()

    async def note_on_pod(self, pod: Pod, annotations: Mapping[str, str | None]) -> Pod:
        if self.noting is not None:
            await self.noting.wait()
        kept = self._kept(pod, None)
        self.notes += 1
        if self.refuses_notes:
            raise self.refuses_notes.pop(0)
        kept["metadata"].setdefault("annotations", {}).update(annotations)
        return APod(kept).built()

    def _kept(self, pod: Pod, body: Mapping[str, Any] | None) -> dict[str, Any]:
        kept = self.pods.setdefault(pod["metadata"]["name"], APod(pod).built())
        if body is not None and body["metadata"]["uid"] != kept["metadata"]["uid"]:
            raise Refused("another pod of the same name")
        return kept


@dataclass(slots=True)
class Told:
    """What was announced."""

    reasons: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    raised: list[tuple[int, int]] = field(default_factory=list)

    def tell(self, happening: Happening, _: Regarding, __: TaskId) -> None:
        self.reasons.append(happening.reason.value)
        self.words.append(happening.note)

    async def rescued(self, pod: Pod, happening: Happening, raised: Raised) -> None:
        self.tell(happening, Regarding.of(pod), raised.task)
        self.raised.append((raised.first_bytes // MIB, raised.limit_bytes // MIB))


@dataclass(slots=True)
class Scene:
    """A controller's inside that rescues, with a clock that tests set.

    needs_mib: of the runs of every task so far; none: as the store has them.
    """

    inside: Inside
    server: Server
    told: Told
    needs_mib: tuple[int, ...] = ()
    now_s: float = 0.0
    used_bytes: int = 1024 * MIB
    peaks: PeakBook = field(default_factory=PeakBook)
    heard: AgentsHeard = field(init=False)
    metrics: ControllerMetrics = field(default_factory=lambda: ControllerMetrics(0))
    rescues: Rescues = field(init=False)

    def __post_init__(self) -> None:
        self.heard = AgentsHeard(lambda: self.now_s)
        self.rescues = self.another()

    def another(self, max_bytes: int = MAX_BYTES) -> Rescues:
        """A controller that has just taken the lead."""
        controller = self.inside.controller
        return Rescues(
            RescuablePods(
                book=controller.book,
                bounds=controller.bounds,
                nodes=controller.watch.ledger.nodes,
                peaks=self.peaks,
                heard=self.heard,
                max_bytes=max_bytes,
            ),
            LimitRaiser(
                cast(PodWriter, self.server), cast(Announcer, self.told), self.metrics.rescue
            ),
            self._standing,
            lambda: self.now_s,
        )

    async def _standing(self, task: TaskId) -> Standing | None:
        if not self.needs_mib:
            return await self.inside.controller.standings.standing(task)
        return Standing(past=Past(needs_bytes=deque(float(each * MIB) for each in self.needs_mib)))

    def sees(self, pod: APod) -> None:
        self.rescues.see(pod.built(), gone=False)

    async def alarmed(self, *alarms: Alarm, node: str = "node-1") -> None:
        await self.rescues.hear(Alarms(node=node, pods_used_bytes=self.used_bytes, alarms=alarms))
        await self.idle()

    async def idle(self) -> None:
        """Wait until all raises that were begun are carried out."""
        while works := tuple(self.rescues._works):
            await asyncio.gather(*works)

    def limit(self, name: str = "train-1") -> int:
        pod = self.server.pods.get(name, running(name).built())
        return parse_bytes(pod["spec"]["containers"][0]["resources"]["limits"]["memory"])

    def answered(self, answer: str) -> float:
        return self._metric("plimsoll_rescue_alarms_total", answer=answer)

    def result(self, result: str) -> float:
        return self._metric("plimsoll_rescue_raises_total", result=result)

    def _metric(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def a_scene(folder: Path, **spec: Any) -> AsyncIterator[Scene]:
    async with an_inside(folder) as inside:
        await inside.controller.watch.see_node(a_node("64Gi", "node-1"), gone=False)
        inside.controller.book.policies.set_namespace_spec("shop", {**AUTO, **spec})
        yield Scene(inside, Server(), Told())
