"""Plots of a task's leases: their time and their memory, by their items. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from markupsafe import Markup

from plimsoll_operator.views.splitting_facts import LeasedFacts
from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import Frame, Scale
from plimsoll_operator.web.plots.bands import (
    ROOM,
    Points,
    banded,
    columns_of_items,
    rows_of_bytes,
    rows_of_times,
    steps,
)
from plimsoll_operator.web.plots.splitting_plots import SIZE
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.units import counted, words_for_bytes
from plimsoll_predictor.splitting.strategies.leased_task import LeaseSize, lease_size

_LEAST_OF_MEAN: Final = 0.1
"""As a share of the least expected value: a band that reaches zero is cut there, because zero has
no logarithm."""


def lease_time_plot(facts: LeasedFacts, size: tuple[int, int] = SIZE) -> Markup:
    """Draw how long leases take; the dot is the next Job's first."""
    frame = Frame.inside(size)
    x, shown = _across(facts, frame, ())
    points = [(each.items, each.mean_s, each.low_s, each.high_s) for each in shown]
    y = _up(frame, points, ())
    parts = [
        *_seen(frame, x, facts.learned.largest),
        *columns_of_items(frame, x),
        *rows_of_times(frame, y),
        *banded(points, x, y),
        *_first(facts, x, lambda first: (y(first.mean_s), words_for_duration(first.mean_s))),
        *frame.names("a lease", "items of a lease"),
    ]
    return svg.picture(*size, "How long leases take", parts, _words(shown, _time_words))


def lease_memory_plot(facts: LeasedFacts, size: tuple[int, int] = SIZE) -> Markup | None:
    """Draw what leases need, the limit, and the smallest that was killed; None if not measured."""
    peaks, found = facts.learned.peaks, facts.next
    if peaks is None:
        return None
    killed = (peaks.killed_items, peaks.killed_bytes)
    limit = found.limit_bytes if found else None
    frame = Frame.inside(size)
    x, shown = _across(facts, frame, [items for items in (killed[0], peaks.largest) if items])
    points = [
        (each.items, _bytes(each.mean_bytes), _bytes(each.low_bytes), _bytes(each.high_bytes))
        for each in shown
    ]
    y = _up(frame, points, [float(each) for each in (killed[1], limit) if each])
    parts = [
        *_seen(frame, x, peaks.largest),
        *columns_of_items(frame, x),
        *rows_of_bytes(frame, y),
        *banded(points, x, y),
        *([frame.level(y(limit), "request")] if limit else []),
        *_killed(killed, x, y),
        *_first(facts, x, lambda first: (y(_bytes(first.mean_bytes)), _memory_words(first))),
        *frame.names("a worker", "items of a lease"),
    ]
    words = _words(shown, _memory_words)
    if limit:
        words = f"{words} The limit is {words_for_bytes(limit)}."
    return svg.picture(*size, "What leases need", parts, words)


def _across(
    facts: LeasedFacts, frame: Frame, sizes: Sequence[int]
) -> tuple[Scale, list[LeaseSize]]:
    """Return the axis from one item to the most items, and what leases along it take."""
    high = max(facts.most_items, *sizes, 2) * ROOM
    x = frame.x(1 / ROOM, high, log=True)
    return x, [lease_size(facts.learned, items) for items in steps(1.0, high)]


def _up(frame: Frame, points: Points, marks: Sequence[float]) -> Scale:
    least = min(mean for _, mean, _, _ in points)
    values = [*marks, *(value for _, *each in points for value in each)]
    low = max(min(values), _LEAST_OF_MEAN * least)
    return frame.y(low / ROOM, max(values) * ROOM, log=True)


def _seen(frame: Frame, x: Scale, largest: int) -> list[Markup]:
    """Return the mark of the sizes that were seen: up to the largest, the only one stored."""
    return [svg.bar((frame.left, frame.top), x(largest) - frame.left, frame.bottom, "history")]


def _first(
    facts: LeasedFacts, x: Scale, told: Callable[[LeaseSize], tuple[float, str]]
) -> list[Markup]:
    if facts.next is None:
        return []
    first = lease_size(facts.learned, facts.next.items)
    up, words = told(first)
    title = f"the first lease: {counted(facts.next.items, 'item')}, {words}"
    return [svg.dot((x(first.items), up), 5, "run", title)]


def _killed(killed: tuple[int | None, int | None], x: Scale, y: Scale) -> list[Markup]:
    items, in_bytes = killed
    if items is None or in_bytes is None:
        return []
    title = f"killed at {words_for_bytes(in_bytes)} with {items:,}"
    return [svg.cross((x(items), y(in_bytes)), 4, "kill", title)]


def _words(shown: Sequence[LeaseSize], told: Callable[[LeaseSize], str]) -> str:
    first, last = shown[0], shown[-1]
    return f"From {told(first)} of one item to {told(last)} of {last.items:,.0f}."


def _time_words(size: LeaseSize) -> str:
    return words_for_duration(size.mean_s)


def _memory_words(size: LeaseSize) -> str:
    return words_for_bytes(_bytes(size.mean_bytes))


def _bytes(measured: float | None) -> float:
    return max(1.0, measured or 0.0)
