"""What people asked of a campaign: its order, its budget, and when it may stop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Order(StrEnum):
    """Which scenario runs next."""

    PLAIN = "Plain"
    MOST_TO_LEARN = "MostToLearn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a campaign may use. None: no bound. runs: attempts, including those after a kill."""

    runs: int | None = None
    gb_hours: float | None = None
    hours: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """Ends a campaign if the estimated improvement kept within ``change`` for the last ``runs``."""

    change: float
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What people asked of a campaign, apart from its scenarios.

    reference_bytes: today's request, to which savings are relative. began_s: Unix seconds.
    kept_back: it may begin no run now, so no rule ends it; people may still change the rules.
    """

    parallelism: int
    order: Order
    budget: Budget
    stop: StopRule | None
    max_lifts: int
    start_within_s: float
    reference_bytes: int
    began_s: float
    stopped: bool = False
    kept_back: bool = False

    def while_kept_back(self) -> Rules:
        """Return the rules while it may begin no run, and those that began go on."""
        return replace(self, parallelism=0, kept_back=True)
