"""Makes the axes of all plots: the places of values, and ticks at round values. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from plimsoll_operator.web.plots import svg
from plimsoll_operator.wording.figure_words import words_for_minute
from plimsoll_predictor.core.units import MIB, words_for_bytes

Words = Callable[[float], str]
_HALF_LETTER: Final = 4.8
"""Half the width of a letter, where letters are largest: on a phone."""
_BELOW: Final = 17
"""The distance from the plot down to its labels."""
_DATE_WIDTH: Final = 140
_ROUND_S: Final = tuple(
    amount * unit_s
    for unit_s, amounts in (
        (0.001, (1, 10, 100)),
        (1, (1, 2, 5, 10, 20, 40)),
        (60, (1.5, 3, 5, 10, 20, 40, 90)),
        (3600, (2, 3, 6, 12, 24)),
        (86_400, (2, 4, 7, 14, 30, 60)),
    )
    for amount in amounts
)
_UNITS: Final = (("minutes", 60.0), ("hours", 3600.0), ("days", 86400.0))
_FACTORS: Final = (
    (2.5, (1.0,)),
    (0.8, (1.0, 2.0, 5.0)),
    (0.4, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)),
    (-1.0, (1.0, 1.2, 1.5, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0)),
)
"""The ticks of each decade, by the least number of decades."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Maps ``low..high`` to ``start..end``, linearly; logarithmically if ``log``, then low > 0.

    start may be larger than end: SVG counts downwards.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value; values outside are put on the nearest edge."""
        inside = min(max(value, self.low), self.high)
        low, high, at = (
            (math.log2(self.low), math.log2(self.high), math.log2(inside))
            if self.log
            else (self.low, self.high, inside)
        )
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A plot's place in its picture, by its edges; labels are around it.

    width: of the picture; no label goes beyond it.
    """

    left: float
    right: float
    top: float
    bottom: float
    width: float

    @classmethod
    def inside(
        cls,
        size: tuple[int, int],
        *,
        left: int = 58,
        right: int = 14,
        top: int = 22,
        bottom: int = 38,
    ) -> Frame:
        """The frame of a picture's only plot, with room for labels at its four sides."""
        width, height = size
        return cls(left=left, right=width - right, top=top, bottom=height - bottom, width=width)

    def x(self, low: float, high: float, *, log: bool = False) -> Scale:
        """The axis across."""
        return Scale(low=low, high=high, start=self.left, end=self.right, log=log)

    def y(self, low: float, high: float, *, log: bool = False) -> Scale:
        """The axis up."""
        return Scale(low=low, high=high, start=self.bottom, end=self.top, log=log)

    def names(self, up: str, across: str) -> list[Markup]:
        """The names of the axes."""
        return [
            svg.text((4, self.top - 8), up, "axis"),
            svg.text((self.right, self.bottom + 32), across, "axis", "end"),
        ]

    def rows(self, y: Scale, ticks: Iterable[float], words: Words) -> list[Markup]:
        """A level line for each tick, and its label at the left."""
        parts: list[Markup] = []
        for tick in ticks:
            label = svg.text((self.left - 6, y(tick) + 4), words(tick), anchor="end")
            parts += self.level(y(tick), "grid"), label
        return parts

    def level(self, at: float, class_: str) -> Markup:
        """A level line through the whole plot."""
        return svg.line((self.left, at), (self.right, at), class_)

    def columns(self, x: Scale, ticks: Iterable[float], words: Words) -> list[Markup]:
        """An upright line for each tick, and its label below; the outer labels stay inside."""
        parts: list[Markup] = []
        for tick in ticks:
            at, anchor = x(tick), {x.low: "start", x.high: "end"}.get(tick, "middle")
            label = svg.text((at, self.bottom + _BELOW), words(tick), anchor=anchor)
            parts += svg.line((at, self.top), (at, self.bottom), "grid"), label
        return parts

    def ticks(
        self, x: Scale, ticks: Iterable[float], words: Words, class_: str = "grid"
    ) -> list[Markup]:
        """A short line below the plot for each tick, and its label."""
        parts: list[Markup] = []
        for tick in ticks:
            line = svg.line((x(tick), self.bottom), (x(tick), self.bottom + 4), class_)
            parts += line, self.under(x(tick), words(tick))
        return parts

    def under(self, at: float, words: str) -> Markup:
        """A tick's label below it, or as near to it as fits into the picture."""
        half = _HALF_LETTER * len(words)
        inside = min(max(at, half), self.width - half)
        return svg.text((round(inside, 1), self.bottom + _BELOW), words, anchor="middle")

    def dates(self, x: Scale, times_s: Mapping[float, float | None]) -> list[Markup]:
        """Times below some evenly chosen places. times_s: place -> Unix seconds."""
        most = max(1, int((x.end - x.start) // _DATE_WIDTH))
        stride = max(1, -(-len(times_s) // most))
        chosen = list(times_s)[stride // 2 :: stride]
        return self.ticks(x, chosen, lambda place: words_for_minute(times_s[place]))

    def sizes(
        self, low_bytes: float, high_bytes: float, *, most: int = 7
    ) -> tuple[Scale, Scale, list[Markup]]:
        """Both axes of sizes in powers of two, their ticks, and the line where both are equal."""
        x, y = self.x(low_bytes, high_bytes, log=True), self.y(low_bytes, high_bytes, log=True)
        ticks = log_ticks_bytes(low_bytes, high_bytes, most)
        parts = [
            *self.rows(y, ticks, words_for_bytes),
            *(self.under(x(tick), words_for_bytes(tick)) for tick in ticks),
            svg.line((self.left, self.bottom), (self.right, self.top), "even"),
        ]
        return x, y, parts


def size_words(size_bytes: float) -> str:
    """A size's tick; zero has no unit."""
    return words_for_bytes(size_bytes) if size_bytes else "0"


def linear_ticks_bytes(high_bytes: float, most: int = 6) -> list[int]:
    """Round sizes from 0 up to ``high_bytes``, in steps of 1, 2 or 4 times a power of two.

    >>> [tick // MIB for tick in linear_ticks_bytes(900 * MIB)]
    [0, 256, 512, 768]
    """
    step = MIB
    while high_bytes / step >= most:
        step *= 2
    return list(range(0, int(high_bytes) + 1, step))


def log_ticks_bytes(low_bytes: float, high_bytes: float, most: int = 7) -> list[int]:
    """Powers of two within the range, at most about ``most``."""
    first, last = math.ceil(math.log2(low_bytes)), math.floor(math.log2(high_bytes))
    stride = max(1, math.ceil((last - first + 1) / most))
    return [2**power for power in range(first, last + 1, stride)]


def even_ticks(high: float, most: int = 7, *, finest: int = -9) -> list[float]:
    """Round numbers from 0 up to high, evenly spaced. finest: the smallest step is 10**finest.

    >>> even_ticks(3500)
    [0, 500, 1000, 1500, 2000, 2500, 3000, 3500]
    >>> even_ticks(23, 5, finest=0), even_ticks(3, 5, finest=0)
    ([0, 5, 10, 15, 20], [0, 1, 2, 3])
    """
    steps = (factor * 10**power for power in range(finest, 18) for factor in (1, 2, 5))
    step = next(step for step in steps if high / step <= most)
    return [place * step for place in range(int(high / step) + 1)]


def range_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers within low..high, low < high, evenly spaced, at most about ``most``.

    >>> range_ticks(0, 2_100_000, 6), range_ticks(-3, 4, 5)
    ([0.0, 500000.0, 1000000.0, 1500000.0, 2000000.0], [-2.0, 0.0, 2.0, 4.0])
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [place * step for place in range(first, last + 1)]


def decade_ticks(low: float, high: float) -> list[float]:
    """Round numbers within low..high, low > 0, for a logarithmic axis: more in a smaller range.

    >>> decade_ticks(3, 60), decade_ticks(1, 2000)
    ([5.0, 10.0, 20.0, 50.0], [1.0, 10.0, 100.0, 1000.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    decades = math.log10(high / low)
    factors = next(factors for above, factors in _FACTORS if decades > above)
    ticks = (factor * 10.0**power for power in powers for factor in factors)
    return [tick for tick in ticks if low <= tick <= high]


def time_ticks_s(low_s: float, high_s: float, *, most: int) -> list[float]:
    """Round times within the range, for a logarithmic axis, at most ``most``, about evenly spaced.

    >>> time_ticks_s(25, 700, most=4)
    [40, 180, 600]
    """
    inside = [each for each in _ROUND_S if low_s <= each <= high_s]
    stride = max(1, -(-len(inside) // most))
    return inside[::stride]


def time_unit(span_s: float) -> tuple[str, float]:
    """The largest unit of time of which a span has at least three, and its seconds.

    >>> time_unit(6 * 3600.0)
    ('hours', 3600.0)
    """
    return next((unit for unit in reversed(_UNITS) if span_s >= 3 * unit[1]), _UNITS[0])
