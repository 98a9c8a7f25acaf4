"""How a run's memory is assumed to grow: traces have its peak, but not when it was reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Growth:
    """It grows evenly from ``begins`` to ``ends``, both shares of the runtime, begins < ends."""

    name: str
    begins: float
    ends: float

    def reached(self, share: float) -> float:
        """The share of its growth that a run has finished after this share of its runtime."""
        return min(1.0, max(0.0, (share - self.begins) / (self.ends - self.begins)))

    def goes_on(self, share: float) -> bool:
        """Whether a run has begun to grow, and still grows after this share of its runtime."""
        return self.begins < share < self.ends


LINEAR: Final = Growth("linear over half of the runtime", 0.0, 0.5)
LATE: Final = Growth("everything in the last twentieth", 0.95, 1.0)
GROWTHS: Final = (LINEAR, LATE)
