"""Cold runs whose memory grows as a replay assumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.replay.growth import Growth

BASE: Final = 0.05
"""How much every run uses from its start on, as a share of its need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdRun:
    """A run whose task is not known. Bytes and seconds; need_bytes <= asked_bytes."""

    task: str
    asked_bytes: int
    need_bytes: int
    runtime_s: float

    def used_bytes(self, growth: Growth, age_s: float) -> float:
        """Return the memory in use ``age_s`` after its start."""
        return self.need_bytes * (BASE + (1 - BASE) * growth.reached(age_s / self.runtime_s))

    def reaches_s(self, growth: Growth, used_bytes: float) -> float | None:
        """Return the age at which it uses so much; None if it never does."""
        if used_bytes > self.need_bytes:
            return None
        share = max(0.0, (used_bytes / self.need_bytes - BASE) / (1 - BASE))
        return self.runtime_s * (growth.begins + share * (growth.ends - growth.begins))

    def used_byte_s(self, growth: Growth) -> float:
        """Return the integral of its memory in use over its runtime, in byte-seconds."""
        grows_s = self.runtime_s * (growth.ends - growth.begins)
        before_s = self.runtime_s * growth.begins
        after_s = self.runtime_s - before_s - grows_s
        mean = BASE * before_s + (1 + BASE) / 2 * grows_s + after_s
        return self.need_bytes * mean
