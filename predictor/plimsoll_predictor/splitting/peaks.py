"""How much memory a chunk needs: base + slope × items, from the peaks of chunks that finished."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Final

import msgspec

from plimsoll_predictor.splitting.costs import MOST_ITEMS, Z_90

MOST_BYTES: Final = 2**60
USUAL_NOISE: Final = 0.1
"""One standard deviation of a peak, as a share: assumed while few were measured."""
HELD: Final = 5.0
"""Standard deviations that a container has room for: of a million chunks none is killed."""
LEASED: Final = 4.5
"""Standard deviations that a lease leaves room for: fewer, so a fit that moves a little moves no
lease."""
BASE_SHARE: Final = 0.5
"""The share of a peak that does not depend on items: assumed while all chunks had one size."""
_MOST_OFF: Final = 20.0
FURTHEST: Final = 2
"""A line is trusted up to so many times the largest chunk whose peak is known."""
IDLE: Final = 4.0
"""A chunk whose peak is so many times below what is usual did not do its items: it found them done,
say, or was seen only once."""
IDLE_WEIGHT: Final = 0.01
"""How much such a chunk counts. It counts a little, as a program may truly need less from now on:
that is believed once such chunks are some 25 times as many as the others."""
MOST_LIMITS: Final = 8
"""How many limits are kept with a chunk that was killed at each: those of the latest kills."""
FULLY: Final = 0.5
"""While a kill weighs more than this, it counts as it was: for three Jobs."""
FORGOTTEN: Final = 0.1
"""A kill that weighs less, after ten Jobs, bounds only Jobs that try no chunk again. One of its
items may have been to blame."""
_LEAST_WEIGHT: Final = 1e-3
_SUMMED: Final = ("weight", "items", "squares", "inverse", "rates", "count", "high")


def few(chunks: float) -> float:
    """Return how many of so many chunks may differ and say nothing of the others.

    >>> few(5), few(20), few(100), few(500)
    (0.5, 2.0, 3.0, 5.0)
    """
    return min(max(3.0, chunks / 100), chunks / 10)


@dataclass(frozen=True, slots=True)
class KilledChunk:
    """A chunk of so many items whose worker was killed for memory, and in how much memory.

    weight: 1 in the Job of the kill, and less in each later one.
    """

    items: Annotated[int, msgspec.Meta(ge=1, le=MOST_ITEMS)]
    container_bytes: Annotated[int, msgspec.Meta(ge=1, le=MOST_BYTES)]
    weight: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0

    def most_items(self, *, surely: bool = False) -> int:
        """Return how many items a chunk may have in as much memory: half, and more as it fades.

        surely: half of the killed one's, however long ago that was.
        """
        if surely:
            return self.items // 2
        return MOST_ITEMS if self.is_forgotten else int(self._items / 2)

    @property
    def is_forgotten(self) -> bool:
        """Whether it was so long ago that it bounds no chunk that is tried again."""
        return self.weight < FORGOTTEN

    def is_tighter(self, other: KilledChunk) -> bool:
        """Say whether it bounds chunks at least as much as another one in as much memory."""
        return self._items <= other._items

    @property
    def _items(self) -> float:
        return self.items * max(1.0, FULLY / self.weight)


@dataclass(frozen=True, slots=True)
class Peaks:
    """Bytes of a chunk of n items: base_bytes + n × slope_bytes, and noise as a share of that.

    largest: the largest chunk measured. apart: whether chunks of two sizes were measured, so that
    base and slope can be separated; else smaller chunks are assumed to need as much. middle: the
    mean chunk. kills: chunks that were killed for memory, one for each limit.
    """

    base_bytes: float
    slope_bytes: float
    noise: float
    slope_error_bytes: float
    largest: int
    middle: float
    apart: bool
    kills: tuple[KilledChunk, ...] = ()

    @property
    def killed_items(self) -> int | None:
        """Items of the smallest chunk that was killed for memory; None if none was of late."""
        return None if self._least is None else self._least.items

    @property
    def killed_bytes(self) -> int | None:
        """The memory that this chunk was killed in; None if none was."""
        return None if self._least is None else self._least.container_bytes

    @property
    def _least(self) -> KilledChunk | None:
        kills = (kill for kill in self.kills if not kill.is_forgotten)
        return min(kills, key=lambda kill: kill.items, default=None)

    def mean_bytes(self, items: float) -> float:
        """Return the expected peak."""
        told = items if self.apart else max(items, self.largest)
        return self.base_bytes + told * self.slope_bytes

    def interval_bytes(self, items: float) -> tuple[float, float]:
        """Return the interval that holds the peaks of nine of ten chunks of so many items."""
        return self._off_bytes(items, -Z_90), self._off_bytes(items, Z_90)

    def container_bytes(self, items: float) -> float:
        """Return what a container needs if all its chunks have at most so many items."""
        return self._off_bytes(items, HELD)

    def _off_bytes(self, items: float, deviations: float) -> float:
        """Return the mean moved by deviations; the slope's error grows with the distance."""
        mean = self.mean_bytes(items)
        away = abs(items - self.middle) * self.slope_error_bytes
        off = deviations * math.hypot(self.noise, away / mean)
        return mean * math.exp(max(-_MOST_OFF, min(_MOST_OFF, off)))

    def most_items(self, container_bytes: int, *, surely: bool = False) -> int:
        """Return how many items a chunk may have in so much memory; 1 at least.

        It is at most FURTHEST times the largest chunk measured, and half of each chunk that was
        killed in so much memory, or more, until the kill fades. surely: a killed chunk is not tried
        again, so while all chunks had one size, all their memory counts as the items'.
        """
        most = FURTHEST * max(1, self.largest)
        for kill in self.kills:
            if container_bytes <= kill.container_bytes:
                most = min(most, kill.most_items(surely=surely))
        if surely and not self.apart:
            share = container_bytes / self._off_bytes(self.largest, LEASED)
            most = min(most, max(1, int(self.largest * share)))
        low, high = 1, max(1, most)
        while low < high:
            middle = (low + high + 1) // 2
            if self._off_bytes(middle, LEASED) <= container_bytes:
                low = middle
            else:
                high = middle - 1
        return low


@dataclass(slots=True)
class PeakSums:
    """Peaks of chunks, in a few numbers however many they are.

    A process's peak never falls: the largest chunk that a worker had until then counts. Noise is a
    share of a peak, so each peak weighs as the inverse of its square. A peak that is IDLE times
    below the usual would outweigh all others by that, so it weighs as little as a usual one, times
    IDLE_WEIGHT. count: of all chunks with a usual peak. high: of those, how many were IDLE times
    above what was usual until then. kept: what share is left of what was known before this Job.

    kills: for each limit the chunk whose kill bounds others most. killed_items, killed_bytes: the
    only one, in a document that an older version wrote; it is taken up in kills.
    """

    weight: float = 0.0
    items: float = 0.0
    squares: float = 0.0
    inverse: float = 0.0
    rates: float = 0.0
    count: float = 0.0
    high: float = 0.0
    largest: int = 0
    kept: float = 1.0
    kills: tuple[KilledChunk, ...] = ()
    killed_items: int | None = None
    killed_bytes: int | None = None

    def __post_init__(self) -> None:
        """Take up the only kill that an older version kept."""
        if not self.kills and self.killed_items is not None and self.killed_bytes is not None:
            self.killed(self.killed_items, self.killed_bytes)
        self.killed_items = self.killed_bytes = None

    def add(self, items: int, peak_bytes: int, spilled_bytes: int = 0) -> None:
        """Add a chunk that finished; without spilling it would have held what it spilled.

        Raises:
            ValueError: for values that no chunk can have.
        """
        peak = _peak(items, peak_bytes, spilled_bytes)
        usual = self._compared(items, peak)
        is_idle = peak * IDLE < usual
        self._weigh(items, peak, IDLE_WEIGHT / usual**2 if is_idle else 1 / peak**2)

    def add_usual(self, items: int, peak_bytes: int) -> None:
        """Add a chunk that is known to have done its items, whatever was added before it.

        Raises:
            ValueError: for values that no chunk can have.
        """
        peak = _peak(items, peak_bytes)
        self._weigh(items, peak, 1 / peak**2)

    def _weigh(self, items: int, peak: float, each: float) -> None:
        self.weight += each
        self.items += items * each
        self.squares += items * items * each
        self.inverse += peak * each
        self.rates += items * peak * each
        self.count += peak * peak * each
        self.largest = max(self.largest, items)

    def fade(self, keep: float) -> None:
        """Let all peaks so far count less, except kills. keep: the share that stays, 0 to 1."""
        self.weight *= keep
        self.items *= keep
        self.squares *= keep
        self.inverse *= keep
        self.rates *= keep
        self.count *= keep
        self.high *= keep

    def begin(self, keep: float) -> None:
        """Let all that earlier Jobs taught count less, also kills."""
        self.fade(keep)
        self.kept = 1.0
        self.kills = tuple(
            replace(kill, weight=max(_LEAST_WEIGHT, keep * kill.weight)) for kill in self.kills
        )

    def take(self, other: PeakSums, share: float = 1.0) -> None:
        """Add another's peaks. share: how much they count; negative to take them away again."""
        for name in _SUMMED:
            total = getattr(self, name) + share * getattr(other, name)
            setattr(self, name, max(0.0, total))
        self.largest = max(self.largest, other.largest)

    def _compared(self, items: int, peak: float) -> float:
        """Return the least that is usual for so many items; the peak itself if it is the first.

        Where a need is a line, it is between the mean chunk's and that in proportion to the items.
        If more than a few peaks are IDLE times above the most of that, the others were idle.
        """
        if not self.count:
            return peak
        mean, share = self.inverse / self.weight, items * self.weight / self.items
        most = mean * max(1.0, share)
        if peak > IDLE * most:
            self.high += 1
            if self.high > few(self.count + 1):
                doubt = IDLE_WEIGHT * (most / peak) ** 2
                self.fade(doubt)
                self.kept *= doubt
            return peak
        return mean * min(1.0, share)

    def killed(self, items: int, container_bytes: int) -> None:
        """Note that a chunk was killed for memory, and in how much memory.

        Of a single item it says nothing about the size of chunks: the item is too large.
        """
        if items < 2 or not 0 < container_bytes <= MOST_BYTES:
            return
        kills = {kill.container_bytes: kill for kill in self.kills}
        before, kill = kills.pop(container_bytes, None), KilledChunk(items, container_bytes)
        if before is not None and not kill.is_tighter(before):
            kill = before
        latest = sorted([kill, *kills.values()], key=lambda each: each.weight, reverse=True)
        self.kills = tuple(latest[:MOST_LIMITS])

    def least_killed(self, container_bytes: int) -> KilledChunk | None:
        """Return the smallest chunk that was killed in so much memory, or more; None if none.

        Kills that are forgotten do not count.
        """
        found = (
            kill
            for kill in self.kills
            if kill.container_bytes >= container_bytes and not kill.is_forgotten
        )
        return min(found, key=lambda kill: kill.items, default=None)

    def fit(self) -> Peaks | None:
        """Fit the line, never falling and never below zero; None if no chunk was measured."""
        if not self.count:
            return None
        line = self._line()
        base, slope, error = line or self._one_size()
        # The mean square of (peak - base - slope × items) ÷ peak, with the weights above.
        rest = (
            self.count
            - 2 * base * self.inverse
            - 2 * slope * self.rates
            + base * base * self.weight
            + 2 * base * slope * self.items
            + slope * slope * self.squares
        )
        noise = math.sqrt((max(0.0, rest) + 2 * USUAL_NOISE**2) / (max(0.0, self.count - 2) + 2))
        return Peaks(
            base_bytes=base,
            slope_bytes=slope,
            noise=noise,
            slope_error_bytes=error * noise,
            largest=self.largest,
            middle=self.items / self.weight,
            apart=line is not None,
            kills=self.kills,
        )

    def _one_size(self) -> tuple[float, float, float]:
        peak = self.inverse / self.weight
        return BASE_SHARE * peak, (1 - BASE_SHARE) * peak / self.largest, 0.0

    def _line(self) -> tuple[float, float, float] | None:
        """Return base, slope, and the slope's error for a noise of 1; None for one size only."""
        apart = self.weight * self.squares - self.items**2
        flat = self.inverse / self.weight
        steep = self.rates / self.squares
        if apart <= 1e-9 * self.weight * self.squares:
            return None
        base = (self.squares * self.inverse - self.items * self.rates) / apart
        slope = (self.weight * self.rates - self.items * self.inverse) / apart
        error = math.sqrt(self.weight / apart)
        if slope < 0:
            return flat, 0.0, error
        if base < 0:
            return 0.0, steep, error
        return base, slope, error


def _peak(items: int, peak_bytes: int, spilled_bytes: int = 0) -> float:
    if not 0 < items <= MOST_ITEMS:
        raise ValueError(f"a chunk of {items!r} items; it has 1 to {MOST_ITEMS}")
    if not (0 < peak_bytes <= MOST_BYTES and 0 <= spilled_bytes <= MOST_BYTES):
        raise ValueError(f"a peak of {peak_bytes!r} and {spilled_bytes!r} spilled bytes")
    return float(peak_bytes + spilled_bytes)
