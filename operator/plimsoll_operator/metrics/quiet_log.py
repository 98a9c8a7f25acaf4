"""A log of errors in requests; requests cannot flood it, and it leaves out their secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import structlog

log = structlog.get_logger()

INTERVAL_S: Final = 10.0
MAX_SUBJECTS: Final = 100


class QuietLog:
    """A log that a storm of bad requests cannot flood.

    It writes at most one warning per subject in ``INTERVAL_S``, and counts the others.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._last_s: dict[str, float] = {}
        self._held_back: dict[str, int] = {}

    def warning(self, event: str, subject: str, **fields: Any) -> None:
        """Log ``event``, unless the same event and subject were logged just before."""
        key = f"{event}/{subject}"
        now_s = self._monotonic()
        last_s = self._last_s.get(key)
        if last_s is not None and now_s - last_s < INTERVAL_S:
            self._held_back[key] = self._held_back.get(key, 0) + 1
            return
        if len(self._last_s) >= MAX_SUBJECTS:
            self._last_s.clear()
        self._last_s[key] = now_s
        log.warning(event, subject=subject, held_back=self._held_back.pop(key, 0), **fields)


def place_of(error: BaseException) -> str:
    """An error's class and line, without its text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}" if trace else "?"
    return f"{type(error).__name__} in {place}"
