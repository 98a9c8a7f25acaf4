"""The plot of one training's search: each trial's u-score, and the best so far. Pure."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from plimsoll_operator.views.training_facts import ReportFacts, best_so_far
from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import Frame, Scale
from plimsoll_operator.wording.figure_words import number_words

SIZE: Final = (460, 210)
DRAWN_TRIALS: Final = 200
"""How many of the first trials are drawn; a search has a few dozen."""
_FRAME: Final = Frame.inside(SIZE, left=46, top=14, bottom=30)


def search_plot(facts: ReportFacts) -> Markup:
    """Draw it; an empty picture if nothing was searched."""
    trials, best = facts.trials[:DRAWN_TRIALS], best_so_far(facts)[:DRAWN_TRIALS]
    top = max((trial.u_score for trial in trials), default=1.0) or 1.0
    y, x = _FRAME.y(0, top), _FRAME.x(0.5, len(trials) + 0.5)
    parts = [
        *_FRAME.rows(y, (0.0, top / 2, top), number_words),
        svg.path(_steps(best, x, y), "allocation"),
        # One path with round ends: a dot per trial would make many such plots heavy.
        svg.path(
            (f"M{x(place):g} {y(trial.u_score):g}h0" for place, trial in enumerate(trials, 1)),
            "trial",
        ),
        svg.text((_FRAME.right, _FRAME.bottom + 22), f"{len(facts.trials)} trials", anchor="end"),
    ]
    return svg.picture(*SIZE, "u-score of each trial of the search", parts)


def _steps(best: tuple[float, ...], x: Scale, y: Scale) -> list[str]:
    moves = [f"M{x(1):g} {y(best[0]):g}"] if best else []
    for place, u_score in enumerate(best[1:], start=2):
        moves.append(f"H{x(place):g}V{y(u_score):g}")
    return moves
