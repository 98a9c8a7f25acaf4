"""Decides when a Lease may be taken. Pure, and without a wall clock.

Whoever stands by trusts no time that another machine wrote: it waits until a Lease has stayed the
same for its whole duration by its own clock. The holder stops well before that (``patience_s``),
so that two never act at once, however far their clocks are apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final

LONGEST_S: Final = 300.0
"""A Lease that says it lasts longer is believed no longer than this."""
RENEWALS: Final = 5
"""How often a Lease is renewed within its duration."""
PATIENCE: Final = 2 / 3
"""Part of its duration after which a holder that could not renew stops."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A Lease as the API server has it.

    holder: None if nobody holds it. duration_s: how long a holder may be silent.
    transitions: how often the holder changed. version: differs for each write.
    """

    holder: str | None
    duration_s: float
    transitions: int
    version: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """A version of the Lease, and since when we have seen no other, by our clock."""

    lease: Lease
    since_s: float

    @property
    def free_at_s(self) -> float:
        """When it may be taken if nothing changes, by our clock."""
        return self.since_s + (self.lease.duration_s if self.lease.holder else 0.0)


class Step(Enum):
    """A candidate's next action."""

    CREATE = "create"
    TAKE = "take"
    RENEW = "renew"
    WAIT = "wait"


def sighted(before: Sighting | None, lease: Lease | None, now_s: float) -> Sighting | None:
    """Return the sighting after this look at the Lease; None if there is no Lease."""
    if lease is None:
        return None
    if before is not None and before.lease.version == lease.version:
        return before
    return Sighting(lease, now_s)


def next_step(sighting: Sighting | None, me: str, now_s: float) -> Step:
    """Decide what ``me`` does about the Lease that it has just looked at.

    One that ``me`` holds is renewed even by a process that has only begun: names are pods' names,
    and a pod's container that runs again is its only one.
    """
    if sighting is None:
        return Step.CREATE
    if sighting.lease.holder == me:
        return Step.RENEW
    return Step.TAKE if now_s >= sighting.free_at_s else Step.WAIT


def read_lease(document: Mapping[str, Any]) -> Lease:
    """Read a Lease from the API's JSON, whatever people wrote into it by hand."""
    spec = document.get("spec") or {}
    holder, duration = spec.get("holderIdentity"), spec.get("leaseDurationSeconds")
    transitions = spec.get("leaseTransitions")
    return Lease(
        holder=holder if isinstance(holder, str) and holder else None,
        duration_s=min(float(duration), LONGEST_S) if isinstance(duration, int) else LONGEST_S,
        transitions=transitions if isinstance(transitions, int) else 0,
        version=str(document["metadata"]["resourceVersion"]),
    )


def held_spec(before: Lease | None, me: str, lease_s: float, now: datetime) -> dict[str, Any]:
    """The spec that ``me`` writes, to take it or to renew it.

    now: for people who read the Lease; nobody decides by it. In UTC.
    """
    stamp = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    mine = before is not None and before.holder == me
    transitions = 0 if before is None else before.transitions + (not mine)
    return {
        "holderIdentity": me,
        "leaseDurationSeconds": max(1, round(lease_s)),
        "leaseTransitions": transitions,
        "renewTime": stamp,
        **({} if mine else {"acquireTime": stamp}),
    }


def free_spec(before: Lease, now: datetime) -> dict[str, Any]:
    """The spec that its holder writes when it ends: the next one need not wait."""
    stamp = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "leaseTransitions": before.transitions,
        "renewTime": stamp,
    }
