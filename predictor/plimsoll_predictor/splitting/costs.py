"""What an item and a chunk of a task cost in time, fitted to chunks of several sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

MOST_ITEMS: Final = 10**15
"""The most items of a chunk. Bytes are items, too: a petabyte."""
MOST_S: Final = 1e9
"""The longest time of a chunk: thirty years. A longer time is no measurement."""
Z_90: Final = 1.645
USUAL_SPREAD: Final = 1.0
"""The spread of an item's time, in means: assumed while few chunks were measured."""
USUAL_WEIGHT: Final = 2.0
"""How much that assumption weighs, in chunks."""
SURE: Final = 2.0
"""A chunk's own cost is believed if it is this many standard deviations above zero."""
FREE: Final = 1e-6
"""The least time of an item, as a share of the mean time per item: plans must be comparable."""
_ALIKE: Final = 1e-6
"""Sizes that differ by less cannot separate a chunk's cost from an item's."""
_SUMMED: Final = ("count", "inverse", "items", "seconds", "rates", "squares")


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of a chunk of n items: chunk_s + n × item_s, with variance n × spread_s².

    chunk_s: what a worker spends on a chunk whatever its size. spread_s: one standard deviation of
    an item's time. item_error_s, chunk_error_s: one standard deviation of the estimate. chunks: how
    many were measured; old ones count less.
    """

    item_s: float
    chunk_s: float
    spread_s: float
    item_error_s: float
    chunk_error_s: float
    chunks: float

    def mean_s(self, items: float) -> float:
        """Return the expected time of a chunk."""
        return self.chunk_s + items * self.item_s

    def interval_s(self, items: float) -> tuple[float, float]:
        """Return the interval that holds nine of ten chunks of so many items."""
        variance = items * self.spread_s**2 + (items * self.item_error_s) ** 2
        wide = Z_90 * math.sqrt(variance + self.chunk_error_s**2)
        mean = self.mean_s(items)
        return max(0.0, mean - wide), mean + wide


@dataclass(slots=True)
class ChunkSums:
    """The times of finished chunks, in seven numbers however many they are.

    A chunk weighs as the inverse of its size: the variance of its time grows with its items.
    """

    count: float = 0.0
    inverse: float = 0.0
    items: float = 0.0
    seconds: float = 0.0
    rates: float = 0.0
    squares: float = 0.0
    largest: int = 0

    def add(self, items: int, seconds: float) -> None:
        """Add a finished chunk. seconds: of its work, without the wait for the next one.

        Raises:
            ValueError: for impossible values, which would spoil all others.
        """
        if not 0 < items <= MOST_ITEMS:
            raise ValueError(f"a chunk of {items!r} items; it has 1 to {MOST_ITEMS}")
        if not 0 <= seconds <= MOST_S:
            raise ValueError(f"a chunk that took {seconds!r} s; it takes 0 to {MOST_S:g}")
        self.count += 1
        self.inverse += 1 / items
        self.items += items
        self.seconds += seconds
        self.rates += seconds / items
        self.squares += seconds * seconds / items
        self.largest = max(self.largest, items)

    def fade(self, keep: float) -> None:
        """Let all measurements so far count less. keep: the share that stays, 0 to 1."""
        self.count *= keep
        self.inverse *= keep
        self.items *= keep
        self.seconds *= keep
        self.rates *= keep
        self.squares *= keep

    def take(self, other: ChunkSums, share: float = 1.0) -> None:
        """Add another's chunks. share: how much they count; negative to take them away again."""
        for name in _SUMMED:
            total = getattr(self, name) + share * getattr(other, name)
            setattr(self, name, max(0.0, total))
        self.largest = max(self.largest, other.largest)

    def fit(self) -> Costs | None:
        """Fit costs by weighted least squares; None if there is nothing to fit."""
        if not self.items or not self.seconds:
            return None
        return self._fit_both() or self._fit_items()

    def _fit_both(self) -> Costs | None:
        """Return None if a chunk's cost cannot be told from zero."""
        apart = self.inverse * self.items - self.count**2
        if self.count <= 2 or apart < _ALIKE * self.inverse * self.items:
            return None
        item_s = (self.inverse * self.seconds - self.count * self.rates) / apart
        # If all chunks take one time whatever their size, noise alone could make an item's
        # negative.
        item_s = max(item_s, FREE * self.seconds / self.items)
        chunk_s = (self.rates - item_s * self.count) / self.inverse
        variance = self._variance(self._rest(chunk_s, item_s), 2, item_s)
        chunk_error_s = math.sqrt(variance * self.items / apart)
        if chunk_s < SURE * chunk_error_s:
            return None
        item_error_s = math.sqrt(variance * self.inverse / apart)
        spread_s = math.sqrt(variance)
        return Costs(item_s, chunk_s, spread_s, item_error_s, chunk_error_s, self.count)

    def _fit_items(self) -> Costs:
        item_s = self.seconds / self.items
        rest = max(0.0, self.squares - item_s * self.seconds)
        variance = self._variance(rest, 1, item_s)
        error_s = math.sqrt(variance / self.items)
        return Costs(item_s, 0.0, math.sqrt(variance), error_s, 0.0, self.count)

    def _rest(self, chunk_s: float, item_s: float) -> float:
        """Return the squares that these costs leave unexplained, each by its chunk's items."""
        crossed = 2 * chunk_s * item_s * self.count
        own = chunk_s**2 * self.inverse + item_s**2 * self.items
        told = chunk_s * self.rates + item_s * self.seconds
        return max(0.0, self.squares - 2 * told + own + crossed)

    def _variance(self, rest: float, unknowns: int, item_s: float) -> float:
        usual = (USUAL_SPREAD * item_s) ** 2
        freedom = max(0.0, self.count - unknowns)
        return (rest + USUAL_WEIGHT * usual) / (freedom + USUAL_WEIGHT)
