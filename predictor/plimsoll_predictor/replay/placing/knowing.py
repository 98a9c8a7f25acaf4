"""What a policy knows of a world: the truth, or what finished runs have taught so far."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from plimsoll_predictor.placing.encounter import Encounter
from plimsoll_predictor.placing.interference import Interference
from plimsoll_predictor.placing.matrix import Array, Matrix
from plimsoll_predictor.placing.policies.policy import Outlook
from plimsoll_predictor.replay.placing.world import World


class Knowing(Protocol):
    """What is known about a world's kinds, by places that may differ from the world's numbers."""

    def place(self, kind: int) -> int:
        """Return the place of a world's kind."""

    def outlook(self) -> Outlook:
        """Return what is known now: the same object until there is news."""

    def ended(self, kind: int, beside: Mapping[int, float], slowdown: float) -> None:
        """Note that a run ended; beside: mean number of neighbours by the world's kinds."""


@dataclass(slots=True)
class Truth:
    """Knows the matrix; a kind's place is its number. shares: of jobs."""

    world: World
    shares: Array
    _outlook: Outlook = field(init=False)

    def __post_init__(self) -> None:
        """Know everything from the beginning."""
        self._outlook = Outlook(self.world.slowdowns, self.shares, self.world.work)

    def place(self, kind: int) -> int:
        """Return the number itself."""
        return kind

    def outlook(self) -> Outlook:
        """Return the truth."""
        return self._outlook

    def ended(self, kind: int, beside: Mapping[int, float], slowdown: float) -> None:
        """Learn nothing new."""


@dataclass(slots=True)
class Learned:
    """Knows what runs have taught, each measured with an error. Only work is known from the start.

    noise: standard deviation of a run's ln runtime. most_runs: after so many it stops learning.
    """

    world: World
    noise: float
    seed: int
    most_runs: int | None = None
    interference: Interference = field(init=False, default_factory=Interference)
    _matrix: Matrix | None = field(init=False, default=None)
    _outlook: Outlook | None = field(init=False, default=None)
    _draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self._draw = random.Random(self.seed)

    def place(self, kind: int) -> int:
        """Return the place that the kind has now."""
        return self.interference.kinds.place(self.world.kinds[kind])

    def outlook(self) -> Outlook:
        """Return the latest fit."""
        matrix = self.interference.matrix()
        if self._outlook is None or matrix is not self._matrix:
            known = dict(zip(self.world.kinds, self.world.work, strict=True))
            work = np.array([known.get(kind, 1.0) for kind in matrix.kinds])
            self._matrix = matrix
            self._outlook = Outlook(matrix.times_forecast, matrix.shares, work)
        return self._outlook

    def ended(self, kind: int, beside: Mapping[int, float], slowdown: float) -> None:
        """Learn from a run as the controller would see it."""
        if self.most_runs is not None and self.interference.runs >= self.most_runs:
            return
        names = self.world.kinds
        self.interference.learn(
            Encounter(
                names[kind],
                {names[other]: count for other, count in beside.items()},
                math.log(slowdown) + self._draw.gauss(0.0, self.noise),
            )
        )
