"""Which pods the demo creates, and when. Pure: the same seed gives the same plan.

There are three tasks. Two have a recorded history, which is imported (`shop/train-demand`,
`shop/join-sales`). The third is the first program again in another namespace (`lab/train-demand`).
Plimsoll knows nothing about it and keeps its request until a run was seen. Its team states no
features, so nothing shows which of its runs are heavy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from random import Random
from typing import Final

from demo.runs.workload import JOIN_SALES, TRAIN_DEMAND, Weight, Work, draw_weight, draw_work

REQUEST: Final = "4Gi"
"""Memory request and limit of every pod: one size that was once found to be enough."""
REQUEST_BYTES: Final = 4 * 2**30
CPU_REQUEST: Final = "400m"
"""Small enough for three or four runs at once on two cores."""
BACKOFF_LIMIT: Final = 3
SHOP: Final = "shop"
LAB: Final = "lab"
NAMESPACES: Final = (SHOP, LAB)
SEED: Final = 18
"""The seed, of the first thirty, whose ordinary runs come closest to their mix."""


class Shape(StrEnum):
    """How a run is started. A Job creates its own retries; for a bare pod Plimsoll does."""

    POD = "pod"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class LiveRun:
    """One run: the name of its pod or Job, its namespace, and its work."""

    name: str
    namespace: str
    shape: Shape
    work: Work
    weight: Weight

    @property
    def task(self) -> str:
        """``namespace/name`` of the task."""
        return f"{self.namespace}/{self.work.task}"


@dataclass(frozen=True, slots=True)
class Phase:
    """Runs that belong together; the next phase starts when all have ended.

    learns: tasks that must be trained again before the next phase starts, if any were killed.
    """

    title: str
    runs: tuple[LiveRun, ...]
    learns: tuple[str, ...] = ()


IMPORTED_TASKS: Final = (f"{SHOP}/{TRAIN_DEMAND}", f"{SHOP}/{JOIN_SALES}")

Order = tuple[str, str, Weight | None]
"""(namespace, task, weight); None draws the weight from the ordinary mix."""

SHOP_TRAIN: Final[Order] = (SHOP, TRAIN_DEMAND, None)
SHOP_JOIN: Final[Order] = (SHOP, JOIN_SALES, None)
LAB_TRAIN: Final[Order] = (LAB, TRAIN_DEMAND, Weight.LIGHT)
LAB_HEAVY: Final[Order] = (LAB, TRAIN_DEMAND, Weight.HEAVY)
OUTSIZED_TRAIN: Final[Order] = (SHOP, TRAIN_DEMAND, Weight.OUTSIZED)
OUTSIZED_JOIN: Final[Order] = (SHOP, JOIN_SALES, Weight.OUTSIZED)


def plan(seed: int = SEED) -> tuple[Phase, ...]:
    """The demo's three phases, 81 runs in all."""
    random = Random(seed)
    numbers = count(1)
    first = _shuffled([SHOP_TRAIN] * 14 + [SHOP_JOIN] * 20, random)
    last = _shuffled([SHOP_TRAIN] * 12 + [SHOP_JOIN] * 18 + [LAB_TRAIN] * 4, random)
    ordinary = _runs(_interleaved(first, [LAB_TRAIN] * 6), random, numbers)
    outsized = _runs([OUTSIZED_TRAIN, OUTSIZED_JOIN, OUTSIZED_JOIN], random, numbers)
    again = _runs(_interleaved(last, [OUTSIZED_TRAIN, OUTSIZED_JOIN]), random, numbers)
    unforeseen = _runs([LAB_HEAVY] * 2, random, numbers)
    return (
        Phase("ordinary runs, and a task nobody knows", ordinary),
        Phase("runs heavier than any before", (*outsized, *unforeseen), learns=IMPORTED_TASKS),
        Phase("ordinary runs, and heavy ones again", again),
    )


def _shuffled(orders: Sequence[Order], random: Random) -> list[Order]:
    return random.sample(orders, len(orders))


def _interleaved(many: Sequence[Order], few: Sequence[Order]) -> list[Order]:
    """``few`` spread evenly among ``many``: what they teach can serve the later ones."""
    places = [((index + 0.5) / len(many), order) for index, order in enumerate(many)]
    places += [((index + 0.5) / len(few), order) for index, order in enumerate(few)]
    return [order for _, order in sorted(places, key=lambda place: place[0])]


def _runs(orders: Sequence[Order], random: Random, numbers: count[int]) -> tuple[LiveRun, ...]:
    """Every second run is a Job, in turns within each kind of order."""
    turns: dict[Order, int] = {}
    runs = []
    for order in orders:
        namespace, task, given_weight = order
        turns[order] = turns.get(order, -1) + 1
        weight = given_weight or draw_weight(random)
        shape = Shape.JOB if turns[order] % 2 else Shape.POD
        name = f"{task}-{next(numbers):02d}"
        runs.append(LiveRun(name, namespace, shape, draw_work(task, weight, random), weight))
    return tuple(runs)
