"""Plays a queue of cold runs on nodes, from event to event.

Runs are placed in their order, each on the first node that has room; a run that fits nowhere lets
later ones pass, as the scheduler does. Only memory counts. Decisions on running runs come from
``plimsoll_predictor.lending``, as in the product; a resize takes LATENCY_S. All runs stay cold:
finished runs teach nothing, so only the effect of lending is measured.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from plimsoll_predictor.lending.curves import FLAT_SHARE, RISE, RISE_BYTES, Curve
from plimsoll_predictor.lending.node_steps import (
    BACK,
    BACK_BYTES,
    Attempt,
    Lend,
    NodeRoom,
    Patience,
    TakeBack,
    Why,
    decide,
)
from plimsoll_predictor.replay.growth import Growth
from plimsoll_predictor.replay.lending.cold_run import ColdRun

LATENCY_S: Final = 4.0
"""Two seconds until the controller has a reading, and two until the resize holds."""
EPSILON_S: Final = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The result of a queue. GB is 1e9 bytes.

    reserved_gb_h, used_gb_h: over the lives of all runs. lends, backs: how often. deferred:
    take-backs whose node had no room at once. beyond: runs that at some moment used more than their
    request. short: how often a node's memory in use came to exceed its capacity: a kubelet evicts
    then.
    """

    runs: int
    makespan_s: float
    reserved_gb_h: float
    used_gb_h: float
    lends: int
    backs: int
    deferred: int
    beyond: int
    short: int

    @property
    def waste_gb_h(self) -> float:
        """Return the memory that was reserved and not used."""
        return self.reserved_gb_h - self.used_gb_h


@dataclass(slots=True)
class _Running:
    uid: str
    run: ColdRun
    node: int
    began_s: float
    held_bytes: int
    curve: Curve
    since_s: float
    granted_bytes: int
    reserved: float = 0.0
    beyond: bool = False

    def hold(self, held_bytes: int, now_s: float) -> None:
        self.reserved += self.held_bytes * (now_s - self.since_s)
        self.held_bytes, self.since_s = held_bytes, now_s


@dataclass(slots=True)
class _Play:
    growth: Growth
    node_bytes: int
    patience: Patience | None
    free: list[int]
    queue: list[ColdRun]
    running: dict[str, _Running] = field(default_factory=dict)
    nodes: list[dict[str, _Running]] = field(default_factory=list)
    events: list[tuple[float, int, str, str]] = field(default_factory=list)
    unsteady: set[str] = field(default_factory=set)
    over: set[int] = field(default_factory=set)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("lends", "backs", "deferred", "beyond", "short"), 0)
    )
    serial: int = 0
    reserved: float = 0.0


def play(
    runs: Sequence[ColdRun],
    growth: Growth,
    *,
    nodes: int,
    node_bytes: int,
    patience: Patience | None,
) -> Played:
    """Play all runs. patience: of lending; None plays without lending.

    A run that asks for more than a node has is left out.
    """
    fitting = [run for run in runs if run.asked_bytes <= node_bytes]
    state = _Play(growth, node_bytes, patience, [node_bytes] * nodes, list(fitting))
    state.nodes = [{} for _ in range(nodes)]
    _place(state, 0.0)
    now_s = 0.0
    while state.events:
        now_s, _, what, uid = heapq.heappop(state.events)
        running = state.running.get(uid)
        if running is None:
            continue
        _HAPPENS[what](state, running, now_s)
    hours = 3600 * 1e9
    used = sum(run.used_byte_s(growth) for run in fitting)
    return Played(
        runs=len(fitting),
        makespan_s=now_s,
        reserved_gb_h=state.reserved / hours,
        used_gb_h=used / hours,
        **state.counts,
    )


def _at(state: _Play, at_s: float, what: str, uid: str) -> None:
    state.serial += 1
    heapq.heappush(state.events, (at_s, state.serial, what, uid))


def _place(state: _Play, now_s: float) -> None:
    """Place what fits. A run is refused fast if one of its size has just found no room."""
    least = min((run.asked_bytes for run in state.queue), default=0)
    if max(state.free) < least:
        return
    left: list[ColdRun] = []
    for run in state.queue:
        node = next((n for n, free in enumerate(state.free) if free >= run.asked_bytes), None)
        if node is None:
            left.append(run)
            continue
        state.free[node] -= run.asked_bytes
        state.serial += 1
        uid = str(state.serial)
        curve = Curve.begin(int(run.used_bytes(state.growth, 0.0)), now_s)
        asked = run.asked_bytes
        running = _Running(uid, run, node, now_s, asked, curve, now_s, asked)
        state.running[uid] = state.nodes[node][uid] = running
        _at(state, now_s + run.runtime_s, "ends", uid)
        _at(state, now_s + run.runtime_s * state.growth.ends - EPSILON_S, "peaks", uid)
        if state.patience is not None:
            _look_on(state, running, now_s)
    state.queue = left


def _ends(state: _Play, running: _Running, now_s: float) -> None:
    running.hold(running.held_bytes, now_s)
    state.reserved += running.reserved
    del state.running[running.uid], state.nodes[running.node][running.uid]
    state.free[running.node] += running.held_bytes
    _grant(state, running.node)
    _place(state, now_s)


def _peaks(state: _Play, running: _Running, now_s: float) -> None:
    _measure(state, running.node, now_s)


def _looked_at(state: _Play, running: _Running, now_s: float) -> None:
    used_bytes = int(running.run.used_bytes(state.growth, now_s - running.began_s))
    running.curve = running.curve.advance(used_bytes, now_s)
    _decide(state, running.node, now_s)
    _look_on(state, running, now_s)


def _look_on(state: _Play, running: _Running, now_s: float) -> None:
    """Look again when the curve rises, has been flat long enough, or nears what the run holds."""
    assert state.patience is not None
    curve, run = running.curve, running.run
    flat_s = max(state.patience.flat_s, FLAT_SHARE * (curve.since_s - curve.first_s))
    times = [curve.since_s + flat_s + EPSILON_S] if now_s < curve.since_s + flat_s else []
    levels = [curve.level_bytes * (1 + RISE) + RISE_BYTES + 1]
    if running.held_bytes < run.asked_bytes:
        levels.append((running.held_bytes - BACK_BYTES) / BACK + 1)
    for level in levels:
        age_s = run.reaches_s(state.growth, level)
        if age_s is not None:
            times.append(max(now_s, running.began_s + age_s) + EPSILON_S)
    later = [at_s for at_s in times if at_s < running.began_s + run.runtime_s]
    if later:
        _at(state, min(later), "looked at", running.uid)


def _decide(state: _Play, node: int, now_s: float) -> None:
    assert state.patience is not None
    there = state.nodes[node]
    most: dict[str, int] = {}
    for each in state.running.values():
        most[each.run.task] = max(most.get(each.run.task, 0), each.curve.used_bytes)
    attempts = [_attempt(each, most[each.run.task]) for each in there.values()]
    waiting = any(each.granted_bytes < each.held_bytes for each in there.values())
    room = NodeRoom(allocatable_bytes=state.node_bytes, heard_s=now_s, waiting=waiting)
    steps = decide(room, attempts, state.unsteady, now_s, state.patience)
    for step in steps:
        running = there[step.uid]
        if isinstance(step, Lend):
            _lend(state, running, step.held_bytes, now_s)
        else:
            _take_back(state, running, step, now_s)
    if any(isinstance(step, Lend) for step in steps):
        _place(state, now_s)


def _attempt(each: _Running, siblings_bytes: int) -> Attempt:
    return Attempt(
        uid=each.uid,
        task=each.run.task,
        asked_bytes=each.run.asked_bytes,
        held_bytes=each.held_bytes,
        curve=each.curve,
        seen_s=each.began_s,
        why_not="it waits for what it took back" if each.granted_bytes < each.held_bytes else None,
        may_hold=True,
        siblings_bytes=siblings_bytes,
    )


def _lend(state: _Play, running: _Running, held_bytes: int, now_s: float) -> None:
    state.counts["lends"] += 1
    state.free[running.node] += running.held_bytes - held_bytes
    running.hold(held_bytes, now_s)
    running.granted_bytes = held_bytes
    # An earlier look that is still to come does no harm; this one watches what it holds now.
    _look_on(state, running, now_s)


def _take_back(state: _Play, running: _Running, step: TakeBack, now_s: float) -> None:
    """The scheduler counts the whole request at once; the node grants it when it has room."""
    state.counts["backs"] += 1
    if step.why is Why.GREW:
        state.unsteady.add(running.run.task)
    asked = running.run.asked_bytes
    fits = state.free[running.node] >= asked - running.held_bytes
    state.free[running.node] -= asked - running.held_bytes
    running.hold(asked, now_s)
    if fits:
        _at(state, now_s + LATENCY_S, "granted", running.uid)
    else:
        state.counts["deferred"] += 1


def _granted(state: _Play, running: _Running, now_s: float) -> None:
    used = running.run.used_bytes(state.growth, now_s - running.began_s)
    if used > running.granted_bytes:
        _note_beyond(state, running)
    running.granted_bytes = running.held_bytes


def _grant(state: _Play, node: int) -> None:
    """Give waiting runs what they have taken back, as far as there is room by now."""
    there = state.nodes[node].values()
    room = state.node_bytes - sum(each.granted_bytes for each in there)
    for each in there:
        wanted = each.held_bytes - each.granted_bytes
        if 0 < wanted <= room:
            each.granted_bytes = each.held_bytes
            room -= wanted


def _measure(state: _Play, node: int, now_s: float) -> None:
    """Measure the memory that is really used on a node."""
    total = 0.0
    for each in state.nodes[node].values():
        used = each.run.used_bytes(state.growth, now_s - each.began_s)
        total += used
        if used > each.granted_bytes:
            _note_beyond(state, each)
    if total <= state.node_bytes:
        state.over.discard(node)
    elif node not in state.over:
        state.over.add(node)
        state.counts["short"] += 1


def _note_beyond(state: _Play, running: _Running) -> None:
    if not running.beyond:
        running.beyond = True
        state.counts["beyond"] += 1


_HAPPENS: Final = {"ends": _ends, "peaks": _peaks, "looked at": _looked_at, "granted": _granted}


def cold_runs(rows: Sequence[tuple[str, float, float, ColdRun]]) -> Iterator[ColdRun]:
    """Yield the runs that were submitted before any run of their task had ended, in that order.

    rows: (task, submitted, completed, run), times in Unix seconds.
    """
    first_s: dict[str, float] = {}
    for task, _, completed_s, _ in rows:
        first_s[task] = min(first_s.get(task, completed_s), completed_s)
    for task, submitted_s, _, run in sorted(rows, key=lambda row: row[1]):
        if submitted_s < first_s[task]:
            yield run
