"""Scores nodes by what a task costs on each, as a scheduler adds scores up. Numpy alone."""

from __future__ import annotations

from typing import Final

import numpy as np

from plimsoll_predictor.placing.hinting import LEAST_GAIN, NoHint
from plimsoll_predictor.placing.matrix import Array

MOST_SCORE: Final = 10
"""The score of the node that costs least; no score is below 0. A larger one would override all else
that a scheduler weighs."""
MOST_SPAN: Final = 1.0
"""In slowdowns: a node that costs so much more than the best has a score of 0, even if another one
is much worse. So one very bad node does not make all others alike."""


def scores_of(costs: Array) -> list[int] | NoHint:
    """Return a score from 0 to MOST_SCORE for each node; ALIKE where no node is better by enough.

    UNKNOWN where nothing is known about any of them.

    costs: (n_nodes,), in slowdowns; nan where nothing is known about a node: it then counts as the
        mean of the others, neither wanted nor avoided.

    The best node has MOST_SCORE. Each tenth of the span from the best to the worst, or to MOST_SPAN
    above the best, is a point less. A node that costs less never has a lower score.
    """
    known = costs[~np.isnan(costs)]
    if len(costs) and not len(known):
        return NoHint.UNKNOWN
    if len(known) < 2:
        return NoHint.ALIKE
    best, worst = float(known.min()), float(known.max())
    if not worst - best >= LEAST_GAIN:
        return NoHint.ALIKE
    mean = min(max(float(known.mean()), best), worst)
    above = np.where(np.isnan(costs), mean, costs) - best
    points = MOST_SCORE * (1.0 - above / min(worst - best, MOST_SPAN))
    scores: list[int] = np.rint(np.clip(points, 0, MOST_SCORE)).astype(int).tolist()
    return scores
