"""Plays jobs by a policy on nodes with a few places each; events only, no clock.

A job on a node works at the pace of 1 ÷ the product of its neighbours' slowdowns. Cost: two events
per job, its start and end; each looks at the node's jobs and at the distinct sets of residents of
nodes that have room.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from plimsoll_predictor.placing.matrix import Array
from plimsoll_predictor.placing.policies.policy import Choice, Outlook, Policy, Residents, Waiting
from plimsoll_predictor.placing.queueing import MOST_OVERTAKEN, WINDOW
from plimsoll_predictor.replay.placing.knowing import Knowing
from plimsoll_predictor.replay.placing.world import Job, World


@dataclass(frozen=True, slots=True)
class Stage:
    """Nodes, and what may be chosen. orders: whether jobs may overtake each other."""

    nodes: int
    places: int = 2
    orders: bool = True
    window: int = WINDOW
    most_overtaken: int = MOST_OVERTAKEN


@dataclass(frozen=True, slots=True)
class Chooser:
    """A policy, and its source of knowledge."""

    policy: Policy
    knowing: Knowing


@dataclass(frozen=True, slots=True)
class Played:
    """The result, by job. slowdowns: runtime ÷ alone. waits: in runtimes of a mean job."""

    slowdowns: Array
    waits: Array
    most_overtaken: int
    ends_at: float


@dataclass(slots=True)
class _Node:
    running: list[_Run] = field(default_factory=list)
    looked_at: float = 0.0
    version: int = 0


@dataclass(slots=True)
class _Run:
    number: int
    kind: int
    left: float
    started: float
    beside_at_start: Residents
    beside: dict[int, float] = field(default_factory=lambda: defaultdict(float))


@dataclass(slots=True)
class _Queued:
    number: int
    overtaken: int = 0


@dataclass(slots=True)
class _Play:
    world: World
    jobs: Sequence[Job]
    stage: Stage
    chooser: Chooser
    draw: random.Random
    now: float = 0.0
    queue: deque[_Queued] = field(default_factory=deque)
    nodes: list[_Node] = field(init=False)
    with_room: dict[Residents, list[int]] = field(init=False)
    ends: list[tuple[float, int, int, int]] = field(default_factory=list)
    most_overtaken: int = 0
    told: Outlook | None = None
    slow: list[list[float]] = field(init=False)
    slowdowns: Array = field(init=False)
    waits: Array = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = [_Node() for _ in range(self.stage.nodes)]
        self.with_room = defaultdict(list, {(): list(range(self.stage.nodes))})
        self.slow = self.world.slowdowns.tolist()
        self.slowdowns, self.waits = np.zeros(len(self.jobs)), np.zeros(len(self.jobs))

    def play(self) -> Played:
        coming = 0
        while coming < len(self.jobs) or self.ends:
            next_end = self.ends[0][0] if self.ends else math.inf
            if coming < len(self.jobs) and self.jobs[coming].comes_at <= next_end:
                self.now = max(self.now, self.jobs[coming].comes_at)
                while coming < len(self.jobs) and self.jobs[coming].comes_at <= self.now:
                    self.queue.append(_Queued(coming))
                    coming += 1
            else:
                at, node, version, number = heapq.heappop(self.ends)
                if version != self.nodes[node].version:
                    continue
                self.now = at
                self._end(node, number)
            self._start_all()
        return Played(self.slowdowns, self.waits, self.most_overtaken, self.now)

    def _start_all(self) -> None:
        while self.queue and any(self.with_room.values()):
            outlook = self.chooser.knowing.outlook()
            if outlook is not self.told:
                self.chooser.policy.learn(outlook)
                self.told = outlook
            rooms = [residents for residents, nodes in self.with_room.items() if nodes]
            choice = self._choose(rooms)
            chosen = self.queue[choice.job]
            for earlier in islice(self.queue, choice.job):
                earlier.overtaken += 1
                self.most_overtaken = max(self.most_overtaken, earlier.overtaken)
            del self.queue[choice.job]
            self._start(chosen.number, rooms[choice.node])

    def _choose(self, rooms: Sequence[Residents]) -> Choice:
        seen = [
            tuple(self.chooser.knowing.place(kind) for kind in residents) for residents in rooms
        ]
        window = list(islice(self.queue, self.stage.window if self.stage.orders else 1))
        waiting = [
            Waiting(self.chooser.knowing.place(self.jobs[each.number].kind), each.overtaken)
            for each in window
        ]
        late = (n for n, each in enumerate(window) if each.overtaken >= self.stage.most_overtaken)
        first = next(late, 0 if len(window) == 1 else None)
        if first is not None:
            return Choice(first, self.chooser.policy.node(waiting[first].kind, seen))
        return self.chooser.policy.order(waiting, seen)

    def _start(self, number: int, residents: Residents) -> None:
        at = self.with_room[residents]
        place = self.draw.randrange(len(at))
        at[place], at[-1] = at[-1], at[place]
        index = at.pop()
        node, kind = self.nodes[index], self.jobs[number].kind
        self._go_on(node)
        run = _Run(number, kind, float(self.world.work[kind]), self.now, residents)
        self.waits[number] = self.now - self.jobs[number].comes_at
        node.running.append(run)
        self._settle(index)

    def _end(self, index: int, number: int) -> None:
        node = self.nodes[index]
        self._go_on(node)
        if len(node.running) < self.stage.places:
            self.with_room[_residents(node)].remove(index)
        (run,) = (each for each in node.running if each.number == number)
        node.running.remove(run)
        took = self.now - run.started
        slowdown = took / float(self.world.work[run.kind])
        self.slowdowns[number] = slowdown
        beside = {kind: time / took for kind, time in run.beside.items()} if took > 0 else {}
        self.chooser.knowing.ended(run.kind, beside, slowdown)
        places = tuple(self.chooser.knowing.place(kind) for kind in run.beside_at_start)
        self.chooser.policy.ended(self.chooser.knowing.place(run.kind), places, slowdown)
        self._settle(index)

    def _settle(self, index: int) -> None:
        """Offer the node if it has room, and note which of its jobs ends first."""
        node = self.nodes[index]
        node.version += 1
        if len(node.running) < self.stage.places:
            self.with_room[_residents(node)].append(index)
        if node.running:
            left = [
                (max(0.0, run.left) * self._slow(node, run), run.number) for run in node.running
            ]
            first, number = min(left)
            heapq.heappush(self.ends, (self.now + first, index, node.version, number))

    def _go_on(self, node: _Node) -> None:
        passed = self.now - node.looked_at
        for run in node.running if passed > 0 else ():
            run.left -= passed / self._slow(node, run)
            for other in node.running:
                if other is not run:
                    run.beside[other.kind] += passed
        node.looked_at = self.now

    def _slow(self, node: _Node, run: _Run) -> float:
        slow = 1.0
        for other in node.running:
            if other is not run:
                slow *= self.slow[run.kind][other.kind]
        return slow


def _residents(node: _Node) -> Residents:
    return tuple(sorted(run.kind for run in node.running))


def play(
    world: World, jobs: Sequence[Job], chooser: Chooser, stage: Stage, seed: int = 0
) -> Played:
    """Play jobs in the order in which they come, until all have ended.

    seed: decides which of the nodes with the same residents is taken; no policy sees that.
    """
    return _Play(world, jobs, stage, chooser, random.Random(seed)).play()
