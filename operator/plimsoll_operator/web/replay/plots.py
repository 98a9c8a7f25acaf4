"""The plots of a replayed trace, as inline SVG. Colours are classes; replay.css gives them.

Pure: the same figures give the same picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from markupsafe import Markup

from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import Frame, Scale, decade_ticks, even_ticks, time_unit
from plimsoll_operator.wording.figure_words import number_words, words_for_gb_h
from plimsoll_predictor.core.units import GB, words_for_bytes
from plimsoll_predictor.replay.sizes.figures import CloudPoint, FrontierPoint
from plimsoll_predictor.replay.sizes.playing import Played

WIDE: Final = (960, 380)
SMALL: Final = (320, 250)
NAMES: Final = 128
"""Room for the policies' names at the right."""
_WIDE: Final = Frame.inside(WIDE, right=NAMES, top=24)
_NAME_HEIGHT: Final = 14.0
_WIDE_RANGE: Final = 8.0
"""If the most waste is this many times the least, the axis is logarithmic: a linear one would show
only the worst."""


def logarithmic(played: Sequence[Played]) -> bool:
    """Whether waste over time is drawn on a logarithmic axis."""
    ends = [each.totals.waste_gb_h for each in played if each.totals.waste_gb_h > 0]
    return bool(ends) and max(ends) > _WIDE_RANGE * min(ends)


def waste_over_time(played: Sequence[Played]) -> Markup:
    """The waste of each policy up to each moment."""
    curves = [each.plotted.curve for each in played]
    begin_s = min((curve[0].at_s for curve in curves if curve), default=0.0)
    end_s = max((curve[-1].at_s for curve in curves if curve), default=1.0)
    x = _WIDE.x(begin_s, max(end_s, begin_s + 1))
    y = _waste_scale(played)
    ends = [y(each.totals.waste_gb_h) for each in played]
    places = apart(ends, (_WIDE.top, _WIDE.bottom))
    ticks = decade_ticks(y.low, y.high) if y.log else even_ticks(y.high)
    unit, unit_s = time_unit(x.high - x.low)
    times_s = [begin_s + tick * unit_s for tick in even_ticks((x.high - x.low) / unit_s)]
    parts = [
        *_WIDE.rows(y, ticks, number_words),
        *_WIDE.ticks(x, times_s, lambda at_s: number_words((at_s - begin_s) / unit_s)),
        *_WIDE.names("GB·h wasted so far", f"{unit} since the first run ended"),
    ]
    for each, curve, place in zip(played, curves, places, strict=True):
        points = [(x(point.at_s), y(point.waste_gb_h)) for point in curve]
        parts.append(svg.path(_polyline(points), f"curve {css_class(each)}"))
        if points:
            parts += _name(each, points[-1], place)
    return svg.picture(*WIDE, "Waste over time, policy by policy", parts)


def _waste_scale(played: Sequence[Played]) -> Scale:
    ends = [each.totals.waste_gb_h for each in played]
    high = max(ends, default=0.0) * 1.08 or 1.0
    if not logarithmic(played):
        return _WIDE.y(0, high)
    least = min(end for end in ends if end > 0)
    return _WIDE.y(least / 20, high, log=True)


def frontiers(played: Sequence[Played]) -> Markup:
    """Waste against failed attempts by each policy's knob; the ring is its default."""
    defaults = {each.policy.name: _default(each) for each in played}
    points = [point for each in played for point in (*each.frontier, defaults[each.policy.name])]
    wastes = [point.waste_gb_h for point in points if point.waste_gb_h > 0] or [1.0]
    failures = max((point.failed_attempts for point in points), default=1)
    low, high = min(wastes) / 1.15, max(wastes) * 1.15
    # One is added to the failures, so that zero failures have a place on a logarithmic axis.
    x, y = _WIDE.x(0.8, 1.3 * (failures + 1), log=True), _WIDE.y(low, high, log=True)
    ends = [y(defaults[each.policy.name].waste_gb_h) for each in played]
    places = apart(ends, (_WIDE.top, _WIDE.bottom))
    ticks = [0, *(int(tick) for tick in decade_ticks(1, failures + 1))]
    parts = [
        *_WIDE.rows(y, decade_ticks(low, high), number_words),
        *(_WIDE.under(x(tick + 1), number_words(tick)) for tick in _roomy(ticks, x)),
        *_WIDE.names("GB·h wasted", "failed attempts"),
    ]
    for each, place in zip(played, places, strict=True):
        default = defaults[each.policy.name]
        parts += _frontier(each, default, (x, y))
        parts += _name(each, (x(default.failed_attempts + 1), y(default.waste_gb_h)), place)
    return svg.picture(*WIDE, "Waste against failed attempts by each policy's knob", parts)


def allocation_against_need(played: Played, sizes_bytes: tuple[int, int]) -> Markup:
    """A policy's first allocations against needs, both in powers of two.

    sizes_bytes: the least and the most to show, the same for all policies of a trace.
    """
    frame = Frame.inside(SMALL, top=24)
    x, y, parts = frame.sizes(sizes_bytes[0] / 1.4, sizes_bytes[1] * 1.4, most=5)
    parts += [
        *frame.names("first allocation", "need"),
        *(
            _cloud_mark(point, (x(point.peak_bytes), y(point.first_bytes)))
            for point in played.plotted.cloud
        ),
    ]
    label = f"First allocation against need: {played.policy.name}"
    return svg.picture(*SMALL, label, parts)


def cloud_bounds_bytes(played: Iterable[Played]) -> tuple[int, int]:
    """The least and the most of needs and first allocations."""
    sizes = [
        size
        for each in played
        for point in each.plotted.cloud
        for size in (point.first_bytes, point.peak_bytes)
    ]
    return min(sizes, default=GB), max(sizes, default=2 * GB)


def css_class(played: Played) -> str:
    """The class that gives a policy its colour."""
    return f"policy-{played.policy.name.replace('.', '-')}"


def apart(places: Sequence[float], bounds: tuple[float, float]) -> list[float]:
    """The places of names that would overlap: at least a line apart, in the same order.

    >>> apart([10.0, 12.0, 50.0], (0.0, 100.0))
    [10.0, 24.0, 50.0]
    """
    order = sorted(range(len(places)), key=lambda place: places[place])
    moved: dict[int, float] = {}
    at = bounds[0] - _NAME_HEIGHT
    for place in order:
        at = max(at + _NAME_HEIGHT, places[place])
        moved[place] = at
    over = max(0.0, at - bounds[1])
    if over:
        # Too low at the end: move names up from the bottom as far as needed.
        at = bounds[1] + _NAME_HEIGHT
        for place in reversed(order):
            at = min(at - _NAME_HEIGHT, moved[place])
            moved[place] = at
    return [moved[place] for place in range(len(places))]


def _default(played: Played) -> FrontierPoint:
    return FrontierPoint(
        strictness=None,
        waste_gb_h=played.totals.waste_gb_h,
        failed_attempts=played.totals.failed_attempts,
    )


def _frontier(played: Played, default: FrontierPoint, axes: tuple[Scale, Scale]) -> list[Markup]:
    x, y = axes
    colour = css_class(played)
    places = [(x(p.failed_attempts + 1), y(p.waste_gb_h)) for p in played.frontier]
    words = f"{played.policy.name}, default: {_point_words(default)}"
    ring = (x(default.failed_attempts + 1), y(default.waste_gb_h))
    return [
        svg.path(_polyline(places), f"curve thin {colour}"),
        *(
            svg.dot(
                place,
                3,
                f"knob {colour}",
                f"{played.policy.name}, {played.policy.knob} {point.strictness:g}:"
                f" {_point_words(point)}",
            )
            for place, point in zip(places, played.frontier, strict=True)
        ),
        svg.dot(ring, 6, f"ring {colour}", words),
    ]


def _point_words(point: FrontierPoint) -> str:
    return f"{words_for_gb_h(point.waste_gb_h)}, {point.failed_attempts:,} failed attempts"


def _name(played: Played, end: svg.Place, at: float) -> list[Markup]:
    start = _WIDE.right + 8
    return [
        svg.line((end[0], end[1]), (start - 2, at), f"leader {css_class(played)}"),
        svg.text((start, at + 4), played.policy.name, f"name {css_class(played)}"),
    ]


def _cloud_mark(point: CloudPoint, at: svg.Place) -> Markup:
    words = (
        f"{point.task}: needed {words_for_bytes(point.peak_bytes)},"
        f" got {words_for_bytes(point.first_bytes)}{' while cold' if point.cold else ''}"
    )
    if not point.fits:
        return svg.cross(at, 3, "kill slight", words)
    return svg.dot(at, 2.2, "cold-run" if point.cold else "need faint", words)


def _roomy(ticks: Sequence[int], x: Scale) -> list[int]:
    """The ticks whose labels do not touch."""
    roomy: list[int] = []
    for tick in ticks:
        if not roomy or x(tick + 1) - x(roomy[-1] + 1) >= 36:
            roomy.append(tick)
    return roomy


def _polyline(points: Sequence[svg.Place]) -> list[str]:
    return [f"{'L' if place else 'M'}{x:g} {y:g}" for place, (x, y) in enumerate(points)]
