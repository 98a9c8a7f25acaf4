"""An error budget: the share of a task's runs that may be killed below their request.

It is counted over a window of the task's last runs. A task that is still young has one such kill to
spend, whatever its share.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct

WINDOW_RUNS: Final = 1000
FIRST_RUNS: Final = 50
"""One of so many runs may be killed below its request."""


class Spent(Struct, frozen=True, array_like=True):
    """What a task has spent of any budget. The feed carries it.

    runs: the task's last runs, at most ``WINDOW_RUNS``.
    killed: how many of them had an attempt killed at a size below their request.
    """

    runs: int = 0
    killed: int = 0

    def allowed(self, budget: float) -> int:
        """How many of these runs a budget allows to be killed. budget: a share from 0 to 1."""
        if budget <= 0:
            return 0
        return 1 if self.runs < FIRST_RUNS else max(1, math.floor(budget * self.runs))

    def share_of(self, budget: float) -> float:
        """The share of a budget that is spent, from 0 to 1; at 1 nothing is left."""
        allowed = self.allowed(budget)
        return min(1.0, self.killed / allowed) if allowed else 1.0

    def words(self, budget: float) -> str:
        """What is spent of a budget, for people."""
        allowed = self.allowed(budget)
        return (
            f"{self.killed} of the {allowed} kills that an error budget of {budget:.2%} allows in"
            f" {self.runs} runs"
        )


NOTHING_SPENT: Final = Spent()
