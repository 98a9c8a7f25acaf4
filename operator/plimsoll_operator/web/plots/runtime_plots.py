"""Plots of one task's runtimes, as inline SVG: the forecast, the past runs, and their shape.

Pure: the same runtimes give the same pictures. Colours are classes, as in ``plots``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from markupsafe import Markup

from plimsoll_operator.names.conditions import cut
from plimsoll_operator.views.runtimes.task_runtimes import Anomaly, TaskRuntimes, TypicalShape
from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import Frame, Scale, time_ticks_s
from plimsoll_operator.wording.figure_words import words_for_minute
from plimsoll_operator.wording.forecast_words import words_for_chance, words_for_odds
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.grid import SMALLEST_S
from plimsoll_predictor.runtimes.shapes.normalising import Normalisation, histogram, normalised
from plimsoll_predictor.store.learned.past_runtimes import PastRuntime

WIDE: Final = (960, 250)
NARROW: Final = (360, 250)
SMALL: Final = (460, 260)
NARROW_RUNS: Final = 90
_ENDS: Final = (0.002, 0.998)
"""The shares of the forecast that are drawn; runtimes beyond them are too rare to be seen."""
_ROOM: Final = 1.12
_LABEL_ROW: Final = 15
_MARKED_SHARES: Final = (0.5, 0.95)
_QUANTILE_ROWS: Final = len(_MARKED_SHARES)
_TIMES_USUAL: Final = 2.0
_LETTER: Final = 6.6
"""Width of a letter."""
_TIME_WIDTH: Final = 75
"""Room for a duration's label."""
_SHAPE_BARS: Final = 40
_MOST_RATIO: Final = 10.0
_RATIOS: Final = (0, 1, 2, 5, 10)
"""The multiples of the usual runtime that have a label."""


def _frame(size: tuple[int, int]) -> Frame:
    return Frame.inside(size, top=16, bottom=34)


def density(forecast: Forecast, size: tuple[int, int] = WIDE) -> Markup:
    """The forecast: the probability of each runtime, in equal steps of the logarithm."""
    frame = _frame(size)
    marks = list(_marks(forecast))
    x = _time_scale(forecast, [at_s for at_s, _ in marks], frame)
    times_s = time_ticks_s(x.low, x.high, most=max(3, int((x.end - x.start) // _TIME_WIDTH)))
    edges_s, masses = forecast.densities()
    middles_s = np.sqrt(edges_s[1:] * edges_s[:-1])
    top = frame.top + _LABEL_ROW * len(marks)
    y = Scale(low=0, high=float(masses.max()) * _ROOM, start=frame.bottom, end=top)
    shown = (middles_s > x.low) & (middles_s < x.high)
    points = list(zip(middles_s[shown], masses[shown], strict=True))
    beyond_s = _TIMES_USUAL * forecast.usual_s if forecast.usual_s else None
    parts = [
        *frame.ticks(x, times_s, words_for_duration, "base"),
        svg.path(_area(points, x, y), "mass"),
        *([svg.path(_area(points, x, y, beyond_s), "tail")] if beyond_s else []),
        frame.level(y(0), "base"),
        *(_mark_line(x(at_s), row, frame) for row, (at_s, _) in enumerate(marks)),
        *(_mark_words(mark, row, x, frame) for row, mark in enumerate(marks)),
    ]
    return svg.picture(*size, "How long the next run takes", parts, density_words(forecast))


def density_words(forecast: Forecast) -> str:
    """The plot in words."""
    half_s, most_s = (float(each) for each in forecast.quantiles_s((0.5, 0.95)))
    words = (
        f"1 in 2 runs ends within {words_for_duration(half_s)},"
        f" 19 in 20 within {words_for_duration(most_s)}"
    )
    twice = forecast.longer_than_usual(_TIMES_USUAL)
    if twice is None:
        return f"{words}."
    return f"{words}; {words_for_chance(twice)} take more than twice the usual."


def history(runtimes: TaskRuntimes, size: tuple[int, int] = WIDE) -> Markup:
    """Each run that succeeded, in the order they ended; anomalies are crosses and triangles."""
    frame = _frame(size)
    runs = _drawn(runtimes, size)
    times_s = [max(each.ran_s, SMALLEST_S) for each in runs]
    usual_s = runtimes.forecast.usual_s
    around = [*times_s, *([usual_s] if usual_s else [])] or [1.0]
    y = frame.y(min(around) / 1.3, max(around) * 1.3, log=True)
    x = frame.x(-0.5, max(len(runs), 1) - 0.5)
    parts = [
        *frame.rows(y, time_ticks_s(y.low, y.high, most=6), words_for_duration),
        *frame.dates(x, {place: each.finished_s for place, each in enumerate(runs)}),
        *([frame.level(y(usual_s), "even")] if usual_s else []),
        *(
            _run(runtimes, each, (x(place), y(seconds)), titled=size != NARROW)
            for place, (each, seconds) in enumerate(zip(runs, times_s, strict=True))
        ),
    ]
    label = "Runtimes, run by run"
    return svg.picture(*size, label, parts, history_words(runtimes))


def history_words(runtimes: TaskRuntimes) -> str:
    """The plot in words."""
    runs = _drawn(runtimes, WIDE)
    if not runs:
        return "No run has succeeded."
    anomalies = [runtimes.anomaly(each) for each in runs]
    long, short = (anomalies.count(kind) for kind in Anomaly)
    low, high = (words_for_duration(end(each.ran_s for each in runs)) for end in (min, max))
    return (
        f"{len(runs):,} runs from {low} to {high}; {long:,} longer and {short:,} shorter"
        " than 99 of 100 forecast."
    )


def own_shape(runtimes_s: Sequence[float], usual_s: float, typical: TypicalShape) -> Markup:
    """The task's runtimes beside the most similar typical shape, both as multiples of the usual."""
    frame = _frame(SMALL)
    own = _bars(
        histogram(normalised(runtimes_s, usual_s, Normalisation.RATIO), Normalisation.RATIO)
    )
    like = _bars(typical.shape.pmf)
    x = frame.x(0, _MOST_RATIO)
    # Square roots: the usual runtime holds most of both, and they differ in the tails.
    y = frame.y(0, max(*own, *like) ** 0.5 * _ROOM)
    step = _MOST_RATIO / _SHAPE_BARS
    line = [f"M{x(0):g} {y(0):g}"]
    line += [f"V{y(mass**0.5):g}H{x(step * (place + 1)):g}" for place, mass in enumerate(like)]
    parts = [
        *frame.columns(x, _RATIOS, lambda tick: f"{tick:g}×"),
        *(
            svg.bar((x(step * place), y(mass**0.5)), x(step) - x(0) - 1, y(0), "mass")
            for place, mass in enumerate(own)
            if mass
        ),
        svg.path([*line, f"V{y(0):g}"], "like"),
    ]
    label = f"Runtimes beside the shape {typical.shape.name}, in times the usual"
    return svg.picture(*SMALL, label, parts)


def _bars(masses: np.typing.NDArray[np.float64]) -> list[float]:
    """Masses of _SHAPE_BARS bars that add up to 1."""
    grouped = masses.reshape(_SHAPE_BARS, -1).sum(axis=1)
    return [float(each) for each in grouped / grouped.sum()]


def _drawn(runtimes: TaskRuntimes, size: tuple[int, int]) -> list[PastRuntime]:
    runs = runtimes.runs
    return list(runs[-NARROW_RUNS:] if size == NARROW else runs)


def _marks(forecast: Forecast) -> Iterator[tuple[float, str]]:
    """The marked times, and their labels."""
    for share in _MARKED_SHARES:
        at_s = forecast.quantile_s(share)
        yield at_s, f"{words_for_odds(share)}: {words_for_duration(at_s)}"
    if forecast.usual_s is not None:
        at_s = _TIMES_USUAL * forecast.usual_s
        beyond = words_for_chance(forecast.longer_than_usual(_TIMES_USUAL))
        yield at_s, f"2× the usual: {words_for_duration(at_s)}, {beyond} beyond"


def _time_scale(forecast: Forecast, shown_s: Sequence[float], frame: Frame) -> Scale:
    ends_s = [float(each) for each in forecast.quantiles_s(_ENDS)]
    low_s, high_s = min(*ends_s, *shown_s) / 1.1, max(*ends_s, *shown_s) * 1.1
    return frame.x(low_s, high_s, log=True)


def _area(
    points: Sequence[svg.Place], x: Scale, y: Scale, from_s: float | None = None
) -> list[str]:
    """The area from the curve down to the base; from_s: only the part beyond it."""
    drawn = [(at_s, mass) for at_s, mass in points if from_s is None or at_s > from_s]
    if len(drawn) < 2:
        return []
    begin, end = x(drawn[0][0] if from_s is None else from_s), x(drawn[-1][0])
    first = "" if from_s is None else f"V{y(_between(points, from_s)):g}"
    curve = "".join(f"L{x(at_s):g} {y(mass):g}" for at_s, mass in drawn)
    return [f"M{begin:g} {y(0):g}{first}{curve}L{end:g} {y(0):g}Z"]


def _between(points: Sequence[tuple[float, float]], at_s: float) -> float:
    logs = np.log([each for each, _ in points])
    return float(np.interp(np.log(at_s), logs, [mass for _, mass in points]))


def _mark_line(at: float, row: int, frame: Frame) -> Markup:
    class_ = "ceiling" if row < _QUANTILE_ROWS else "even"
    return svg.line((at, frame.top + _LABEL_ROW * row + 4), (at, frame.bottom), class_)


def _mark_words(mark: tuple[float, str], row: int, x: Scale, frame: Frame) -> Markup:
    at_s, words = mark
    half = _LETTER * len(words) / 2
    middle = min(max(x(at_s), half), frame.width - half)
    return svg.text((round(middle, 1), frame.top + _LABEL_ROW * row), words, "told", "middle")


def _run(runtimes: TaskRuntimes, each: PastRuntime, at: svg.Place, *, titled: bool) -> Markup:
    anomaly = runtimes.anomaly(each)
    title = _run_words(each, anomaly) if titled else None
    if anomaly is Anomaly.LONG:
        return svg.cross(at, 5, "kill", title)
    if anomaly is Anomaly.SHORT:
        corners = f"M{at[0] - 5:g} {at[1] - 4:g}h10l-5 9Z"
        return svg.titled("path", title, d=corners, class_="short")
    return svg.dot(at, 2.6, "run", title)


def _run_words(each: PastRuntime, anomaly: Anomaly | None) -> str:
    on = f" on {cut(each.node_type, 60)}" if each.node_type else ""
    unusual = f"; {anomaly.value}" if anomaly else ""
    when = words_for_minute(each.finished_s)
    return f"{words_for_duration(each.ran_s)}{on}; run {cut(each.run, 80)}; {when}{unusual}"
