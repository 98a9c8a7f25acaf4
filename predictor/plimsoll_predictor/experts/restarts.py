"""How long a killed run waits for its next attempt: a median over the newest, bounded."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from statistics import median
from typing import Final

NEWEST: Final = 64
"""The most restarts that are remembered. A cluster that got faster shows it within half of them."""
LEAST: Final = 8
"""With fewer restarts, ``Constants.restart_s`` is used."""
SHORTEST_S: Final = 1.0
"""The API server keeps whole seconds, so that shorter ones look like none."""
LONGEST_S: Final = 600.0
"""A longer one counts as this: a pod that hung for a day says little about the next."""


class Restarts:
    """The newest restarts of the tasks that share a pool, each from a kill to the next start.

    Waiting in a queue is part of it: people who wait for the result wait for that, too.
    """

    def __init__(self, seconds: Iterable[float] = ()) -> None:
        """seconds: as ``seconds`` gave them; values that are no time are left out."""
        self._newest_s: deque[float] = deque(maxlen=NEWEST)
        for each in seconds:
            self.add(each)

    def __len__(self) -> int:
        return len(self._newest_s)

    @property
    def seconds(self) -> list[float]:
        """The newest, oldest first."""
        return list(self._newest_s)

    @property
    def usual_s(self) -> float | None:
        """Their median, in seconds; None while fewer than ``LEAST`` are known.

        Half of them would have to be wrong to move it far.
        """
        return median(self._newest_s) if len(self._newest_s) >= LEAST else None

    def add(self, restart_s: float) -> None:
        """Count a restart; a value that is no number is left out."""
        if math.isfinite(restart_s):
            self._newest_s.append(min(max(float(restart_s), SHORTEST_S), LONGEST_S))
