"""The plots of one task, as inline SVG. Colours are classes; style.css gives light and dark ones.

Pure: the same points give the same picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from markupsafe import Markup

from plimsoll_operator.names.conditions import cut
from plimsoll_operator.views.report.records import AttemptPoint
from plimsoll_operator.views.report.thinning import Thinned
from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import (
    Frame,
    Scale,
    even_ticks,
    linear_ticks_bytes,
    size_words,
)
from plimsoll_operator.wording.cause_words import words_for_cause, words_for_kill
from plimsoll_operator.wording.figure_words import words_for_minute, words_for_size
from plimsoll_predictor.core.units import MIB, counted, words_for_bytes

WIDE: Final = (960, 330)
NARROW: Final = (360, 270)
"""The timeline's size on a phone, where nobody could read the wide one."""
NARROW_POINTS: Final = 90
SMALL: Final = (460, 330)
HISTOGRAM_BARS: Final = 32
_ROOM_ABOVE: Final = 1.06
_CROWD: Final = 150
"""More attempts than this are drawn with thinner strokes; else they make one blot."""
_LABEL_WIDTH: Final = 54
_LABEL_ROWS: Final = 3
"""Rows for the ceilings' labels, above the bars."""


def timeline(thinned: Thinned, size: tuple[int, int] = WIDE) -> Markup:
    """Each attempt in the order they ended: its request, its allocation, its need; kills crossed.

    The axis is the order, not the clock: history of months and a busy hour fit on one page.
    size: NARROW for a phone, where no pointer can ask what a point is.
    """
    frame = Frame.inside(size)
    points = [point for _, point in thinned.points]
    top_bytes = max(_sizes(points), default=MIB) * _ROOM_ABOVE
    y, x = frame.y(0, top_bytes), frame.x(-0.5, max(thinned.total, 1) - 0.5)
    dated_s = {
        float(place): point.at_s for place, point in thinned.points if point.at_s is not None
    }
    half = max(1.2, min(9.0, 0.36 * (frame.right - frame.left) / max(1, len(points))))
    parts = [
        *frame.rows(y, linear_ticks_bytes(top_bytes), size_words),
        *frame.dates(x, dated_s),
        svg.path(_history(thinned, x, y), "history"),
        svg.path(_dashes(thinned, x, y, half=half, of="request_bytes"), "request"),
        svg.path(_gaps(thinned, x, y), "gap" if len(points) <= _CROWD else "gap crowd"),
        svg.path(_dashes(thinned, x, y, half=half, of="reserved_bytes"), "allocation"),
        *(
            mark
            for place, point in thinned.points
            for mark in _attempt(point, (x(place), y), titled=size == WIDE)
        ),
    ]
    label = "Allocations against needs, attempt by attempt"
    return svg.picture(*size, label, parts, _words(thinned))


def _words(thinned: Thinned) -> str:
    """The plot in words."""
    needs = [point.need_bytes for _, point in thinned.points if point.need_bytes]
    if not needs:
        return "No attempt was measured."
    low, high = words_for_bytes(min(needs)), words_for_bytes(max(needs))
    kills = counted(thinned.kills, "OOM kill")
    return f"{thinned.total:,} attempts, {kills}; needs from {low} to {high}."


def diagonal(thinned: Thinned) -> Markup:
    """Need across, allocation up, both in powers of two: above the line is unused memory."""
    frame = Frame.inside(SMALL)
    placed = [
        (point, need, allocation)
        for _, point in thinned.points
        if (need := point.need_bytes) and (allocation := point.reserved_bytes)
    ]
    sizes = [size for _, need, allocation in placed for size in (need, allocation)]
    x, y, parts = frame.sizes(min(sizes, default=MIB) / 1.3, max(sizes, default=MIB) * 1.3)
    words = "dashed: need = allocation"
    parts += [
        svg.text((frame.right - 4, frame.bottom - 10), words, anchor="end"),
        *frame.names("allocation", "need"),
        *(
            svg.cross((x(need), y(allocation)), 4.5, "kill", words_for_point(point))
            if point.killed
            else svg.dot((x(need), y(allocation)), 3, "need faint", words_for_point(point))
            for point, need, allocation in placed
        ),
    ]
    return svg.picture(*SMALL, "Allocation against need", parts)


def histogram(needs_bytes: Sequence[int], ceilings_bytes: Sequence[int]) -> Markup:
    """How many runs needed how much, and the ceilings that divide them."""
    frame = Frame.inside(SMALL)
    high = max([*needs_bytes, *ceilings_bytes, MIB]) * _ROOM_ABOVE
    counts = bar_counts(needs_bytes, high)
    most = max([*counts, 1])
    x = frame.x(0, high)
    y = Scale(low=0, high=most, start=frame.bottom, end=frame.top + 13 * _LABEL_ROWS)
    bar = (frame.right - frame.left) / HISTOGRAM_BARS
    parts = [
        *frame.rows(y, even_ticks(most, 5, finest=0), lambda tick: f"{tick:g}"),
        *(frame.under(x(tick), size_words(tick)) for tick in linear_ticks_bytes(high)),
        *(
            svg.bar((round(frame.left + place * bar + 0.5, 1), y(count)), bar - 1, y(0), "bar")
            for place, count in enumerate(counts)
            if count
        ),
        *_ceiling_marks(x, ceilings_bytes, frame),
        *frame.names("runs", "need"),
    ]
    return svg.picture(*SMALL, "Needs and the ceilings of the bins", parts)


def bar_counts(needs_bytes: Sequence[int], high_bytes: float) -> list[int]:
    """Needs per bar, HISTOGRAM_BARS of equal width from 0 to ``high_bytes``."""
    counts = [0] * HISTOGRAM_BARS
    for need in needs_bytes:
        counts[min(HISTOGRAM_BARS - 1, int(need / high_bytes * HISTOGRAM_BARS))] += 1
    return counts


def _ceiling_marks(x: Scale, ceilings_bytes: Sequence[int], frame: Frame) -> list[Markup]:
    """A line for each ceiling; its label is in the first row where it touches no other, if any."""
    marks: list[Markup] = []
    ends = [-1.0] * _LABEL_ROWS
    for ceiling in ceilings_bytes:
        at = x(ceiling)
        row = next((n for n, end in enumerate(ends) if at - _LABEL_WIDTH >= end), None)
        top = frame.top + 13 * (_LABEL_ROWS - 1 if row is None else row)
        marks.append(svg.line((at, top + 3), (at, frame.bottom), "ceiling"))
        if row is not None:
            ends[row] = at
            marks.append(svg.text((at, top), words_for_bytes(ceiling), "ceiling-label", "end"))
    return marks


def _sizes(points: Iterable[AttemptPoint]) -> list[int]:
    fields = ("request_bytes", "reserved_bytes", "need_bytes", "lifted_to_bytes")
    return [size for point in points for name in fields if (size := getattr(point, name))]


def _attempt(point: AttemptPoint, where: tuple[float, Scale], *, titled: bool) -> list[Markup]:
    at, y = where
    if point.need_bytes is None:
        return []
    title = words_for_point(point) if titled else None
    if not point.killed:
        return [svg.dot((at, y(point.need_bytes)), 2.6, "need", title)]
    marks = [svg.cross((at, y(point.need_bytes)), 5, "kill", title)]
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
    """Strokes from need up to allocation: memory that was reserved but not used."""
    return [
        f"M{x(place):g} {y(need):g}V{y(allocation):g}"
        for place, point in thinned.points
        if (need := point.need_bytes) and (allocation := point.reserved_bytes)
        if allocation > need and not point.killed
    ]


def _history(thinned: Thinned, x: Scale, y: Scale) -> list[str]:
    """A backdrop behind imported attempts, which Plimsoll did not size."""
    places = [place for place, point in thinned.points if point.imported]
    if not places:
        return []
    left, right = x(places[0] - 0.5), x(places[-1] + 0.5)
    return [f"M{left:g} {y(y.low):g}V{y(y.high):g}H{right:g}V{y(y.low):g}Z"]


def words_for_point(point: AttemptPoint) -> str:
    """The words that show under the pointer."""
    need = words_for_size(point.need_bytes)
    needed = f"needed {need}"
    if point.killed:
        needed = f"OOM-killed{words_for_kill(point.cause)}: needs more than {need}"
    elif point.cause is not None:
        needed = words_for_cause(point.cause)
    got = words_for_size(point.reserved_bytes)
    asked = words_for_size(point.request_bytes)
    run = f"run {cut(point.run, 80)}, attempt {point.attempt}"
    return f"{needed}, got {got}, asked {asked}; {run}; {words_for_minute(point.at_s)}"
