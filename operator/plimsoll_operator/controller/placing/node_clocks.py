"""Finds nodes whose clock is behind: all that happens there seems to be seen late."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final

STARTS_KEPT: Final = 8
"""A clock may be set right at any time, so only the newest starts count."""
LEAST_STARTS: Final = 3
"""One start may be seen late by chance."""
NODES_KEPT: Final = 5_000


class NodeClocks:
    """How late the newest starts on each node were seen, by the node's own clock."""

    def __init__(self) -> None:
        self._late_s: OrderedDict[str, deque[float]] = OrderedDict()
        """Nodes without a start for the longest time come first."""

    def started(self, node: str, late_s: float) -> None:
        """Note that a start was seen ``late_s`` after the time that the node gave for it."""
        self._late_s.setdefault(node, deque(maxlen=STARTS_KEPT)).append(late_s)
        self._late_s.move_to_end(node)
        if len(self._late_s) > NODES_KEPT:
            self._late_s.popitem(last=False)

    def behind_s(self, node: str) -> float:
        """Return by how much a node's clock is behind at most; 0 until some starts were seen.

        Of all starts, the one that was seen soonest tells it best.
        """
        late_s = self._late_s.get(node, ())
        return max(0.0, min(late_s)) if len(late_s) >= LEAST_STARTS else 0.0
