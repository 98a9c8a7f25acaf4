"""Curves of expected values, with bands that hold nine of ten, over numbers of items. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import (
    Frame,
    Scale,
    decade_ticks,
    log_ticks_bytes,
    range_ticks,
    time_ticks_s,
)
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.units import KIB, words_for_bytes

ROOM: Final = 1.25
"""The room between the outermost values and the edges, as a factor."""
_STEPS: Final = 40
_MOST_ROWS: Final = 6
_LEAST_ROWS: Final = 3
_NEAR_THE_NAME: Final = 6

Points = Sequence[tuple[float, float, float, float]]
"""For each size: items, the expected value, and the two bounds that hold nine of ten."""


def steps(low: float, high: float) -> list[float]:
    """Numbers of items from low to high, evenly spaced on a logarithmic axis."""
    return [low * (high / low) ** (step / _STEPS) for step in range(_STEPS + 1)]


def columns_of_items(frame: Frame, x: Scale) -> list[Markup]:
    """Upright lines at round whole numbers of items."""
    ticks = [tick for tick in decade_ticks(x.low, x.high) if tick >= 1 and tick == int(tick)]
    return frame.columns(x, ticks, lambda tick: f"{tick:,.0f}")


def rows_of_bytes(frame: Frame, y: Scale) -> list[Markup]:
    """Level lines at round sizes: powers of two, or closer ones where these are too few."""
    ticks: Sequence[float] = log_ticks_bytes(y.low, y.high, _MOST_ROWS)
    if len(ticks) < _LEAST_ROWS:
        step = 2 ** math.floor(math.log2(max(KIB, (y.high - y.low) / _LEAST_ROWS)))
        first, last = math.ceil(y.low / step), math.floor(y.high / step)
        ticks = [step * place for place in range(first, last + 1)]
    return frame.rows(y, _below_the_name(frame, y, ticks), words_for_bytes)


def rows_of_times(frame: Frame, y: Scale) -> list[Markup]:
    """Level lines at round times, closer ones where the usual ones are too few."""
    ticks = time_ticks_s(y.low, y.high, most=_MOST_ROWS)
    if len(ticks) < _LEAST_ROWS:
        # The unit is the largest one of which the lowest time has two or more.
        unit_s = next((each for each in (86_400.0, 3600.0, 60.0) if y.low >= 2 * each), 1.0)
        close = range_ticks(y.low / unit_s, y.high / unit_s, _MOST_ROWS)
        ticks = [tick * unit_s for tick in close]
    return frame.rows(y, _below_the_name(frame, y, ticks), words_for_duration)


def banded(points: Points, x: Scale, y: Scale) -> list[Markup]:
    """Return the band that holds nine of ten, and the line of expected values."""
    if not points:
        return []
    upper = [f"{x(items):g} {y(high):g}" for items, _, _, high in points]
    lower = [f"{x(items):g} {y(low):g}" for items, _, low, _ in reversed(points)]
    line = [f"{x(items):g} {y(mean):g}" for items, mean, _, _ in points]
    return [
        svg.path([f"M{'L'.join([*upper, *lower])}Z"], "band"),
        svg.path([f"M{'L'.join(line)}"], "like"),
    ]


def _below_the_name(frame: Frame, y: Scale, ticks: Sequence[float]) -> list[float]:
    """Leave out the ticks whose labels would touch the axis' name."""
    return [tick for tick in ticks if y(tick) >= frame.top + _NEAR_THE_NAME]
