"""What a task costs on a node, by what is used there and what its tasks will use. Pure.

The cost of pairs of tasks is learned from runtimes. It knows nothing about pods without a task, a
full node, or a task that does more today than usual. Both costs have one unit: slowdowns of the new
task and of the tasks there. Numpy alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

import numpy as np
from msgspec import Meta

from plimsoll_predictor.core.documents import from_document
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.placing.matrix import Array

KILLED: Final = 1.0
"""In slowdowns: a run that finds no memory is killed, or another one is, and begins anew."""
PRESSED: Final = 2.0
"""The cost of a node under pressure: its kubelet ends pods, the new one and others."""
USUAL_CORES: Final = 1.0
"""The use of a task whose use and request are unknown."""
STEPS: Final = 32
"""A change is reported once it is as large as one of so many parts of the node."""
LEAST_STEP_MIB: Final = 64
LEAST_STEP_MILLICORES: Final = 50

CORES, IDLE, ROOM = range(3)
"""Columns of a table of loads: millicores of the node, those that are idle, and MiB that are left;
nan where it is not known."""
COLUMNS: Final = 3


MOST_LEFT: Final = 2**40
_Millicores: TypeAlias = Annotated[int, Meta(ge=0, le=MOST_LEFT)]


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """What is left of a node, by what is used and not by what is requested.

    millicores: what pods may use of it. idle_millicores: what is left once tasks that have just
        started use theirs. room_mib: memory that is left once all running tasks have grown as
        predicted; below zero if they do not all fit. None where it is not known.
    pressed: whether its kubelet says that it is short of memory, disk or process IDs.
    """

    millicores: Annotated[int, Meta(gt=0, le=MOST_LEFT)] | None = None
    idle_millicores: _Millicores | None = None
    room_mib: Annotated[int, Meta(ge=-MOST_LEFT, le=MOST_LEFT)] | None = None
    pressed: bool = False

    def row(self) -> list[float]:
        """A row of a table of loads."""
        known = self.millicores, self.idle_millicores, self.room_mib
        return [float("nan") if each is None else float(each) for each in known]

    def to_document(self) -> dict[str, Any]:
        """Plain JSON types, without what is not known: some 60 bytes."""
        known = {
            "millicores": self.millicores,
            "idle_millicores": self.idle_millicores,
            "room_mib": self.room_mib,
            "pressed": self.pressed or None,
        }
        return {name: value for name, value in known.items() if value is not None}

    @classmethod
    def from_document(cls, document: object) -> NodeLoad:
        """Inverse of ``to_document``; ValueError on anything else."""
        return from_document(cls, document, "a node's load")


@dataclass(frozen=True, slots=True)
class Need:
    """What a task that is about to start will use. None where it is not known."""

    memory_mib: float | None = None
    millicores: float | None = None

    @property
    def wanted_millicores(self) -> float:
        """What it wants, or a usual task would."""
        return 1000 * USUAL_CORES if self.millicores is None else self.millicores

    def taken(self) -> Array:
        """What it takes of a row of loads, in whole numbers, so that a sum returns to zero."""
        return np.array([0.0, round(self.wanted_millicores), round(self.memory_mib or 0.0)])


UNKNOWN_NEED: Final = Need()


@dataclass(frozen=True, slots=True)
class Expected:
    """What one running attempt will use. memory_bytes: its largest need that is predicted."""

    memory_bytes: int | None = None
    cores: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How much of a node is in use.

    cpu_share, memory_share: of all that it has, 0 to 1; None if its agent could not tell.
    pods_bytes: pod UID -> memory that it uses and that cannot be reclaimed. None from an agent that
        does not report it: then no pod is known to grow.
    """

    cpu_share: float | None = None
    memory_share: float | None = None
    pods_bytes: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """What pods may use of a node. None where nobody said."""

    memory_bytes: int | None = None
    millicores: int | None = None


def load_of(size: Size, reading: Reading, running: Iterable[tuple[str, Expected]]) -> NodeLoad:
    """Return what is left of a node. running: pod UIDs of attempts, and what they will use.

    An attempt that the reading does not know began after it: all its use is still to come.

    >>> size, reading = Size(100 * MIB, 2000), Reading(0.5, 0.4, {"a": 20 * MIB})
    >>> running = [("a", Expected(50 * MIB, 1.0)), ("b", Expected(10 * MIB, 0.4))]
    >>> load_of(size, reading, running).to_document()
    {'millicores': 2000, 'idle_millicores': 600, 'room_mib': 20}
    """
    growth_bytes, coming_cores = 0, 0.0
    if reading.pods_bytes is not None:
        for uid, expected in running:
            used_bytes = reading.pods_bytes.get(uid)
            growth_bytes += max(0, (expected.memory_bytes or 0) - (used_bytes or 0))
            coming_cores += 0.0 if used_bytes is not None else (expected.cores or 0.0)
    idle, room_bytes = None, None
    if size.millicores is not None and reading.cpu_share is not None:
        free = (1.0 - reading.cpu_share) * size.millicores
        idle = max(0, round(free - 1000 * coming_cores))
    if size.memory_bytes is not None and reading.memory_share is not None:
        room_bytes = (1.0 - reading.memory_share) * size.memory_bytes - growth_bytes
    room_mib = None if room_bytes is None else round(room_bytes / MIB)
    return NodeLoad(None if idle is None else size.millicores, idle, room_mib)


def matters(told: NodeLoad, now: NodeLoad, size: Size) -> bool:
    """Say whether a node's load differs by a step from what was reported."""
    step_millicores = max(LEAST_STEP_MILLICORES, (size.millicores or 0) // STEPS)
    step_mib = max(LEAST_STEP_MIB, (size.memory_bytes or 0) // MIB // STEPS)
    return (
        told.pressed is not now.pressed
        or told.millicores != now.millicores
        or _differ(told.idle_millicores, now.idle_millicores, step_millicores)
        or _differ(told.room_mib, now.room_mib, step_mib)
    )


def _differ(told: int | None, now: int | None, step: int) -> bool:
    if told is None or now is None:
        return told is not now
    # Whether anything is left matters more than how much: such a change is always reported.
    return abs(now - told) >= step or (now <= 0) is not (told <= 0)


def costs_with_loads(pairs: Array, residents: Array, loads: Array, need: Need) -> Array:
    """Return what a task costs on each node, including its load. Arrays have a row per node.

    pairs: what it and the tasks there lose by each other, in slowdowns; nan where the tasks there
    are unknown. residents: how many tasks. loads: a table of loads.

    *Memory*: the share of its need for which there is no room once all have grown, times a run that
    begins anew. *CPU*: if more is wanted than there is, the new task and the residents all take so
    much longer. The cost of pairs contains that, too: so the larger of the two counts, and no
    contention counts twice.
    """
    contended = (1.0 + residents) * _stretch(loads, need)
    added = np.maximum(0.0, contended - np.maximum(0.0, pairs))
    return np.asarray(pairs + added + _killed(loads, need))


def _stretch(loads: Array, need: Need) -> Array:
    """How much longer all tasks take if processors are short; 0 where it is not known."""
    # A task with more threads than the node has processors gets all of them at most.
    wanted = np.fmin(need.wanted_millicores, loads[:, CORES])
    return np.asarray(np.fmax(0.0, (wanted - loads[:, IDLE]) / loads[:, CORES]))  # nan is not taken


def _killed(loads: Array, need: Need) -> Array:
    """The share of the need for which there is no memory, in runs; 0 where it is not known."""
    needed = max(1.0, need.memory_mib or 0.0)
    without_room = np.fmax(0.0, KILLED - loads[:, ROOM] * (KILLED / needed))
    return np.asarray(np.minimum(KILLED, without_room))
