"""The plot of how a campaign's needs depend on one feature. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from plimsoll_operator.names.conditions import cut
from plimsoll_operator.views.campaign_facts import CampaignFacts, words_for_scenario
from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import (
    Frame,
    Scale,
    decade_ticks,
    linear_ticks_bytes,
    range_ticks,
    size_words,
)
from plimsoll_predictor.campaigns.findings import Effect, Uncertain, ValueKind
from plimsoll_predictor.campaigns.needs import WIDE
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.core.units import MIB, counted, words_for_bytes

SIZE: Final = (460, 300)
DRAWN_RUNS: Final = 400
"""The most runs of one plot; of more, every second, third and so on by need is drawn."""
_ROOM_ABOVE: Final = 1.08
_LETTER: Final = 9.6
"""Width of a letter of a label where letters are largest."""
_SPREAD: Final = 0.5
"""The part of a category's place over which its runs are spread, so that equal ones show."""
_SPREAD_IN: Final = 7
_MOST_TICKS: Final = 6
_MOST: Final = 1e150
_LEAST: Final = 1e-150
"""Places are cut at the first, and drawn by their logarithms only above the second, so that
differences and ratios of two places are finite."""
_FRAME: Final = Frame.inside(SIZE, right=20, top=30, bottom=26)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """A run: its value of the feature, what is drawn for it, and its words."""

    value: str
    size_bytes: int
    killed: bool
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Across:
    """The axis of a feature.

    place(value, number): where the mark with that number is drawn; None if the value has no place.
    """

    place: Callable[[str, int], float | None]
    labels: Sequence[Markup]


def effect_plot(facts: CampaignFacts, effect: Effect) -> Markup:
    """Need by value: runs, kills, expected needs of uncertain scenarios, ceilings of bins."""
    marks, uncertain = marks_of(facts, effect.feature), facts.found.uncertain
    sizes = [mark.size_bytes for mark in marks] + [_upper(each) for each in uncertain]
    sizes += facts.found.ceilings_bytes
    y = _FRAME.y(0, max([*sizes, MIB]) * _ROOM_ABOVE)
    named = [mark.value for mark in marks]
    named += [each.values[effect.feature] for each in uncertain if effect.feature in each.values]
    is_category = effect.kind is ValueKind.CATEGORY
    across = _categories(effect) if is_category else _places(named, effect.kind)
    parts = [
        *_FRAME.rows(y, linear_ticks_bytes(y.high), size_words),
        *across.labels,
        *_ceilings(facts.found.ceilings_bytes, y),
        *_expected(uncertain, effect.feature, across, y),
        *_runs(marks, across, y),
        svg.text((4, _FRAME.top - 17), "need", "axis"),
    ]
    label = f"Need by {cut(effect.feature, 60)}"
    return svg.picture(*SIZE, label, parts, effect_description(effect))


def effect_description(effect: Effect) -> str:
    """The plot in words."""
    if not effect.levels:
        return "No need is known."
    low = min(effect.levels, key=lambda level: level.mean_bytes)
    high = max(effect.levels, key=lambda level: level.mean_bytes)
    runs = counted(sum(level.runs for level in effect.levels), "run")
    if low is high:
        return f"{runs}; {words_for_bytes(low.mean_bytes)} on average."
    return (
        f"{runs}; least with {cut(low.values, 60)}, {words_for_bytes(low.mean_bytes)} on average,"
        f" most with {cut(high.values, 60)}, {words_for_bytes(high.mean_bytes)}."
    )


def marks_of(facts: CampaignFacts, feature: str) -> list[_Mark]:
    """The runs to draw: those whose need is known, and kills at the size that was too small."""
    found = [
        mark
        for run in facts.runs
        if feature in run.values and (mark := _mark(run, feature)) is not None
    ]
    found.sort(key=lambda mark: mark.size_bytes)
    # Counted from the end, so that the largest is drawn.
    every = max(1, math.ceil(len(found) / DRAWN_RUNS))
    return found[::-every][::-1]


def _mark(run: CampaignRun, feature: str) -> _Mark | None:
    value, said = run.values[feature], words_for_scenario(run.values)
    if run.state is RunState.KILLED:
        title = f"killed at {words_for_bytes(run.memory_bytes)}; {said}"
        return _Mark(value=value, size_bytes=run.memory_bytes, killed=True, title=title)
    if run.state is not RunState.LEARNED or not run.peak_bytes:
        return None
    title = f"needed {words_for_bytes(run.peak_bytes)}; {said}"
    return _Mark(value=value, size_bytes=run.peak_bytes, killed=False, title=title)


def _places(texts: Sequence[str], kind: ValueKind) -> _Across:
    """The axis of numbers, or of days."""

    def at(text: str) -> float | None:
        place = kind.place(text)
        return None if place is None else max(-_MOST, min(_MOST, place))

    places = [place for text in texts if (place := at(text)) is not None] or [0.0]
    x = _scale(min(places), max(places), kind)

    def drawn_at(text: str, _: int) -> float | None:
        found = at(text)
        return None if found is None else x(found)

    words = kind.words if kind is ValueKind.DATE else number_label
    return _Across(place=drawn_at, labels=_FRAME.ticks(x, _ticks(x, kind), words))


def _scale(low: float, high: float, kind: ValueKind) -> Scale:
    if kind is ValueKind.DATE:
        return _FRAME.x(low, max(high, low + 1))
    if low == high:
        return _FRAME.x(low - abs(low) / 2 - 1, high + abs(high) / 2 + 1)
    if low > _LEAST and high / low > WIDE:
        return _FRAME.x(low, high, log=True)
    return _FRAME.x(0.0 if 0 <= low < high - low else low, high)


def _ticks(x: Scale, kind: ValueKind) -> Sequence[float]:
    if kind is ValueKind.DATE:
        span = x.high - x.low
        return sorted({round(x.low + span * part / 3) for part in range(4)})
    if not x.log:
        return range_ticks(x.low, x.high, _MOST_TICKS)
    ticks = decade_ticks(x.low, x.high)
    every = max(1, math.ceil(len(ticks) / (_MOST_TICKS + 1)))
    return ticks[::every]


def _categories(effect: Effect) -> _Across:
    categories = [level.values for level in effect.levels]
    step = (_FRAME.right - _FRAME.left) / max(1, len(categories))
    middles = {each: _FRAME.left + step * (at + 0.5) for at, each in enumerate(categories)}
    letters = max(2, int(step / _LETTER))
    labels = [_FRAME.under(round(at, 1), cut(each, letters)) for each, at in middles.items()]

    def place(text: str, number: int) -> float | None:
        aside = (number % _SPREAD_IN) / (_SPREAD_IN - 1) - 0.5
        return round(middles[text] + _SPREAD * step * aside, 1) if text in middles else None

    return _Across(place=place, labels=labels)


def _runs(marks: Sequence[_Mark], across: _Across, y: Scale) -> list[Markup]:
    drawn: list[Markup] = []
    for number, mark in enumerate(marks):
        at = across.place(mark.value, number)
        if at is not None and mark.killed:
            drawn.append(svg.cross((at, y(mark.size_bytes)), 4.5, "kill", mark.title))
        elif at is not None:
            drawn.append(svg.dot((at, y(mark.size_bytes)), 3.4, "need", mark.title))
    return drawn


def _expected(
    uncertain: Sequence[Uncertain], feature: str, across: _Across, y: Scale
) -> list[Markup]:
    """Upright lines over the range of four of five such needs, with a ring at the likeliest."""
    drawn: list[Markup] = []
    for number, each in enumerate(uncertain):
        at = across.place(each.values.get(feature, ""), number)
        if at is None:
            continue
        low, high = y(each.expected_bytes - each.width_bytes / 2), y(_upper(each))
        title = (
            f"expected {words_for_bytes(each.expected_bytes)}; {words_for_scenario(each.values)}"
        )
        drawn += [
            svg.line((at, low), (at, high), "expected"),
            svg.dot((at, y(each.expected_bytes)), 3.4, "open", title),
        ]
    return drawn


def _ceilings(ceilings_bytes: Sequence[int], y: Scale) -> list[Markup]:
    return [_FRAME.level(y(ceiling), "ceiling") for ceiling in ceilings_bytes]


def _upper(each: Uncertain) -> int:
    return each.expected_bytes + each.width_bytes // 2


def number_label(value: float) -> str:
    """A tick's number, short: 1,500,000 as 1.5M.

    >>> number_label(1_500_000), number_label(20_000), number_label(0.5), number_label(0)
    ('1.5M', '20k', '0.5', '0')
    """
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
