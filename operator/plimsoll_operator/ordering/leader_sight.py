"""Says from a Lease, as somebody who does not lead looks at it, whether anybody leads. Pure.

Clocks of other machines are believed for one thing only: who has just begun to look takes a Lease
that was last renewed long ago for an abandoned one. The worst that a wrong clock does is that pods
start without an order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.pods.spec import mapping
from plimsoll_operator.pods.status import read_time

AWAY_S: Final = 30.0
"""When nobody has renewed the Lease for so long, all gates are removed. By default it is renewed
every 2 s, and another controller takes it over after 10 s."""
LEADS_S: Final = 15.0
"""When nobody has renewed it for so long, no new gate is made."""


@dataclass(frozen=True, slots=True)
class LeaderSight:
    """What was seen of the Lease.

    version: of the Lease; None if there is none. held: whether anybody holds it. since_s: when this
    version was first seen, on a clock that cannot jump. before_s: how long it had stood by then, as
    far as its holder's clock says so.
    """

    version: str | None
    held: bool
    since_s: float
    before_s: float = 0.0

    def silent_s(self, now_s: float) -> float:
        """Return for how long nobody has changed it."""
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

    lease: None if there is none. server_s: Unix seconds by the API server's clock, if it told.
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
