"""How fast CPU is used: the cores of the busiest minute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WINDOW_S: Final = 60.0
"""Shorter bursts use what the node has idle; they are not worth a request."""
LONGEST_WINDOW_S: Final = 2 * WINDOW_S
"""Over a longer window there were no readings: it shows no pace."""


@dataclass(frozen=True, slots=True)
class Pace:
    """CPU used since a window began. Windows follow each other; the last one may stay open.

    since_s: when it began, by the monotonic clock: the wall clock may be set within a window, which
        would then be longer than it seems. A later boot counts anew; None before the first reading.
    since_cpu_s: CPU seconds used by then.
    peak_cores: of the busiest window that was closed; None before the first.
    """

    since_s: float | None = None
    since_cpu_s: float = 0.0
    peak_cores: float | None = None

    def advance(self, at_s: float, cpu_s: float) -> Pace:
        """After one more reading of the CPU seconds used so far."""
        if self.since_s is None or cpu_s < self.since_cpu_s:
            return Pace(at_s, cpu_s, self.peak_cores)  # new, or made again
        elapsed_s = at_s - self.since_s
        if 0 <= elapsed_s < WINDOW_S:
            return self
        if not 0 < elapsed_s <= LONGEST_WINDOW_S:
            return Pace(at_s, cpu_s, self.peak_cores)
        cores = (cpu_s - self.since_cpu_s) / elapsed_s
        return Pace(at_s, cpu_s, max(self.peak_cores or 0.0, cores))
