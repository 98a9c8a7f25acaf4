"""A controller and running pods that may lend, against an API server that remembers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.lending.agents_heard import AgentsHeard
from plimsoll_operator.controller.lending.lending import Lending
from plimsoll_operator.controller.lending.request_resizer import RequestResizer
from plimsoll_operator.controller.lending.running_pods import MAX_BYTES, RunningPods
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import Changed
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.names.labels import LENT
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.wording.event_words import Happening, Regarding
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.lending.node_steps import Patience
from tests.builders.controller.ledgers import Inside, a_final, a_train, an_inside
from tests.builders.nodes import a_node
from tests.builders.pods import RUNNING, APod

ASKED = "1Gi"
AUTO = {"mode": "enforce", "lending": "auto"}


def running(name: str = "train-1") -> APod:
    pod = a_train(name, ASKED).with_spec(nodeName="node-1")
    built = pod.with_status(phase="Running", containerStatuses=[RUNNING]).built()
    built["metadata"]["resourceVersion"] = "1"
    return APod(built)


@dataclass(slots=True)
class Server:
    """Keeps pods as the API server does; the node grants every request at once, unless full."""

    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    refuses: type[Exception] | None = None
    full: bool = False
    calls: int = 0
    """How many times it was asked to resize a pod."""
    marks: int = 0
    """How many times a pod was marked as a lender."""

    async def annotate_pod(self, pod: Pod, values: Mapping[str, str | None]) -> Pod:
        kept = self._kept(pod)
        annotations = kept["metadata"].setdefault("annotations", {})
        self.marks += values.get(LENT) is not None
        for key, value in values.items():
            annotations.pop(key, None)
            if value is not None:
                annotations[key] = value
        return self._changed(kept)

    async def resize_pod(self, pod: Pod, body: Mapping[str, Any]) -> Pod:
        self.calls += 1
        kept = self._kept(pod)
        if self.refuses is not None:
            raise self.refuses("no")
        requests = body["spec"]["containers"][0]["resources"]["requests"]
        kept["spec"]["containers"][0]["resources"]["requests"].update(requests)
        if not self.full:
            kept["status"]["containerStatuses"][0] = {
                **RUNNING,
                "resources": {"requests": requests},
            }
        return self._changed(kept)

    async def read_pod(self, _: str, name: str) -> Pod:
        return APod(self.pods[name]).built()

    def _kept(self, pod: Pod) -> dict[str, Any]:
        kept = self.pods.setdefault(pod["metadata"]["name"], APod(pod).built())
        if kept["metadata"]["resourceVersion"] != pod["metadata"]["resourceVersion"]:
            raise Changed("another version")
        return kept

    def _changed(self, kept: dict[str, Any]) -> Pod:
        kept["metadata"]["resourceVersion"] += "1"
        return APod(kept).built()


@dataclass(slots=True)
class Told:
    """What was announced."""

    reasons: list[str] = field(default_factory=list)

    def tell(self, happening: Happening, _: Regarding, __: TaskId) -> None:
        self.reasons.append(happening.reason.value)


@dataclass(slots=True)
class Scene:
    """A controller's inside that lends, with a clock that tests set."""

    inside: Inside
    server: Server
    told: Told
    kube: Kube | None = None
    """What the controller calls; None calls ``server`` at once, without HTTP."""
    now_s: float = 0.0
    metrics: ControllerMetrics = field(default_factory=lambda: ControllerMetrics(0))
    peaks: PeakBook = field(default_factory=PeakBook)
    lending: Lending = field(init=False)

    def __post_init__(self) -> None:
        self.lending = self.another()

    def another(self, max_bytes: int = MAX_BYTES) -> Lending:
        """A controller that has just taken the lead."""
        controller = self.inside.controller
        pods = RunningPods(
            book=controller.book,
            bounds=controller.bounds,
            peaks=self.peaks,
            nodes=controller.watch.ledger.nodes,
            heard=AgentsHeard(lambda: self.now_s),
            max_bytes=max_bytes,
        )
        resizer = RequestResizer(
            self.kube or cast(Kube, self.server),
            cast(Announcer, self.told),
            self.metrics.lending,
        )
        return Lending(pods, resizer, Patience())

    def uses(self, mib: int, name: str = "train-1") -> None:
        """Let the agent report it now."""
        self.peaks.add([replace(a_final(name, mib * MIB), final=False, limit_bytes=None)])
        self.lending.heard.hear("node-1")

    async def later(self, seconds: float, *, heard: bool = True) -> None:
        """Look after that many seconds."""
        self.now_s += seconds
        if heard:
            self.lending.heard.hear("node-1")
        await self.lending.look()

    async def lends(self, pod: APod | None = None, name: str = "train-1") -> None:
        self.lending.see((pod or running(name)).built(), gone=False)
        self.uses(200, name)
        await self.later(1)
        await self.later(61)
        assert self.request(name) == "332Mi"

    def request(self, name: str = "train-1") -> str:
        pod = self.server.pods.get(name, running(name).built())
        return str(pod["spec"]["containers"][0]["resources"]["requests"]["memory"])

    def result(self, result: str) -> float:
        """How many resizes had this result."""
        sample = "plimsoll_lending_resizes_total", {"result": result}
        return self.metrics.registry.get_sample_value(*sample) or 0.0

    @property
    def words(self) -> str:
        """The status for people; empty while no pod may lend."""
        told = self.lending.told
        return told.words if told else ""

    def is_marked(self, name: str = "train-1") -> bool:
        return LENT in self.server.pods[name]["metadata"].get("annotations", {})


@asynccontextmanager
async def a_scene(folder: Path, **spec: Any) -> AsyncIterator[Scene]:
    async with an_inside(folder) as inside:
        await inside.controller.watch.see_node(a_node("64Gi", "node-1"), gone=False)
        inside.controller.book.policies.set_namespace_spec("shop", {**AUTO, **spec})
        yield Scene(inside, Server(), Told())
