"""Notes the surroundings of living attempts, when they started, and the size that was decided."""

from __future__ import annotations

import asyncio
import itertools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from plimsoll_operator.attempts.observation import Attempt, Load, Surroundings
from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.attempts.live_needs import LiveNeeds
from plimsoll_operator.controller.hub.habits import PODS_KEPT, SEEN_AT_ONCE_S, FirstTimes
from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.placing.encounters import Encounters
from plimsoll_operator.controller.placing.node_loads import NodeLoads
from plimsoll_operator.controller.placing.starts import Starts
from plimsoll_operator.controller.profiles.profiles import TaskProfiles
from plimsoll_operator.controller.runtimes.living_runs import RunSightings
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_operator.sizing.decision_note import DecisionNote
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.experts.charging import DECIDED, GIVEN
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.placing.loads import Expected
from plimsoll_predictor.runtimes.features.asked import AskedRun, numeric

MAX_NEIGHBOURS: Final = 50
"""This many neighbours are stored per attempt; a node holds 110 pods by default."""
MAX_NEIGHBOURS_BYTES: Final = 256
_AROUND_A_NAME: Final = 4
"""Bytes of its quotes and comma in a stored list."""
LOOK_EVERY_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Placed:
    """One running pod's share of its node."""

    task: TaskId
    memory_bytes: int
    cpu: float


@dataclass(frozen=True, slots=True)
class _Started:
    node: str
    placed: Placed
    surroundings: Surroundings


class Placement:
    """A cache of labelled pods, waiting or by node. It is bounded, as the watch may miss an end."""

    def __init__(self, nodes: ClusterNodes | None = None, pods_kept: int = PODS_KEPT) -> None:
        self._cluster = nodes or ClusterNodes()
        self._pods_kept = pods_kept
        self._nodes: dict[str, dict[str, Placed]] = {}
        self._started: OrderedDict[str, _Started] = OrderedDict()
        self._waiting: OrderedDict[str, Load | None] = OrderedDict()
        """Pods that were not seen running, and the load at their submission."""
        self._memory_bytes = 0
        self._millicores = 0
        """Sums over all started pods, in whole numbers, so that they return to exactly zero."""

    def __len__(self) -> int:
        return len(self._started)

    def wait(self, uid: str, age_s: float) -> None:
        """Note a pod that does not run yet. age_s: seconds since it was submitted."""
        if uid in self._waiting or uid in self._started:
            return
        self._waiting[uid] = self._load() if age_s <= SEEN_AT_ONCE_S else None
        if len(self._waiting) > self._pods_kept:
            self._waiting.popitem(last=False)

    def start(self, uid: str, node: str, placed: Placed, age_s: float = 0.0) -> None:
        """Note a pod that runs, once: its surroundings are those at the start, ``age_s`` ago."""
        if uid in self._started:
            return
        submitted = self._waiting.pop(uid, None)
        pods = self._nodes.setdefault(node, {})
        others = sorted({str(other.task) for other in pods.values()})[:MAX_NEIGHBOURS]
        ends = itertools.accumulate(len(name.encode()) + _AROUND_A_NAME for name in others)
        others = others[: sum(end <= MAX_NEIGHBOURS_BYTES for end in ends)]
        pods[uid] = placed
        self._count(placed, 1)
        surroundings = Surroundings(
            memory_bytes=sum(p.memory_bytes for p in pods.values()),
            cpu=sum(p.cpu for p in pods.values()),
            neighbours=tuple(others),
            submitted=submitted,
        )
        if age_s <= SEEN_AT_ONCE_S:
            on_node = self._on_node(node, surroundings)
            surroundings = replace(surroundings, started=self._load(), node=on_node)
        self._started[uid] = _Started(node, placed, surroundings)
        if len(self._started) > self._pods_kept:
            self.end(next(iter(self._started)))

    def submitted(self, uid: str) -> Load | None:
        """Return the load when a living pod was submitted; None if it was not seen then."""
        started = self._started.get(uid)
        return self._waiting.get(uid) if started is None else started.surroundings.submitted

    def end(self, uid: str) -> Surroundings | None:
        """Forget a pod that ended. Return what it had started among, if it was seen starting."""
        self._waiting.pop(uid, None)
        started = self._started.pop(uid, None)
        if started is None:
            return None
        pods = self._nodes[started.node]
        self._count(pods.pop(uid), -1)
        if not pods:
            del self._nodes[started.node]
        return started.surroundings

    def _count(self, placed: Placed, sign: int) -> None:
        self._memory_bytes += sign * placed.memory_bytes
        self._millicores += sign * round(1000 * placed.cpu)

    def _load(self) -> Load:
        total = self._cluster.total
        return Load(
            memory_share=_share(self._memory_bytes, total.memory_bytes),
            cpu_share=_share(self._millicores / 1000, total.cpu),
            waiting_pods=len(self._waiting),
        )

    def _on_node(self, node: str, surroundings: Surroundings) -> Load:
        capacity = self._cluster.capacity(node)
        return Load(
            memory_share=_share(surroundings.memory_bytes, capacity.memory_bytes),
            cpu_share=_share(surroundings.cpu, capacity.cpu),
        )


def _share(part: float, whole: float | None) -> float | None:
    return part / whole if whole is not None and whole > 0 else None


@dataclass(slots=True, kw_only=True)
class LivingAttempts:
    """Sees living attempts as often as they change; each fact is written down once."""

    placement: Placement
    encounters: Encounters
    loads: NodeLoads
    starts: Starts
    needs: LiveNeeds
    sightings: RunSightings
    standings: Standings
    announcer: Announcer
    profiles: TaskProfiles
    now_s: Callable[[], float]
    _sized: FirstTimes = field(init=False, default_factory=FirstTimes)

    async def see(self, pod: Pod, watched: WatchedPod, status: AttemptStatus) -> None:
        """Note an attempt that has not ended."""
        self._place(watched, status)
        expected = _expected(watched, self.needs.book.look(watched.task))
        self.starts.living(pod, watched, status, expected)
        self.encounters.living(watched.task, status)
        self.loads.living(status, expected)
        self.needs.started(watched, status)
        asked = _asked(watched.attempt, self.placement.submitted(status.uid))
        await self.sightings.living(pod, watched.task, status, asked)
        if watched.note is not None and self._sized.add(status.uid):
            attempt = watched.attempt
            bids = await self.standings.bids(watched.task, attempt.request_bytes, attempt.features)
            bids = {**bids, **_decided(watched.note)}
            await self.announcer.sized(pod, watched.task, watched.note, bids)
            self.profiles.mark(watched.task)

    async def gone(self, task: TaskId, status: AttemptStatus) -> None:
        """End an attempt's run that leaves no observation."""
        await self.sightings.gone(task, status.attempt_uid, self.now_s())

    async def gone_unread(self, attempt_uid: str) -> None:
        """End the run of an attempt whose pod is gone and cannot be read."""
        await self.sightings.gone_unread(attempt_uid, self.now_s())

    async def end_missed(self) -> None:
        """Once after the start, end the runs whose pods went while no controller looked."""
        while not self.encounters.complete:
            await asyncio.sleep(LOOK_EVERY_S)
        await self.sightings.end_missed(self.now_s())
        await asyncio.Event().wait()  # the controller begins again what ends

    def _place(self, watched: WatchedPod, status: AttemptStatus) -> None:
        now_s = self.now_s()
        if status.node is not None and status.started_s is not None:
            size = watched.limit_bytes or watched.attempt.request_bytes or 0
            placed = Placed(watched.task, size, watched.cpu_request)
            self.placement.start(status.uid, status.node, placed, now_s - status.started_s)
        elif status.submitted_s is not None:
            self.placement.wait(status.uid, now_s - status.submitted_s)


def _expected(watched: WatchedPod, knowledge: Knowledge) -> Expected:
    """Return what an attempt will use: as was decided, else as its task did, else as it asks.

    It uses no more memory than its limit, because it would be killed there.
    """
    decided = None if watched.note is None else watched.note.allocation_bytes
    need_bytes = decided or knowledge.max_need_bytes or watched.attempt.request_memory_ran_bytes
    if need_bytes is not None and watched.limit_bytes is not None:
        need_bytes = min(need_bytes, watched.limit_bytes)
    cores = watched.cpu_request if knowledge.cpu is None else knowledge.cpu.high_cores
    return Expected(need_bytes, cores)


def _asked(attempt: Attempt, load: Load | None) -> AskedRun:
    """Return what forecasts may go by beforehand, as the attempt's observation will have it."""
    return AskedRun(
        requested_s=attempt.requested_s,
        processors=attempt.request_cores,
        requested_bytes=attempt.request_bytes,
        busy=load.cpu_share if load else None,
        queued=load.waiting_pods if load else None,
        features=numeric(attempt.features),
    )


def _decided(note: DecisionNote) -> dict[str, float]:
    """Return the decided size by its mode; it is counted once the run's need is known."""
    if note.allocation_bytes is None or note.mode is Mode.OFF:
        return {}
    name = DECIDED if note.mode is Mode.RECOMMEND else GIVEN
    return {name: float(note.allocation_bytes)}
