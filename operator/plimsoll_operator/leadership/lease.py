"""Decides when a Lease may be taken. Pure, and without a wall clock.

A candidate trusts no time that another machine wrote: it waits until a Lease has stayed the same
for its full duration by the candidate's own clock. The holder stops well before that
(``patience_s``), so that two never act at once, however far their clocks are apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from plimsoll_operator.names import labels

LONGEST_S: Final = 300.0
"""A Lease that says it lasts longer is believed no longer than this."""
RENEWALS: Final = 5
"""How often a Lease is renewed within its duration."""
PATIENCE: Final = 2 / 3
"""Part of its duration after which a holder that could not renew stops."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A Lease from the API server.

    holder: None if nobody holds it. duration_s: how long a holder may be silent.
    transitions: how often the holder changed. version: differs for each write.
    store_reached_by: the candidate that reaches the store, empty until one has said so; None unless
        the holder does not reach it.
    """

    holder: str | None
    duration_s: float
    transitions: int
    version: str
    store_reached_by: str | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A version of the Lease, and the time by our clock since when there was no other."""

    lease: Lease
    since_s: float

    @property
    def free_at_s(self) -> float:
        """When it may be taken if nothing changes, by our clock."""
        return self.since_s + (self.lease.duration_s if self.lease.holder else 0.0)


def sighted(before: Sighting | None, lease: Lease, now_s: float) -> Sighting:
    """Return the sighting after this look at the Lease."""
    if before is not None and before.lease.version == lease.version:
        return before
    return Sighting(lease, now_s)


def may_hold(sighting: Sighting | None, me: str, now_s: float) -> bool:
    """Say whether ``me`` may create, take or renew the Lease that it has just looked at.

    A process may renew what ``me`` holds even if it has just started: names are pods' names, and a
    restarted container is the only one of its pod.
    """
    return sighting is None or sighting.lease.holder == me or now_s >= sighting.free_at_s


def read_lease(document: Mapping[str, Any]) -> Lease:
    """Read a Lease from the API's JSON, whatever people wrote into it by hand."""
    spec = document.get("spec") or {}
    holder, duration = spec.get("holderIdentity"), spec.get("leaseDurationSeconds")
    transitions = spec.get("leaseTransitions")
    annotations = document["metadata"].get("annotations") or {}
    return Lease(
        holder=holder if isinstance(holder, str) and holder else None,
        duration_s=min(float(duration), LONGEST_S) if isinstance(duration, int) else LONGEST_S,
        transitions=transitions if isinstance(transitions, int) else 0,
        version=str(document["metadata"]["resourceVersion"]),
        store_reached_by=annotations.get(labels.STORE_REACHED_BY),
    )


def held_spec(before: Lease | None, me: str, lease_s: float, now: datetime) -> dict[str, Any]:
    """The spec that ``me`` writes, to take it or to renew it.

    now: for people who read the Lease; it decides nothing. In UTC.
    """
    mine = before is not None and before.holder == me
    transitions = 0 if before is None else before.transitions + (not mine)
    spec = _spec(me, max(1, round(lease_s)), transitions, now)
    return spec if mine else {**spec, "acquireTime": spec["renewTime"]}


def free_spec(before: Lease, now: datetime) -> dict[str, Any]:
    """The spec that its holder writes when it ends: the next one need not wait."""
    return _spec("", 1, before.transitions, now)


def _spec(holder: str, duration_s: int, transitions: int, now: datetime) -> dict[str, Any]:
    return {
        "holderIdentity": holder,
        "leaseDurationSeconds": duration_s,
        "leaseTransitions": transitions,
        "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
