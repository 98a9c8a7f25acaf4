"""Decides whether a running attempt that nears its limit gets more, and how much.

A raise costs the added memory for as long as the attempt goes on; a kill costs all its work so far,
and the attempt after it. So a raise may be worth it without being sure. But it must not take memory
that others count on, and it must not feed a leak.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.rescue.growth import Outlook, Point
from plimsoll_predictor.rescue.leaks import is_leak

LEAST_PROBABILITY: Final = 0.2
"""The least probability that it needs more than it has. A raise adds about a fifth of an attempt's
memory, and a kill costs the attempt: even odds of one to five are worth it."""
STEP: Final = 1.2
"""A raise is by this factor, unless the past or the pace asks for more."""
OVER_USED: Final = 1.3
"""A raise gives at most this many times what is used already, unless its pace would be faster than
the next raise. The use so far is a lower bound of the need."""
OVER_STEP: Final = 2.2
"""A raise has room for two more steps as high as the latest, and a tenth."""
OVER_PAST: Final = 1.06
"""The room over the need of similar runs."""
LASTS_S: Final = 4.0
"""How long a raise lasts after it is enforced, at the attempt's pace. A kubelet carries out the
first raise of a pod within 50 ms, and one that follows soon up to 1.4 s later: one large raise is
safer than several small ones."""
AHEAD_S: Final = 0.3
"""Agents repeat an alarm after this time."""
KEPT: Final = 1.2
KEPT_BYTES: Final = 8 * MIB
"""An attempt that stopped growing keeps its largest need times KEPT, plus these bytes; more if its
next step would not fit, or if it may still come to need what similar runs needed."""
WORTH_BACK: Final = 0.95
"""If it would keep more than this share of its limit, taking memory back is not worth a call."""
EDGE: Final = 0.98
"""The kernel kills a little below a limit."""
LEAST_RAISE: Final = 1.04
"""A smaller raise is not worth a call."""
MOST_RAISES: Final = 40
MOST_OVER_FIRST: Final = 3.0
"""One attempt gets at most this many times its first size, or what its task is known to need."""
NODE_SHARE: Final = 0.25
"""All that rescues have added on one node is at most this share of what the node may allocate."""
NAMESPACE_SHARE: Final = 0.5
"""In one namespace, it is at most this share of the node's share."""


class Why(StrEnum):
    """Why an attempt is left as it is."""

    UNLIKELY = "unlikely"
    """Runs like it stopped before their limit."""
    EARLY = "early"
    """It has time: a raise that is worth a call might be more than it needs."""
    LEAK = "leak"
    """It rises in a line, far over its task's usual size."""
    TOO_OFTEN = "too_often"
    """It has been raised too often, or to too many times its first size."""
    BOUND = "bound"
    """A policy, a LimitRange or a quota allows no more."""
    NODE = "node"
    """Its node has no unused memory left, or no room for more rescues."""
    NAMESPACE = "namespace"
    """Rescues have given its namespace its whole share of the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearing:
    """A running attempt that nears its limit, as its agent sees it.

    used_bytes: what cannot be reclaimed. limit_bytes: what was last asked for, which the kernel
        may not enforce yet.
    react_s: how long a raise takes there, from the message to the kernel's limit.
    shape: its life so far in a few points.
    """

    used_bytes: int
    limit_bytes: int
    outlook: Outlook
    react_s: float
    shape: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPast:
    """What else is known about it.

    needs_bytes: of its task's runs that succeeded, in any order; a few of the newest suffice.
    first_bytes: its limit before the first rescue. raises: how often it was raised so far.
    """

    needs_bytes: Sequence[float]
    first_bytes: int
    raises: int = 0

    @property
    def usual_bytes(self) -> int:
        """The largest need known; 0 if none is."""
        return int(max(self.needs_bytes, default=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What may be added. None if there is no bound.

    most_bytes: the largest limit that policy, LimitRanges and quotas allow.
    free_bytes: what the node may allocate, minus what all its pods use now. allocatable_bytes: of
    the node. on_node_bytes, in_namespace_bytes: what rescues added there.
    """

    most_bytes: int | None
    free_bytes: int | None
    allocatable_bytes: int | None
    on_node_bytes: int
    in_namespace_bytes: int


@dataclass(frozen=True, slots=True)
class Raise:
    """Raise its limit to ``limit_bytes``. probability: that it needs more than it has."""

    limit_bytes: int
    probability: float


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave it as it is."""

    why: Why
    probability: float


def decide(nearing: Nearing, past: PodPast, room: Room) -> Raise | Leave:
    """Decide for one attempt. Nothing is raised above what the room allows."""
    likely = probability(nearing, past.needs_bytes)
    if not _is_due(nearing):
        return Leave(Why.EARLY, likely)
    if likely < LEAST_PROBABILITY:
        return Leave(Why.UNLIKELY, likely)
    if is_leak(nearing.shape, past.usual_bytes):
        return Leave(Why.LEAK, likely)
    wanted = _wanted(nearing, past)
    if not _is_raise(wanted, nearing):
        return Leave(Why.EARLY, likely)
    most = int(max(MOST_OVER_FIRST * past.first_bytes, OVER_PAST * past.usual_bytes))
    wanted = min(wanted, most)
    if past.raises >= MOST_RAISES or not _is_raise(wanted, nearing):
        return Leave(Why.TOO_OFTEN, likely)
    for why, bound in _bounds(nearing, room):
        wanted = min(wanted, bound)
        if not _is_raise(wanted, nearing):
            return Leave(why, likely)
    return Raise(wanted // MIB * MIB, likely)


def kept_bytes(
    need_bytes: int,
    limit_bytes: int,
    first_bytes: int,
    step_bytes: int = 0,
    needs_bytes: Sequence[float] = (),
) -> int | None:
    """Return what a raised attempt that has stopped growing keeps; None if it keeps all.

    need_bytes: the largest need seen. It never has less than before it was raised.
    step_bytes: how high its next step may be; 0 if none is expected.
    needs_bytes: of its task's runs, if it may still come to need as much as they did.
    """
    # A limit that the next step would reach would be raised again at once.
    need = max(KEPT * need_bytes, (need_bytes + step_bytes) / EDGE)
    # Its first size may be no whole number of MiB; so only what it needs is rounded.
    kept = max((int(need) + KEPT_BYTES) // MIB * MIB, first_bytes)
    kept = max(kept, int(_by_past(needs_bytes, kept)) // MIB * MIB)
    return kept if kept <= WORTH_BACK * limit_bytes else None


def probability(nearing: Nearing, needs_bytes: Sequence[float]) -> float:
    """Return the probability that an attempt needs more than its limit.

    Among the task's runs that needed as much as is used now, take the share that needed more than
    the limit; the attempt's own curve counts as one more run. A ramp that has risen for a time T
    goes on for another t with probability T / (T + t). After n steps, another one comes with
    probability n / (n + 1).
    """
    needs = sorted(needs_bytes)
    reached = len(needs) - bisect_left(needs, nearing.used_bytes)
    beyond = len(needs) - bisect_left(needs, nearing.limit_bytes)
    return (beyond + _by_curve(nearing)) / (reached + 1)


def _by_curve(nearing: Nearing) -> float:
    outlook, shape = nearing.outlook, nearing.shape
    to_limit_s = outlook.to_limit_s(nearing.used_bytes, nearing.limit_bytes)
    risen_s = max(shape[-1][0] - shape[0][0], 0.1) if shape else 0.1
    by_ramp = 0.0 if to_limit_s is None else risen_s / (risen_s + to_limit_s)
    steps = outlook.steps
    over = outlook.steps_over(nearing.used_bytes, nearing.limit_bytes)
    return max(by_ramp, steps / (steps + 1) if over else 0.0)


def _wanted(nearing: Nearing, past: PodPast) -> int:
    """Return the limit that would suffice for a while, regardless of the room."""
    used, limit, outlook = nearing.used_bytes, nearing.limit_bytes, nearing.outlook
    fast = used + outlook.growth_bytes_s * (nearing.react_s + LASTS_S)
    wanted = max(STEP * limit, fast)
    if outlook.steps_over(used, limit):
        fast = max(fast, used + outlook.step_bytes * OVER_STEP)
        wanted = max(wanted, fast)
    by_past = _by_past(past.needs_bytes, limit)
    wanted = max(wanted, by_past) if by_past else min(wanted, max(OVER_USED * used, fast))
    return int(wanted)


def _by_past(needs_bytes: Sequence[float], limit_bytes: int) -> float:
    """Return the limit that runs ask for that needed more than this one; 0 if none did."""
    larger = sorted(need for need in needs_bytes if need > limit_bytes)
    # Similar runs needed more, and the middle of these says how much.
    return OVER_PAST * larger[len(larger) // 2] if larger else 0.0


def _is_due(nearing: Nearing) -> bool:
    """Say whether it would reach its limit before a later alarm could be answered."""
    used, limit, outlook = nearing.used_bytes, nearing.limit_bytes, nearing.outlook
    left_s = outlook.to_limit_s(used, int(EDGE * limit))
    return outlook.steps_over(used, limit) or (
        left_s is not None and left_s <= nearing.react_s + 2 * AHEAD_S
    )


def _is_raise(limit_bytes: int, nearing: Nearing) -> bool:
    return limit_bytes >= LEAST_RAISE * nearing.limit_bytes


def _bounds(nearing: Nearing, room: Room) -> list[tuple[Why, int]]:
    """Return the largest limits allowed, each with the reason for it."""
    limit = nearing.limit_bytes
    bounds = []
    if room.most_bytes is not None:
        bounds.append((Why.BOUND, room.most_bytes))
    if room.free_bytes is None or room.allocatable_bytes is None:
        return [*bounds, (Why.NODE, limit)]
    share = int(NODE_SHARE * room.allocatable_bytes)
    # The unused part of its present limit is promised to it.
    unused = max(0, limit - nearing.used_bytes)
    bounds.append((Why.NODE, limit + room.free_bytes - unused))
    bounds.append((Why.NODE, limit + share - room.on_node_bytes))
    in_namespace = int(NAMESPACE_SHARE * share) - room.in_namespace_bytes
    bounds.append((Why.NAMESPACE, limit + in_namespace))
    return bounds
