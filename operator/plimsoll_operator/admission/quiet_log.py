"""A log that a storm of bad requests cannot flood: one record per subject and interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import structlog

log = structlog.get_logger()

INTERVAL_S: Final = 10.0
MAX_SUBJECTS: Final = 100


class QuietLog:
    """Warnings, at most one per subject in ``interval_s``; what was held back is counted."""

    def __init__(self, monotonic: Callable[[], float], interval_s: float = INTERVAL_S) -> None:
        self._monotonic = monotonic
        self._interval_s = interval_s
        self._last_s: dict[str, float] = {}
        self._held_back: dict[str, int] = {}

    def warning(self, event: str, subject: str, **fields: Any) -> None:
        """Log ``event``, unless the same event and subject were logged just before."""
        key = f"{event}/{subject}"
        now_s = self._monotonic()
        last_s = self._last_s.get(key)
        if last_s is not None and now_s - last_s < self._interval_s:
            self._held_back[key] = self._held_back.get(key, 0) + 1
            return
        if len(self._last_s) >= MAX_SUBJECTS:
            self._last_s.clear()
        self._last_s[key] = now_s
        log.warning(event, subject=subject, held_back=self._held_back.pop(key, 0), **fields)
