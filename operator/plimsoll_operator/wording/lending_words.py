"""Says what running pods lend now, and what was taken back, in one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from plimsoll_predictor.core.units import counted, words_for_bytes
from plimsoll_predictor.lending.node_steps import Why

_WHY: Final = MappingProxyType(
    {
        Why.GREW.value: "used more",
        Why.SIBLING.value: "as a sibling grew",
        Why.SILENT.value: "unmeasured",
        Why.PRESSURE.value: "for lack of memory on the node",
        Why.NOT_ALLOWED.value: "not allowed any more",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LendingNow:
    """What all running pods of a cluster lend.

    attempts, nodes: how many lend now. waiting: attempts that took back more than their node has
    room for yet. taken_back: reason -> attempts, since the leading controller began to lead.
    possible: whether the API server can resize running pods.
    """

    lent_bytes: int = 0
    attempts: int = 0
    nodes: int = 0
    waiting: int = 0
    taken_back: Mapping[str, int] = field(default_factory=dict)
    possible: bool = True

    @property
    def words(self) -> str:
        """Return one sentence without its full stop."""
        if not self.possible:
            return "a policy lets pods lend, but the API server cannot resize running pods"
        parts = [_lent(self), _taken_back(self.taken_back)]
        if self.waiting:
            parts.append(f"{counted(self.waiting, 'attempt')} waiting for room to take back")
        return "; ".join(parts)


def _lent(now: LendingNow) -> str:
    if not now.attempts:
        return "nothing is lent now"
    lend = "lends" if now.attempts == 1 else "lend"
    where = f"{counted(now.attempts, 'attempt')} on {counted(now.nodes, 'node')}"
    return f"{where} {lend} {words_for_bytes(now.lent_bytes)} now"


def _taken_back(reasons: Mapping[str, int]) -> str:
    counts = {reason: count for reason, count in reasons.items() if count > 0}
    if not counts:
        return "none took back what it had lent"
    most_first = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    named = ", ".join(f"{count} {_WHY.get(reason, reason)}" for reason, count in most_first)
    total = sum(counts.values())
    had = "it had" if total == 1 else "they had"
    return f"{counted(total, 'attempt')} took back what {had} lent ({named})"
