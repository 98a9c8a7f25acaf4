"""One finished run, as placing learns from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MOST_LOG_SLOWDOWN: Final = 3.0
"""A run twenty times as long, or as short, has other causes than neighbours."""
MOST_BESIDE: Final = 64.0
"""More neighbours of one kind teach no more; the bound limits what one run can do."""


@dataclass(frozen=True, slots=True)
class Encounter:
    """What a run ran beside, and how much longer it took than it would have taken alone.

    beside: neighbours' kind -> how many of it were there on average, weighted by time.
    log_slowdown: ln (its runtime ÷ its runtime alone, as it was forecast).
    """

    kind: str
    beside: Mapping[str, float]
    log_slowdown: float

    def __post_init__(self) -> None:
        """Raise ValueError on impossible values: they would spoil what all other runs taught."""
        if not math.isfinite(self.log_slowdown):
            message = f"a run of {self.kind!r} has no finite slowdown: {self.log_slowdown!r}"
            raise ValueError(message)
        for kind, count in self.beside.items():
            if not 0 <= count < math.inf:
                message = f"a run of {self.kind!r} ran beside {count!r} of {kind!r}"
                raise ValueError(message)

    @property
    def bounded_log_slowdown(self) -> float:
        """The slowdown, cut where neighbours no longer explain it."""
        return max(-MOST_LOG_SLOWDOWN, min(MOST_LOG_SLOWDOWN, self.log_slowdown))
