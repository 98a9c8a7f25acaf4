"""A sizer that sees the peaks of elastic tasks: they grow with an attempt's allocation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from plimsoll_predictor.replay.sizes.rows import Submitted, TraceRow
from plimsoll_predictor.replay.sizes.sizer import RunningAttempt, SeesRunning, Sizer


def shown_to(sizer: Sizer, shown: Mapping[int, float]) -> Sizer:
    """The same sizer if no run is elastic; else one that sees their peaks."""
    return ShownPeaks(sizer, shown) if shown else sizer


class ShownPeaks:
    """Passes everything on to a sizer, with the peaks that would have been measured.

    The replay charges by the need, which is the least memory that a run works in. The measured peak
    of an elastic task is a share of its allocation, if that is more.

    shown: line -> that share; runs of other lines show their need.
    """

    def __init__(self, sizer: Sizer, shown: Mapping[int, float]) -> None:
        self._sizer, self._shown = sizer, shown

    def decide(self, asked: Submitted, now_s: float, /) -> int:
        """The sizer's answer."""
        return self._sizer.decide(asked, now_s)

    def lift(self, asked: Submitted, failed_bytes: int, attempt: int, now_s: float, /) -> int:
        """The sizer's answer."""
        return self._sizer.lift(asked, failed_bytes, attempt, now_s)

    def failed(
        self, asked: Submitted, allocation_bytes: int, attempt: int, now_s: float, /
    ) -> None:
        """Pass it on."""
        self._sizer.failed(asked, allocation_bytes, attempt, now_s)

    def see_running(self, task: str, running: Sequence[RunningAttempt], /) -> None:
        """Pass it on to a sizer that wants it."""
        if isinstance(self._sizer, SeesRunning):
            self._sizer.see_running(task, running)

    def completed(self, row: TraceRow, allocation_bytes: int, now_s: float, /) -> None:
        """Pass it on with the peak that would have been measured."""
        share = self._shown.get(row.line)
        if share is not None:
            seen_bytes = max(row.peak_bytes, int(share * allocation_bytes))
            row = replace(row, peak_bytes=seen_bytes)
        self._sizer.completed(row, allocation_bytes, now_s)
