"""Chooses the next of the jobs that wait, and its nodes, where not every job fits on every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import Array

AGE: Final = 0.01
"""What each overtaking of a job counts, in slowdowns."""
WINDOW: Final = 15
"""The choice is among this many of the queue's first jobs."""
MOST_OVERTAKEN: Final = 60
"""A job that was overtaken this often goes next."""


@dataclass(frozen=True, slots=True)
class PairWaste:
    """What a job of the row's kind wastes beside each running job of the column's kind.

    kinds: including OTHERS. waste: a row and a column per kind; in slowdowns, less is better.
    """

    kinds: tuple[str, ...]
    waste: Array
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise ValueError where kinds and waste do not belong together."""
        size = len(self.kinds)
        if self.waste.shape != (size, size) or OTHERS not in self.kinds:
            message = f"{size} kinds, but an array of {self.waste.shape}, or no {OTHERS}"
            raise ValueError(message)
        object.__setattr__(self, "_places", {kind: at for at, kind in enumerate(self.kinds)})

    def place(self, kind: str) -> int:
        """The row and column of a kind: that of OTHERS where it is not told apart."""
        return self._places.get(kind, self._places[OTHERS])


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job that waits. fits: the positions of the nodes that have room for it, at least one."""

    kind: str
    overtaken: int
    fits: Sequence[int]


@dataclass(frozen=True, slots=True)
class Turn:
    """The job that is next, by its position, and the nodes that have room for it, best first."""

    job: int
    nodes: tuple[int, ...]


def best_turn(
    window: Sequence[Candidate], nodes: Sequence[Sequence[str]], beside: PairWaste | None
) -> Turn:
    """Choose the next job. window: in the order of the queue. nodes: kinds of the jobs on each.

    An empty node goes to the first job that fits there. Otherwise the pair of job and node that
    wastes least starts; each time that a job was overtaken counts AGE. If nothing is known, the
    first job goes to the node with the fewest jobs. The same input gives the same answer.
    """
    if beside is None:
        return Turn(0, _by(np.array([float(len(each)) for each in nodes]), window[0].fits))
    empty = {at for at, residents in enumerate(nodes) if not residents}
    wasted = _wasted(window, nodes, beside)
    # A job may waste as little beside a good neighbour; but a node that nobody uses wastes more.
    wasted[:, sorted(empty)] = -np.inf
    for number, job in enumerate(window):
        if not empty.isdisjoint(job.fits):
            return Turn(number, _by(wasted[number], job.fits))
    scores = [
        float(wasted[number, list(job.fits)].min()) - AGE * job.overtaken
        for number, job in enumerate(window)
    ]
    best = min(range(len(window)), key=scores.__getitem__)
    return Turn(best, _by(wasted[best], window[best].fits))


def _wasted(
    window: Sequence[Candidate], nodes: Sequence[Sequence[str]], beside: PairWaste
) -> Array:
    """Return what each job wastes on each node: (n_jobs, n_nodes)."""
    counts = np.zeros((len(nodes), len(beside.kinds)))
    for at, residents in enumerate(nodes):
        for kind in residents:
            counts[at, beside.place(kind)] += 1.0
    rows = beside.waste[[beside.place(job.kind) for job in window]]
    return np.asarray(rows @ counts.T, dtype=float)


def _by(scores: Array, fitting: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(fitting, key=lambda node: (float(scores[node]), node)))
