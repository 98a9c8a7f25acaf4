"""Says from a Lease whether anybody leads; for a process that does not lead. Pure.

Clocks of other machines are trusted for one thing only: a process that has just begun to look takes
a Lease that was last renewed long ago as abandoned. At worst, a wrong clock makes pods start
without an order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.pods.spec import mapping
from plimsoll_operator.pods.status import read_time

AWAY_S: Final = 30.0
"""If nobody has renewed the Lease for this time, all gates are removed. By default it is renewed
every 2 s, and another controller takes it over after 10 s."""
LEADS_S: Final = 15.0
"""If nobody has renewed it for this time, no new gate is made."""


@dataclass(frozen=True, slots=True)
class LeaderSight:
    """What was seen of the Lease.

    version: of the Lease; None if there is none. held: whether anybody holds it. since_s: when this
    version was first seen, on a clock that cannot jump. before_s: its age at that time, by its
    holder's clock.
    """

    version: str | None
    held: bool
    since_s: float
    before_s: float = 0.0

    def silent_s(self, now_s: float) -> float:
        """Return how long nobody has changed it."""
        return now_s - self.since_s + self.before_s

    def leads(self, now_s: float) -> bool:
        """Say whether somebody leads."""
        return self.held and self.silent_s(now_s) < LEADS_S

    def is_away(self, now_s: float) -> bool:
        """Say whether nobody has led for AWAY_S."""
        return self.silent_s(now_s) >= AWAY_S


def look(
    before: LeaderSight | None,
    lease: Mapping[str, Any] | None,
    now_s: float,
    server_s: float | None,
) -> LeaderSight:
    """Return the sight after a look at the Lease.

    lease: None if there is none. server_s: Unix seconds by the API server's clock, if known.
    """
    version = None if lease is None else str(mapping(lease.get("metadata")).get("resourceVersion"))
    spec = mapping((lease or {}).get("spec"))
    held = bool(spec.get("holderIdentity"))
    if before is not None:
        if before.version == version:
            return before
        return LeaderSight(version, held, now_s)
    renewed_s = read_time(spec.get("renewTime"))
    if renewed_s is None or server_s is None:
        return LeaderSight(version, held, now_s)
    return LeaderSight(version, held, now_s, max(0.0, server_s - renewed_s))
