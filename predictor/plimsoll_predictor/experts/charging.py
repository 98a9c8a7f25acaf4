"""The cost of a bid, and of a size that was decided and not given, once a run's need is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.units import MIB, gb_hours
from plimsoll_predictor.knowledge.ladder import Climb, lifted_bytes

MOST_ATTEMPTS: Final = 40
SHORTEST_RUNTIME_S: Final = 1.0
"""Kubernetes gives times in whole seconds."""
DECIDED: Final = "decided"
"""Not an expert: the name beside the bids for recommend mode's size of the first attempt."""
GIVEN: Final = "given"
"""Not an expert: the name beside the bids for what enforce mode gave the attempt."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run whose need is known. need_bytes is above zero; runtime_s is how long it held memory."""

    need_bytes: float
    runtime_s: float
    request_bytes: float | None = None

    @property
    def counted_s(self) -> float:
        """Its runtime as it counts: what takes no time would cost nothing, whatever it gets."""
        return max(self.runtime_s, SHORTEST_RUNTIME_S)

    @property
    def size(self) -> float:
        """Byte-seconds it needed: a scale on which runs of all sizes are compared."""
        return self.need_bytes * self.counted_s


@dataclass(frozen=True, slots=True)
class Charge:
    """The cost of one bid: byte-seconds with failures priced, and failed attempts."""

    cost: float
    failed_attempts: int


def charge(bid_bytes: float, run: EndedRun, largest_bytes: float, overhead_s: float) -> Charge:
    """Spare memory for the run's time; each failed attempt in full, plus ``overhead_s`` of it.

    The overhead is what a restart costs beyond the memory-time it wasted, in seconds of that
    memory. Lifts follow the same ladder as real ones, with ``largest_bytes`` known.
    """
    allocation_bytes, cost, failed = max(bid_bytes, MIB), 0.0, 0
    climb = Climb(largest_bytes=largest_bytes, request_bytes=run.request_bytes)
    while allocation_bytes < run.need_bytes and failed < MOST_ATTEMPTS:
        cost += allocation_bytes * (run.counted_s + overhead_s)
        failed += 1
        allocation_bytes = lifted_bytes(allocation_bytes, failed, climb)
    return Charge(cost + max(allocation_bytes - run.need_bytes, 0.0) * run.counted_s, failed)


def relative_costs(
    bids_bytes: Sequence[float], run: EndedRun, largest_bytes: float, overhead_s: float
) -> NDArray[np.float64]:
    """Each bid's cost over the run's own size, (n_bids,); equal bids are charged once."""
    charged: dict[float, float] = {}
    for bid_bytes in bids_bytes:
        if bid_bytes not in charged:
            charged[bid_bytes] = charge(bid_bytes, run, largest_bytes, overhead_s).cost
    return np.array([charged[bid_bytes] for bid_bytes in bids_bytes]) / run.size


@dataclass(slots=True)
class Would:
    """Sums over a task's runs that recommend mode decided and whose need is known.

    asked_gb_h: what they asked for; decided_gb_h: what they would have got, including attempts that
        would have been killed, each for the run's whole time.
    killed: runs that the first size would have killed.
    """

    runs: int = 0
    asked_gb_h: float = 0.0
    decided_gb_h: float = 0.0
    killed: int = 0

    @property
    def saved_gb_h(self) -> float:
        """The memory that enforcing would have saved; negative if it would have spent more."""
        return self.asked_gb_h - self.decided_gb_h

    def add(self, decided_bytes: float, run: EndedRun, largest_bytes: float) -> None:
        """Count a run that asked for something.

        largest_bytes: the largest need known before it: lifts would have used it.
        """
        asked_bytes = run.request_bytes
        if not asked_bytes:
            return
        held_bytes = allocation_bytes = max(decided_bytes, MIB)
        self.killed += allocation_bytes < run.need_bytes
        climb = Climb(largest_bytes=largest_bytes, request_bytes=asked_bytes)
        for attempt in range(1, MOST_ATTEMPTS):
            if allocation_bytes >= run.need_bytes:
                break
            allocation_bytes = lifted_bytes(allocation_bytes, attempt, climb)
            held_bytes += allocation_bytes
        self.runs += 1
        self.asked_gb_h += gb_hours(asked_bytes, run.counted_s)
        self.decided_gb_h += gb_hours(held_bytes, run.counted_s)
