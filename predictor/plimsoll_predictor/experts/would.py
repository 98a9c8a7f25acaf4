"""What enforcing would have come to on the runs that were decided and not sized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.units import MIB, gb_hours
from plimsoll_predictor.experts.charging import MOST_ATTEMPTS, SHORTEST_RUNTIME_S, EndedRun
from plimsoll_predictor.knowledge.ladder import lowest_step_bytes

DECIDED: Final = "decided"
"""No expert: kept beside the bids, what recommend mode decided for the run's first attempt."""


@dataclass(slots=True)
class Would:
    """Sums over a task's runs that recommend mode decided and whose need is known.

    asked_gb_h: what they asked for; decided_gb_h: what they would have been given, attempts that
        would have been killed included, each for the whole time that the run took.
    killed: runs that the first size would have killed.
    """

    runs: int = 0
    asked_gb_h: float = 0.0
    decided_gb_h: float = 0.0
    killed: int = 0

    @property
    def saved_gb_h(self) -> float:
        """What enforcing would have saved; negative if it would have spent more."""
        return self.asked_gb_h - self.decided_gb_h

    def add(self, decided_bytes: float, run: EndedRun, largest_bytes: float) -> None:
        """Count a run that asked for something.

        largest_bytes: the largest need known before it: lifts would have gone by it.
        """
        asked_bytes = run.request_bytes
        if not asked_bytes:
            return
        runtime_s = max(run.runtime_s, SHORTEST_RUNTIME_S)
        held_bytes = allocation_bytes = max(decided_bytes, MIB)
        self.killed += allocation_bytes < run.need_bytes
        for _ in range(MOST_ATTEMPTS):
            if allocation_bytes >= run.need_bytes:
                break
            allocation_bytes = lowest_step_bytes(
                allocation_bytes, largest_bytes, request_bytes=asked_bytes
            )
            held_bytes += allocation_bytes
        self.runs += 1
        self.asked_gb_h += gb_hours(asked_bytes, runtime_s)
        self.decided_gb_h += gb_hours(held_bytes, runtime_s)
