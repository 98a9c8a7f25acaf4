"""The plots of one task, as inline SVG. Colours are classes; style.css gives light and dark ones.

Pure: the same points give the same picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from markupsafe import Markup

from plimsoll_operator.report import svg
from plimsoll_operator.report.records import AttemptPoint
from plimsoll_operator.report.scales import (
    Scale,
    count_ticks,
    linear_ticks_bytes,
    log_ticks_bytes,
)
from plimsoll_operator.report.thinning import Thinned
from plimsoll_operator.report.wording import words_for_minute, words_for_point
from plimsoll_predictor.units import MIB, words_for_bytes

Said = Callable[[AttemptPoint], str | None]
"""What shows under the pointer."""

WIDE: Final = (960, 330)
NARROW: Final = (360, 270)
"""The timeline on a phone, where the wide one could not be read."""
NARROW_POINTS: Final = 90
SMALL: Final = (460, 330)
LEFT: Final = 58
RIGHT: Final = 14
TOP: Final = 22
BOTTOM: Final = 38
HISTOGRAM_BARS: Final = 32
_ROOM_ABOVE: Final = 1.06
_TIME_LABEL_WIDTH: Final = 140
_CROWD: Final = 150
"""More attempts than this are drawn with thinner strokes, or they make one blot."""
_LABEL_WIDTH: Final = 54
_HALF_LETTER: Final = 4.8
"""Half the width of a letter, where letters are largest: on a phone."""
_LABEL_ROWS: Final = 3
"""For the ceilings' labels, above the bars."""


def timeline(thinned: Thinned) -> Markup:
    """Each attempt in the order they ended: its request, its allocation, its need; kills crossed.

    The order and not the clock is the axis: history of months and a busy hour fit on one page.
    """
    return _timeline(thinned, WIDE, words_for_point)


def narrow_timeline(thinned: Thinned) -> Markup:
    """The same for a narrow screen, where no pointer asks what a point is."""
    return _timeline(thinned, NARROW, lambda _: None)


def _timeline(thinned: Thinned, size: tuple[int, int], said: Said) -> Markup:
    width, height = size
    points = [point for _, point in thinned.points]
    top_bytes = max(_sizes(points), default=MIB) * _ROOM_ABOVE
    y = Scale(low=0, high=top_bytes, start=height - BOTTOM, end=TOP)
    x = Scale(low=-0.5, high=max(thinned.total, 1) - 0.5, start=LEFT, end=width - RIGHT)
    half = max(1.2, min(9.0, 0.36 * (width - LEFT - RIGHT) / max(1, len(points))))
    marks = [
        mark for place, point in thinned.points for mark in _attempt(point, (x(place), y), said)
    ]
    parts = [
        *_byte_rows(y, linear_ticks_bytes(top_bytes), width),
        *_time_labels(thinned, x, height),
        svg.path(_history(thinned, x, y), "history"),
        svg.path(_dashes(thinned, x, y, half=half, of="request_bytes"), "request"),
        svg.path(_gaps(thinned, x, y), "gap" if len(points) <= _CROWD else "gap crowd"),
        svg.path(_dashes(thinned, x, y, half=half, of="allocation_bytes"), "allocation"),
        *marks,
    ]
    label = "Allocations against needs, attempt by attempt"
    return svg.picture(width, height, label, parts, _told(thinned))


def _told(thinned: Thinned) -> str:
    """What one sees at a glance, in words."""
    needs = [point.need_bytes for _, point in thinned.points if point.need_bytes]
    if not needs:
        return "No attempt was measured."
    low, high = words_for_bytes(min(needs)), words_for_bytes(max(needs))
    kills = f"{thinned.kills:,} OOM kill{'' if thinned.kills == 1 else 's'}"
    return f"{thinned.total:,} attempts, {kills}; needs from {low} to {high}."


def diagonal(thinned: Thinned) -> Markup:
    """Need across, allocation up, both in powers of two: above the line is unused memory."""
    width, height = SMALL
    placed = [
        (point, need, allocation)
        for _, point in thinned.points
        if (need := point.need_bytes) and (allocation := point.allocation_bytes)
    ]
    sizes = [size for _, need, allocation in placed for size in (need, allocation)]
    low, high = min(sizes, default=MIB) / 1.3, max(sizes, default=MIB) * 1.3
    x = Scale(low=low, high=high, start=LEFT, end=width - RIGHT, log=True)
    y = Scale(low=low, high=high, start=height - BOTTOM, end=TOP, log=True)
    ticks = log_ticks_bytes(low, high)
    parts = [
        *_byte_rows(y, ticks, width),
        *(_under(x(tick), height - BOTTOM + 16, words_for_bytes(tick), width) for tick in ticks),
        svg.line((x(low), y(low)), (x(high), y(high)), "even"),
        svg.text(
            (width - RIGHT - 4, height - BOTTOM - 10), "dashed: need = allocation", anchor="end"
        ),
        svg.text((4, TOP - 8), "allocation", "axis"),
        svg.text((width - RIGHT, height - 6), "need", "axis", "end"),
        *(
            svg.cross((x(need), y(allocation)), 4.5, "kill", words_for_point(point))
            if point.killed
            else svg.dot((x(need), y(allocation)), 3, "need faint", words_for_point(point))
            for point, need, allocation in placed
        ),
    ]
    return svg.picture(width, height, "Allocation against need", parts)


def histogram(needs_bytes: Sequence[int], ceilings_bytes: Sequence[int]) -> Markup:
    """How many runs needed how much, and the ceilings that divide them."""
    width, height = SMALL
    high = max([*needs_bytes, *ceilings_bytes, MIB]) * _ROOM_ABOVE
    counts = bar_counts(needs_bytes, high)
    x = Scale(low=0, high=high, start=LEFT, end=width - RIGHT)
    y = Scale(low=0, high=max([*counts, 1]), start=height - BOTTOM, end=TOP + 13 * _LABEL_ROWS)
    bar = (width - LEFT - RIGHT) / HISTOGRAM_BARS
    parts = [
        *(part for tick in count_ticks(max([*counts, 1])) for part in _row(y, tick, tick, width)),
        *(
            _under(x(tick), height - BOTTOM + 16, _tick_words(tick), width)
            for tick in linear_ticks_bytes(high)
        ),
        *(
            svg.element(
                "rect",
                x=round(LEFT + place * bar + 0.5, 1),
                y=y(count),
                width=round(bar - 1, 1),
                height=round(y(0) - y(count), 1),
                class_="bar",
            )
            for place, count in enumerate(counts)
            if count
        ),
        *_ceiling_marks(x, ceilings_bytes, height),
        svg.text((LEFT - 6, TOP - 8), "runs", "axis", "end"),
        svg.text((width - RIGHT, height - 6), "need", "axis", "end"),
    ]
    return svg.picture(width, height, "Needs and the ceilings of the bins", parts)


def bar_counts(needs_bytes: Sequence[int], high_bytes: float) -> list[int]:
    """Needs per bar, HISTOGRAM_BARS of equal width from 0 to ``high_bytes``."""
    counts = [0] * HISTOGRAM_BARS
    for need in needs_bytes:
        counts[min(HISTOGRAM_BARS - 1, int(need / high_bytes * HISTOGRAM_BARS))] += 1
    return counts


def _ceiling_marks(x: Scale, ceilings_bytes: Sequence[int], height: int) -> list[Markup]:
    """A line for each ceiling, its label in the first row where it touches no other, if any."""
    marks: list[Markup] = []
    ends = [-1.0] * _LABEL_ROWS
    for ceiling in ceilings_bytes:
        at = x(ceiling)
        row = next((n for n, end in enumerate(ends) if at - _LABEL_WIDTH >= end), None)
        top = TOP + 13 * (_LABEL_ROWS - 1 if row is None else row)
        marks.append(svg.line((at, top + 3), (at, height - BOTTOM), "ceiling"))
        if row is not None:
            ends[row] = at
            marks.append(svg.text((at, top), words_for_bytes(ceiling), "ceiling-label", "end"))
    return marks


def _sizes(points: Iterable[AttemptPoint]) -> list[int]:
    return [
        size
        for point in points
        for size in (
            point.request_bytes,
            point.allocation_bytes,
            point.need_bytes,
            point.lifted_to_bytes,
        )
        if size
    ]


def _attempt(point: AttemptPoint, where: tuple[float, Scale], said: Said) -> list[Markup]:
    at, y = where
    if point.need_bytes is None:
        return []
    if not point.killed:
        return [svg.dot((at, y(point.need_bytes)), 2.6, "need", said(point))]
    marks = [svg.cross((at, y(point.need_bytes)), 5, "kill", said(point))]
    if point.lifted_to_bytes:
        ends = (at, y(point.need_bytes) - 6), (at, y(point.lifted_to_bytes))
        marks.insert(0, svg.line(*ends, "lift"))
        marks.append(svg.path(_arrow_head(at, y(point.lifted_to_bytes)), "lift"))
    return marks


def _arrow_head(x: float, y: float) -> list[str]:
    return [f"M{x - 4:g} {y + 6:g}L{x:g} {y:g}L{x + 4:g} {y + 6:g}"]


def _dashes(thinned: Thinned, x: Scale, y: Scale, *, half: float, of: str) -> list[str]:
    """One short level stroke per attempt at its size."""
    return [
        f"M{x(place) - half:.1f} {y(size):g}h{2 * half:.1f}"
        for place, point in thinned.points
        if (size := getattr(point, of))
    ]


def _gaps(thinned: Thinned, x: Scale, y: Scale) -> list[str]:
    """From need up to allocation: what was held and not used."""
    return [
        f"M{x(place):g} {y(point.need_bytes):g}V{y(point.allocation_bytes):g}"
        for place, point in thinned.points
        if point.need_bytes and point.allocation_bytes and not point.killed
    ]


def _history(thinned: Thinned, x: Scale, y: Scale) -> list[str]:
    """A backdrop behind imported attempts, which Plimsoll did not size."""
    places = [place for place, point in thinned.points if point.imported]
    if not places:
        return []
    left, right = x(places[0] - 0.5), x(places[-1] + 0.5)
    return [f"M{left:g} {y(y.low):g}V{y(y.high):g}H{right:g}V{y(y.low):g}Z"]


def _byte_rows(y: Scale, ticks: Sequence[int], width: int) -> list[Markup]:
    return [part for tick in ticks for part in _row(y, tick, _tick_words(tick), width)]


def _tick_words(size_bytes: int) -> str:
    return words_for_bytes(size_bytes) if size_bytes else "0"


def _row(y: Scale, value: float, words: object, width: int) -> list[Markup]:
    at = y(value)
    return [
        svg.line((LEFT, at), (width - RIGHT, at), "grid"),
        svg.text((LEFT - 6, at + 4), words, anchor="end"),
    ]


def _time_labels(thinned: Thinned, x: Scale, height: int) -> list[Markup]:
    """When the attempts under them ended; evenly chosen among those drawn."""
    dated = [(place, point.at_s) for place, point in thinned.points if point.at_s is not None]
    most = max(1, int((x.end - x.start) // _TIME_LABEL_WIDTH))
    stride = max(1, -(-len(dated) // most))
    return [
        part
        for place, at_s in dated[stride // 2 :: stride]
        for part in (
            svg.line((x(place), height - BOTTOM), (x(place), height - BOTTOM + 4), "grid"),
            _under(x(place), height - BOTTOM + 17, words_for_minute(at_s), int(x.end + RIGHT)),
        )
    ]


def _under(at: float, y: float, words: str, width: int) -> Markup:
    """A tick's label below it, or as near as it fits into the picture."""
    half = _HALF_LETTER * len(words)
    return svg.text((round(min(at, width - half), 1), y), words, anchor="middle")
