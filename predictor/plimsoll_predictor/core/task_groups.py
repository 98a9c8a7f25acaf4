"""Tasks in groups by their size: light, moderate, heavy (thesis 5.1.2). Pure, deterministic.

k-means on logarithms, so that twice as much counts the same at any size. Memory counts most, its
mean and its maximum: a moderate task has as low a mean as a light one and differs in the maximum.
CPU and runtime count half.

Lloyd's algorithm from a fixed set of starts. scikit-learn has the same one, but the controller
serves the page that shows the groups, and its memory would grow by 120 MB; a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

MEMORY_WEIGHT: Final = 1.0
OTHER_WEIGHT: Final = 0.5
"""The weight of CPU and of runtime, beside the mean and the most of memory."""
_CUTS: Final = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95)
"""The starts cut the tasks, ordered by memory, at these shares."""
_MOST_ROUNDS: Final = 100
_NOTHING: Final = 1e-9
"""Replaces a use of zero, which has no logarithm."""

_Matrix = NDArray[np.float64]
_Places = NDArray[np.int64]


class GroupName(StrEnum):
    """A group's name, by its size among the others."""

    LIGHT = "light"
    MODERATE = "moderate"
    HEAVY = "heavy"


_NAMES: Final = {
    1: (GroupName.LIGHT,),
    2: (GroupName.LIGHT, GroupName.HEAVY),
    3: (GroupName.LIGHT, GroupName.MODERATE, GroupName.HEAVY),
}
GROUPS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUse:
    """The resources that a task asks for and uses, over its runs; None if not measured.

    runtime_s: mean. request_bytes, request_cores: mean of what the user asked for.
    used_bytes: mean need; most_bytes: the largest. used_cores: mean; most_cores: the highest.
    sized_bytes, sized_cores: mean of what sizing gives a run; None where the task is not sized by
        itself, and gets its group's one size.
    """

    task: str
    runs: int
    runtime_s: float
    request_bytes: float | None
    used_bytes: float
    most_bytes: float
    request_cores: float | None = None
    used_cores: float | None = None
    most_cores: float | None = None
    sized_bytes: float | None = None
    sized_cores: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """One group. tasks: as given, at least one."""

    name: GroupName
    tasks: tuple[TaskUse, ...]

    @property
    def most_bytes(self) -> float:
        """The largest need of any of its tasks: one size that fits them all."""
        return max(task.most_bytes for task in self.tasks)


Groups = tuple[Group, ...]
"""Smallest first; fewer than GROUPS if there are fewer different tasks, none without tasks."""


def group_tasks(tasks: Sequence[TaskUse]) -> Groups:
    """The tasks in at most GROUPS groups. Their order changes nothing but the order in a group."""
    if not tasks:
        return ()
    points = _points(tasks)
    n_groups = min(GROUPS, len(np.unique(points, axis=0)))
    places = _clustered(points, n_groups)
    # Ordered by the largest need: it separates the groups (thesis 5.1.2), and a size must fit it.
    members_of = [
        tuple(task for task, mine in zip(tasks, places == place, strict=True) if mine)
        for place in range(n_groups)
    ]
    members_of.sort(key=lambda members: (max(task.most_bytes for task in members), members[0].task))
    return tuple(Group(name, each) for name, each in zip(_NAMES[n_groups], members_of, strict=True))


def _points(tasks: Sequence[TaskUse]) -> _Matrix:
    """(n_tasks, 4): logarithms of mean memory, most memory, cores, runtime; weighted."""
    measured = [task.used_cores for task in tasks if task.used_cores is not None]
    # A task whose CPU nobody measured is grouped by its other figures.
    middle = float(np.median(measured)) if measured else 1.0
    rows = [
        (
            MEMORY_WEIGHT * _log(task.used_bytes),
            MEMORY_WEIGHT * _log(task.most_bytes),
            OTHER_WEIGHT * _log(middle if task.used_cores is None else task.used_cores),
            OTHER_WEIGHT * _log(task.runtime_s),
        )
        for task in tasks
    ]
    return np.array(rows, dtype=np.float64)


def _log(value: float) -> float:
    return math.log10(max(value, _NOTHING))


def _clustered(points: _Matrix, n_groups: int) -> _Places:
    """(n_points,): each point's group, from the start that ends with the least spread."""
    best, best_spread = np.zeros(len(points), dtype=np.int64), math.inf
    for places in _starts(points, n_groups):
        settled, spread = _settled(points, places, n_groups)
        if spread < best_spread - 1e-12:  # not a difference by rounding
            best, best_spread = settled, spread
    return best


def _starts(points: _Matrix, n_groups: int) -> Iterator[_Places]:
    """The points cut into consecutive groups, by each memory figure, at every set of cuts."""
    n_points = len(points)
    for column in range(points.shape[1]):
        # Ties in the order of the other columns, so that the order of the tasks does not matter.
        ranked = np.lexsort((*points.T, points[:, column]))
        for cuts in combinations(_cuts(n_points, n_groups), n_groups - 1):
            places = np.zeros(n_points, dtype=np.int64)
            for cut in cuts:
                places[ranked[cut:]] += 1
            yield places


def _cuts(n_points: int, n_groups: int) -> list[int]:
    """Places between two points; all of them where there are few."""
    if n_points <= len(_CUTS) + 1 or n_groups == 1:
        return list(range(1, n_points))
    return sorted({min(n_points - 1, max(1, round(share * n_points))) for share in _CUTS})


def _settled(points: _Matrix, places: _Places, n_groups: int) -> tuple[_Places, float]:
    """Lloyd's algorithm until nothing moves; the places, and the sum of squared distances."""
    for _ in range(_MOST_ROUNDS):
        squares = _squares(points, places, n_groups)
        moved = squares.argmin(axis=1)
        # A group that loses its last point keeps it: every name stands for some task.
        if len(np.unique(moved)) < n_groups or np.array_equal(moved, places):
            break
        places = moved
    squares = _squares(points, places, n_groups)
    return places, float(squares[np.arange(len(points)), places].sum())


def _squares(points: _Matrix, places: _Places, n_groups: int) -> _Matrix:
    """(n_points, n_groups): squared distances to the groups' means."""
    middles = np.stack([points[places == place].mean(axis=0) for place in range(n_groups)])
    squares: _Matrix = ((points[:, np.newaxis, :] - middles) ** 2).sum(axis=2)
    return squares
