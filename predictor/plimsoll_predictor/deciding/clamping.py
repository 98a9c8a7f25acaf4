"""Keeps an allocation above what is too small to start and below what may not be asked for."""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.units import MIB, words_for_bytes


@dataclass(frozen=True, slots=True)
class Clamped:
    """An allocation within bounds. note: how it was changed, for people; empty if it was not."""

    allocation_bytes: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Range:
    """Policy and cluster together: no allocation is outside.

    cap_bytes: None if nothing caps. cap_words: whose cap it is.
    """

    floor_bytes: int
    cap_bytes: int | None
    cap_words: str

    @classmethod
    def of(cls, policy: Policy, bounds: Bounds) -> Range:
        """The tighter of both on either side."""
        floor_bytes = max(policy.min_bytes, bounds.floor_bytes or 0)
        caps = [(policy.max_bytes, "the policy's maximum"), (bounds.cap_bytes, "the cluster's cap")]
        set_caps = [(cap_bytes, words) for cap_bytes, words in caps if cap_bytes is not None]
        if not set_caps:
            return cls(floor_bytes, None, "")
        cap_bytes, words = min(set_caps)
        return cls(floor_bytes, cap_bytes, f"{words} of {words_for_bytes(cap_bytes)}")

    def exceeded_by(self, size_bytes: int) -> bool:
        """Whether a size is above the cap."""
        return self.cap_bytes is not None and size_bytes > self.cap_bytes

    def clamp(self, size_bytes: float) -> Clamped:
        """Round up to whole MiB, raise to the floor, cut to the cap; the cap wins over all."""
        # Rounded to bytes first: 1.1 x 100 MiB is a hair above 110 in floating point.
        return self.admit(-(-round(size_bytes) // MIB) * MIB)

    def admit(self, size_bytes: int) -> Clamped:
        """As ``clamp``, to the byte: a user's request stays as it is where it is allowed."""
        raised = max(size_bytes, self.floor_bytes)
        if self.cap_bytes is not None and raised > self.cap_bytes:
            return Clamped(self.cap_bytes, f"cut to {self.cap_words}")
        if raised > size_bytes:
            return Clamped(raised, f"raised to the minimum of {words_for_bytes(raised)}")
        return Clamped(raised)
