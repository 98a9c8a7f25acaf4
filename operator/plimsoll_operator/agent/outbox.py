"""Reports on their way to the controller: each stays until it is acknowledged, within bounds."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
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
class _WaitingReport:
    report: PeakReport
    since_s: float
    size_bytes: int


class Outbox:
    """At most one report per cgroup: a later one replaces an earlier one. Thread-safe.

    Over its size it drops reports of living cgroups first, which will be reported again, then
    finals, the oldest of each first.
    """

    def __init__(self, size_bytes: int, age_s: float, monotonic: Callable[[], float]) -> None:
        """size_bytes, age_s: the most that is held; size_bytes counts the reports as JSON."""
        self._most_bytes = size_bytes
        self._most_age_s = age_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._reports: dict[Key, _WaitingReport] = {}  # oldest first
        self._size_bytes = 0
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def dropped(self) -> int:
        """How many reports were dropped to stay within the bounds, or since they were refused."""
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
            for key in self._out_of_bounds(now_s):
                self._remove(key)
                self._dropped += 1

    def batch(self, most: int) -> list[PeakReport]:
        """The next reports to send: finals before the others, oldest first."""
        with self._lock:
            reports = [entry.report for entry in self._reports.values()]
        return sorted(reports, key=lambda report: not report.final)[:most]

    def acknowledge(self, reports: Sequence[PeakReport]) -> None:
        """Remove reports that the controller has. Newer ones stay."""
        with self._lock:
            for report in reports:
                self._settle(report)

    def drop(self, report: PeakReport) -> None:
        """Remove a report that the controller will never take. A newer one stays."""
        with self._lock:
            self._settle(report)
            self._dropped += 1

    def waiting(self) -> list[Waiting]:
        """All reports, oldest first."""
        now_s = self._monotonic()
        with self._lock:
            return [
                Waiting(entry.report, now_s - entry.since_s) for entry in self._reports.values()
            ]

    def _put(self, report: PeakReport, since_s: float) -> None:
        key = (report.pod_uid, report.container_id)
        if key in self._reports:
            # The first report's place and age stay, or a busy cgroup would never grow too old.
            since_s = min(since_s, self._reports[key].since_s)
            self._size_bytes -= self._reports[key].size_bytes
        size_bytes = len(json.dumps(to_document(report)))
        self._reports[key] = _WaitingReport(report, since_s, size_bytes)
        self._size_bytes += size_bytes

    def _settle(self, report: PeakReport) -> None:
        key = (report.pod_uid, report.container_id)
        entry = self._reports.get(key)
        if entry is not None and entry.report == report:
            self._remove(key)

    def _remove(self, key: Key) -> None:
        self._size_bytes -= self._reports.pop(key).size_bytes

    def _out_of_bounds(self, now_s: float) -> Iterator[Key]:
        """Reports to drop one by one: those that are too old, then those over the size."""
        oldest_s = now_s - self._most_age_s
        yield from [key for key, entry in self._reports.items() if entry.since_s < oldest_s]
        if self._size_bytes > self._most_bytes:
            for key in sorted(self._reports, key=lambda key: self._reports[key].report.final):
                if self._size_bytes <= self._most_bytes:
                    return
                yield key
