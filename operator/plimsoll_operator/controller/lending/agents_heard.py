"""Remembers when each node's agent was last heard, so that a silent one is noticed."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

SILENT_AT_START_S: Final = 15.0
"""Three beats of an agent."""
NODES_KEPT: Final = 20_000
"""Names come from agents; the node heard longest ago is forgotten first."""


class AgentsHeard:
    """By node, in seconds of a clock that never jumps."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self.now_s = monotonic_s
        self._began_s = monotonic_s()
        self._heard_s: OrderedDict[str, float] = OrderedDict()

    def hear(self, node: str) -> None:
        """Note that a node's agent has just sent something, even if only that it lives."""
        self._heard_s[node] = self.now_s()
        self._heard_s.move_to_end(node)
        if len(self._heard_s) > NODES_KEPT:
            self._heard_s.popitem(last=False)

    @property
    def silent_s(self) -> float:
        """How long no agent was heard.

        A controller that has just started assumes that no agent lives until one reports.
        """
        if not self._heard_s:
            return SILENT_AT_START_S + self.now_s() - self._began_s
        return self.now_s() - self._heard_s[next(reversed(self._heard_s))]

    def heard_s(self, node: str) -> float:
        """Return when it was last heard; the controller's start if it never was."""
        return self._heard_s.get(node, self._began_s)
