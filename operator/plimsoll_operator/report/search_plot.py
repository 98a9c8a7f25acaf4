"""The plot of one training's search: each trial's u-score, and the best so far. Pure."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from plimsoll_operator.figure_words import number_words
from plimsoll_operator.report import svg
from plimsoll_operator.report.scales import Scale
from plimsoll_operator.training_facts import ReportFacts, best_so_far

SIZE: Final = (460, 210)
DRAWN_TRIALS: Final = 200
"""The first ones; a search has some dozens."""
_LEFT: Final = 46
_RIGHT: Final = 14
_TOP: Final = 14
_BOTTOM: Final = 30


def search_plot(facts: ReportFacts) -> Markup:
    """Draw it; an empty picture where nothing was searched."""
    width, height = SIZE
    trials, best = facts.trials[:DRAWN_TRIALS], best_so_far(facts)[:DRAWN_TRIALS]
    top = max((trial.u_score for trial in trials), default=1.0) or 1.0
    y = Scale(low=0, high=top, start=height - _BOTTOM, end=_TOP)
    x = Scale(low=0.5, high=len(trials) + 0.5, start=_LEFT, end=width - _RIGHT)
    parts = [
        *_rows(y, top),
        svg.path(_steps(best, x, y), "allocation"),
        # One path with round ends, since dots of their own would make many such plots heavy.
        svg.path(
            (f"M{x(place):g} {y(trial.u_score):g}h0" for place, trial in enumerate(trials, 1)),
            "trial",
        ),
        svg.text((width - _RIGHT, height - 8), f"{len(facts.trials)} trials", anchor="end"),
    ]
    return svg.picture(width, height, "u-score of each trial of the search", parts)


def _rows(y: Scale, top: float) -> list[Markup]:
    marks = []
    for value in (0.0, top / 2, top):
        at = y(value)
        marks.append(svg.line((_LEFT, at), (SIZE[0] - _RIGHT, at), "grid"))
        marks.append(svg.text((_LEFT - 6, at + 4), number_words(value), anchor="end"))
    return marks


def _steps(best: tuple[float, ...], x: Scale, y: Scale) -> list[str]:
    moves = [f"M{x(1):g} {y(best[0]):g}"] if best else []
    for place, u_score in enumerate(best[1:], start=2):
        moves.append(f"H{x(place):g}V{y(u_score):g}")
    return moves
