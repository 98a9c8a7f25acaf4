"""Decides, for one node, which attempts lend and which take back what they lent.

A lender keeps the largest need that its flat curve forecasts. So all forecasts fit the node
together, whatever fills the lent room, because requests always do. The node's bound is for
forecasts that are wrong together. No limit changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.lending.curves import Curve

KEPT: Final = 1.5
KEPT_BYTES: Final = 32 * MIB
KEPT_SHARE: Final = 0.25
"""A lender keeps its largest forecast need: so many times what it used, and these bytes, or this
share of its request if that is more. An attempt that uses almost nothing may not have begun."""
BACK: Final = 1.2
BACK_BYTES: Final = 16 * MIB
"""A lender takes back when its use, with this room, exceeds what it holds. So it has the room for
the second or two that the resize takes."""
LEAST_SHARE: Final = 0.1
LEAST_BYTES: Final = 64 * MIB
"""Less than this is not worth lending."""
NODE_SHARE: Final = 0.5
"""All lenders of a node together lend at most this share of what the node may allocate."""


class Why(StrEnum):
    """Why an attempt takes back what it lent."""

    GREW = "grew"
    """It uses more than its curve forecast."""
    SIBLING = "sibling"
    """Another lender of its task grew, so it may, too."""
    SILENT = "silent"
    """Nothing is heard from the node's agent, or the agent does not report this attempt."""
    PRESSURE = "pressure"
    """The node is short of memory."""
    NOT_ALLOWED = "not_allowed"
    """A policy, a pause or a quota forbids it by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A running attempt of the node, in bytes.

    asked_bytes: its request as it was placed. held_bytes: its request now.
    curve: None if no agent has reported it yet. seen_s: since when the report is awaited.
    why_not: why it may not lend, in words; None if it may. may_hold: whether it may stay a lender.
    siblings_bytes: the most that an attempt of its task was seen to use.
    """

    uid: str
    task: str
    asked_bytes: int
    held_bytes: int
    curve: Curve | None
    seen_s: float
    why_not: str | None
    may_hold: bool
    siblings_bytes: int = 0

    @property
    def lent_bytes(self) -> int:
        """What it lends now."""
        return max(0, self.asked_bytes - self.held_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRoom:
    """A node. allocatable_bytes: None if nobody says. heard_s: when its agent was last heard.

    pressed: it is short of memory. waiting: an attempt waits there for what it has taken back.
    """

    allocatable_bytes: int | None
    heard_s: float
    pressed: bool = False
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class Patience:
    """flat_s: how long a curve is flat before it lends. silent_s: how long agents may be silent."""

    flat_s: float = 60.0
    silent_s: float = 15.0


@dataclass(frozen=True, slots=True)
class Lend:
    """Lower the attempt's request to ``held_bytes``."""

    uid: str
    held_bytes: int


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Raise the attempt's request to what it was."""

    uid: str
    why: Why


Step = Lend | TakeBack


def decide(
    node: NodeRoom,
    attempts: Sequence[Attempt],
    unsteady: Collection[str],
    now_s: float,
    patience: Patience,
) -> list[Step]:
    """Return the steps of one node; those that take back come first.

    unsteady: tasks with a lender that has grown; they lend no more. now_s: by the clock of all
        other times here.
    """
    backs = {each.uid: why for each in attempts if (why := _back(node, each, now_s, patience))}
    grown = {each.task for each in attempts if backs.get(each.uid) is Why.GREW} | set(unsteady)
    for each in attempts:
        if each.lent_bytes and each.task in grown:
            backs.setdefault(each.uid, Why.SIBLING)
    steps: list[Step] = [TakeBack(uid, why) for uid, why in backs.items()]
    if backs or node.pressed or node.waiting or node.allocatable_bytes is None:
        return steps
    if now_s - node.heard_s > patience.silent_s:
        return steps
    lent_bytes = sum(each.lent_bytes for each in attempts)
    room_bytes = int(NODE_SHARE * node.allocatable_bytes) - lent_bytes
    ready = [each for each in attempts if each.task not in grown]
    return [*steps, *_lends(ready, room_bytes, now_s, patience)]


def kept_bytes(asked_bytes: int, used_bytes: int, siblings_bytes: int = 0) -> int:
    """Return the largest forecast need of an attempt whose curve is flat."""
    return max(
        int(used_bytes * KEPT) + KEPT_BYTES,
        int(asked_bytes * KEPT_SHARE),
        int(siblings_bytes * BACK) + BACK_BYTES,
    )


def has_grown(used_bytes: int, held_bytes: int) -> bool:
    """Say whether a lender comes near what it holds."""
    return used_bytes * BACK + BACK_BYTES > held_bytes


def _back(node: NodeRoom, attempt: Attempt, now_s: float, patience: Patience) -> Why | None:
    if not attempt.lent_bytes:
        return None
    curve = attempt.curve
    if curve is not None and has_grown(curve.used_bytes, attempt.held_bytes):
        return Why.GREW
    if now_s - node.heard_s > patience.silent_s:
        return Why.SILENT
    if curve is None and now_s - attempt.seen_s > patience.silent_s:
        return Why.SILENT
    if node.pressed:
        return Why.PRESSURE
    return None if attempt.may_hold else Why.NOT_ALLOWED


def _lends(
    attempts: Sequence[Attempt], room_bytes: int, now_s: float, patience: Patience
) -> Iterator[Lend]:
    """Let the attempts with most to lend go first, as long as the node's bound has room."""
    wanted = [(each, kept) for each in attempts if (kept := _kept(each, now_s, patience))]
    wanted.sort(key=lambda pair: (pair[1] - pair[0].asked_bytes, pair[0].uid))
    for attempt, kept in wanted:
        # Where the bound has less room, an attempt lends less.
        held_bytes = max(kept, attempt.asked_bytes - room_bytes)
        if _is_worth(attempt, held_bytes):
            room_bytes -= attempt.asked_bytes - held_bytes
            yield Lend(attempt.uid, held_bytes)


def _kept(attempt: Attempt, now_s: float, patience: Patience) -> int | None:
    curve = attempt.curve
    if attempt.lent_bytes or attempt.why_not is not None or curve is None:
        return None
    if not curve.is_flat(now_s, patience.flat_s):
        return None
    kept = kept_bytes(attempt.asked_bytes, curve.used_bytes, attempt.siblings_bytes)
    return kept if _is_worth(attempt, kept) else None


def _is_worth(attempt: Attempt, held_bytes: int) -> bool:
    lent_bytes = attempt.asked_bytes - held_bytes
    return lent_bytes >= max(LEAST_BYTES, LEAST_SHARE * attempt.asked_bytes)
