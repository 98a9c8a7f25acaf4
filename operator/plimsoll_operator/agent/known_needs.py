"""What the controller knows about the needs of pods' tasks, so that only what exceeds it is sent.

Also which pods it may rescue, so that others are not watched.

The controller says both in its answer to a batch. An older one says nothing; then all is sent.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Final

from plimsoll_operator.attempts.peaks import Answered, PeakReport

NEAR_LIMIT: Final = 0.85
"""From this share of its limit on, a need is sent even if it is known: the controller uses it to
judge an unexplained end (``truth_table.NEAR_LIMIT``) before the final report has come."""


AN_EARLIER: Final = "?"
"""Stands for the controller that an earlier agent has reported to; no controller has this name."""


class KnownNeeds:
    """By pod. The sender's thread learns, the sampling thread asks."""

    def __init__(self, controller: str = "") -> None:
        """controller: to which the present maxima were reported; empty if to none."""
        self._lock = threading.Lock()
        self._bytes: dict[str, int] = {}
        self._rescuable: set[str] = set()
        self._controller = controller
        self._renewed = 0

    @property
    def renewed(self) -> int:
        """How many times another controller has answered, which knew nothing yet."""
        return self._renewed

    @property
    def rescuable(self) -> frozenset[str]:
        """The pods that the controller may rescue before they reach their limit."""
        with self._lock:
            return frozenset(self._rescuable)

    def learn(self, answered: Answered) -> None:
        """Take in an answer."""
        with self._lock:
            if answered.controller != self._controller:
                self._renewed += bool(self._controller)
                self._controller = answered.controller
                self._bytes.clear()
                self._rescuable.clear()
            self._bytes.update(answered.known_bytes)
            self._rescuable.update(answered.rescuable)

    def keep_only(self, pod_uids: Collection[str]) -> None:
        """Forget all other pods."""
        with self._lock:
            for uid in self._bytes.keys() - pod_uids:
                del self._bytes[uid]
            self._rescuable.intersection_update(pod_uids)

    def is_news(self, report: PeakReport) -> bool:
        """Say whether running maxima contain anything that the controller does not know."""
        known_bytes = self._bytes.get(report.pod_uid)
        if known_bytes is None or report.need_peak_bytes > known_bytes:
            return True
        limit_bytes = report.limit_bytes
        return limit_bytes is not None and report.need_peak_bytes >= NEAR_LIMIT * limit_bytes
