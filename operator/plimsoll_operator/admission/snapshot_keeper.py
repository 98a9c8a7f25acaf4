"""Keeps the snapshot on disk up to date. The event loop never waits for the disk."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.admission.snapshot import (
    SnapshotError,
    load_snapshot,
    take_snapshot,
    write_snapshot,
)
from plimsoll_operator.feed.client import FeedClient
from plimsoll_operator.sizing.state import AdmissionState

log = structlog.get_logger()

SHARE_OF_TIME: Final = 0.05
"""Writing takes at most this share of the time: many models are a large file."""
OLD_S: Final = 24 * 3600.0
"""A copy older than this is worth a warning."""


@dataclass(slots=True)
class SnapshotKeeper:
    """Loads the snapshot at the start and writes it after changes. path: None keeps no copy."""

    path: Path | None
    state: AdmissionState
    client: FeedClient
    metrics: AdmissionMetrics
    _written_changes: int = field(default=0, init=False)
    _disk: threading.Lock = field(default_factory=threading.Lock, init=False)
    """A write continues in its thread when its caller is cancelled; the last write waits for it."""

    def load(self, now_s: float) -> bool:
        """Load the file; True if it was loaded.

        A damaged file is logged and put aside; an unreadable one is only logged.
        now_s: Unix seconds; only to warn of an old file, or of a clock that was set back.
        """
        if self.path is None:
            return False
        try:
            loaded = load_snapshot(self.path, self.state)
        except SnapshotError as error:
            self.metrics.snapshot_errors.inc()
            log.error("snapshot-refused", error=str(error))
            return False
        if loaded is None:
            return False
        for words in loaded.bad_entries:
            log.warning("snapshot-entry-ignored", error=words)
        self.client.position = loaded.position
        age_s = now_s - loaded.saved_s
        report, event = log.info, "snapshot-loaded"
        if age_s > OLD_S:
            report, event = log.warning, "snapshot-is-old"
        elif age_s < 0:
            report, event = log.warning, "snapshot-is-from-the-future"
        report(event, tasks=len(self.state.tasks), age_s=round(age_s))
        return True

    async def keep(self, every_s: float) -> None:
        """Write after changes, at most every ``every_s``, until cancelled."""
        pause_s = every_s
        while True:
            await asyncio.sleep(pause_s)
            began_s = time.monotonic()
            await self.save_now()
            pause_s = max(every_s, (time.monotonic() - began_s) / SHARE_OF_TIME)

    async def save_now(self) -> None:
        """Write if anything changed since the last time; a failure is counted and logged."""
        changes = self.client.changes
        if self.path is None or changes == self._written_changes or not self.client.settled:
            return
        snapshot = take_snapshot(self.state, self.client.position, time.time())
        try:
            await asyncio.to_thread(self._write, self.path, snapshot)
        except SnapshotError as error:
            self.metrics.snapshot_errors.inc()
            log.warning("snapshot-not-written", error=str(error))
            return
        self._written_changes = changes

    def _write(self, path: Path, lines: Iterable[bytes]) -> None:
        with self._disk:
            write_snapshot(path, lines)
