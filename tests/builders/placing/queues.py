"""Queues of pods that wait for their turn, and the moment when pods are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plimsoll_operator.ordering.asks import Amounts
from plimsoll_operator.ordering.queue import Known, Release, Waiter, next_releases
from plimsoll_operator.ordering.room import Place
from plimsoll_operator.ordering.why import Why
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.queueing import PairWaste

CPU, WAIT = "shop/cpu", "shop/wait"
PAIRS = PairWaste(
    (OTHERS, CPU, WAIT), np.array([[0.2, 0.2, 0.2], [0.2, 1.5, 0.0], [0.2, 0.0, 0.3]])
)
EMPTY: Amounts = {"cpu": 4000, "pods": 10}


def waiter(number: int, task: str = CPU, cores: int = 1, **changes: Any) -> Waiter:
    made = Waiter(
        uid=f"uid-{number:04}",
        task=task,
        created_s=1000.0 + number,
        priority=0,
        asked=(("cpu", cores * 1000), ("pods", 1)),
        most_s=600.0,
        alone=True,
        ordered=True,
    )
    return replace(made, **changes)


def place(name: str, *residents: str, cores: int = 1) -> Place:
    return Place(name, name, {"cpu": cores * 1000, "pods": 5}, residents)


KNOWN = Known(
    pairs=PAIRS,
    now_s=1100.0,
    capacities=(EMPTY,),
    outsider_s=lambda _priority: None,
    has_below=lambda _priority: False,
    has_from=lambda _priority: False,
)


@dataclass(frozen=True, slots=True)
class Moment:
    """The situation when pods are chosen."""

    places: Sequence[Place] = ()
    of_priority: Callable[[int], Sequence[Place]] | None = None
    known: Known = KNOWN

    def all(self, *queue: Waiter) -> list[Release]:
        return next_releases(queue, self.of_priority or (lambda _priority: self.places), self.known)

    def next(self, *queue: Waiter) -> Release | None:
        """The first release, if any; another only if it is a turn, too."""
        found = self.all(*queue)
        assert len(found) <= 1 or {each.why for each in found} == {Why.TURN}
        return found[0] if found else None
