"""Reports on their way to the controller: each stays until it is acknowledged, within bounds."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_predictor.core.documents import to_document

Key = tuple[str, str | None]
"""Pod UID and container id; None for the pod's own cgroup."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A report and how long it has waited, by a clock that never jumps."""

    report: PeakReport
    age_s: float


@dataclass(frozen=True, slots=True)
class OutboxBounds:
    """What may be held. size_bytes counts the reports as JSON."""

    size_bytes: int
    age_s: float


@dataclass(frozen=True, slots=True)
class _WaitingReport:
    report: PeakReport
    since_s: float
    size_bytes: int


class Outbox:
    """At most one report per cgroup: a later one replaces an earlier one. Thread-safe.

    Over its size it drops reports of what still runs first, which will be reported again, then
    finals, the oldest of each first.
    """

    def __init__(self, bounds: OutboxBounds, monotonic: Callable[[], float]) -> None:
        self._bounds = bounds
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._reports: dict[Key, _WaitingReport] = {}  # oldest first
        self._size_bytes = 0
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def dropped(self) -> int:
        """How many reports the bounds have cost so far."""
        return self._dropped

    def offer(self, reports: Iterable[PeakReport]) -> None:
        """Add newer reports."""
        self.restore(Waiting(report, 0.0) for report in reports)

    def restore(self, waiting: Iterable[Waiting]) -> None:
        """Add reports that have waited before, as after a restart."""
        now_s = self._monotonic()
        with self._lock:
            for each in waiting:
                self._put(each.report, now_s - each.age_s)
            self._drop_old(now_s)
            if self._size_bytes > self._bounds.size_bytes:
                self._drop_over_size()

    def batch(self, most: int) -> list[PeakReport]:
        """The next to send: finals before the others, oldest first."""
        with self._lock:
            reports = [entry.report for entry in self._reports.values()]
        return sorted(reports, key=lambda report: not report.final)[:most]

    def acknowledge(self, reports: Sequence[PeakReport]) -> None:
        """The controller has them, or will never take them. What is newer stays."""
        with self._lock:
            for report in reports:
                key = (report.pod_uid, report.container_id)
                entry = self._reports.get(key)
                if entry is not None and entry.report == report:
                    self._remove(key)

    def waiting(self) -> list[Waiting]:
        """All that is kept, oldest first."""
        now_s = self._monotonic()
        with self._lock:
            return [
                Waiting(entry.report, now_s - entry.since_s) for entry in self._reports.values()
            ]

    def _put(self, report: PeakReport, since_s: float) -> None:
        key = (report.pod_uid, report.container_id)
        if key in self._reports:
            # The first one's place and age stay: a busy cgroup is not kept for ever by its news.
            since_s = min(since_s, self._reports[key].since_s)
            self._size_bytes -= self._reports[key].size_bytes
        size_bytes = len(json.dumps(to_document(report)))
        self._reports[key] = _WaitingReport(report, since_s, size_bytes)
        self._size_bytes += size_bytes

    def _remove(self, key: Key) -> None:
        self._size_bytes -= self._reports.pop(key).size_bytes

    def _drop_old(self, now_s: float) -> None:
        expired = [
            key
            for key, entry in self._reports.items()
            if now_s - entry.since_s > self._bounds.age_s
        ]
        self._drop(expired)

    def _drop_over_size(self) -> None:
        for key in sorted(self._reports, key=lambda key: self._reports[key].report.final):
            if self._size_bytes <= self._bounds.size_bytes:
                return
            self._drop([key])

    def _drop(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._remove(key)
            self._dropped += 1
