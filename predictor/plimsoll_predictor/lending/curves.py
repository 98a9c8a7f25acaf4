"""Says how long an attempt's memory has been flat, from the running maxima of its agent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from plimsoll_predictor.core.units import MIB

RISE: Final = 0.05
RISE_BYTES: Final = 4 * MIB
"""A maximum is flat until it has risen by more than this share and this many bytes together.
Agents report finer steps; in a slow rise, no single one of them would count."""
FLAT_SHARE: Final = 0.25
"""A curve that has risen for long has to be flat for longer: this share of the time it rose."""


@dataclass(frozen=True, slots=True)
class Curve:
    """An attempt's running maximum since it was first seen. Times are of one clock, in seconds.

    used_bytes: the maximum by now. level_bytes: the maximum at since_s, when it last rose enough
    for the curve to count as rising.
    """

    first_s: float
    since_s: float
    level_bytes: int
    used_bytes: int

    @classmethod
    def begin(cls, used_bytes: int, now_s: float) -> Curve:
        """Return the curve of an attempt that is seen for the first time."""
        return cls(now_s, now_s, used_bytes, used_bytes)

    def advance(self, used_bytes: int, now_s: float) -> Curve:
        """Return the curve after a newer maximum; it never falls."""
        used_bytes = max(used_bytes, self.used_bytes)
        if used_bytes == self.used_bytes:
            return self
        if used_bytes > self.level_bytes * (1 + RISE) + RISE_BYTES:
            return replace(self, since_s=now_s, level_bytes=used_bytes, used_bytes=used_bytes)
        return replace(self, used_bytes=used_bytes)

    def is_flat(self, now_s: float, least_s: float) -> bool:
        """Say whether it has been flat for ``least_s``, and for a share of the time it rose."""
        rose_s = self.since_s - self.first_s
        return now_s - self.since_s >= max(least_s, FLAT_SHARE * rose_s)
