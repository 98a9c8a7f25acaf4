"""The most that mixes of the learned kinds can gain: no order of many runs can beat them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from plimsoll_predictor.placing.chance import random_slowdowns
from plimsoll_predictor.placing.interference import learned_from
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.pairing import best_pairing
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.placing.soft_pairing import MOST_EXCESS


@dataclass(frozen=True, slots=True)
class Mixes:
    """How much shorter runs become than with random neighbours, as shares.

    best: in the best mix of pairs. fair: in the best that slows no kind by more than MOST_EXCESS.
    """

    best: float
    fair: float

    def __str__(self) -> str:
        return (
            "by what is known of these kinds, where all places are always taken: no order gains "
            f"more than {self.best:.1%}; none that slows no kind by more than {MOST_EXCESS:.1%}, "
            f"more than {self.fair:.1%}"
        )


def mixes_of(runs: Sequence[PlacedRun]) -> Mixes:
    """Learn from runs, and find the best mixes for equally many runs of each kind."""
    matrix = learned_from(runs).matrix()
    kinds = [kind for kind in matrix.kinds if kind != OTHERS]
    at = [matrix.place(kind) for kind in kinds]
    work = np.array([fmean(run.forecast_s for run in runs if run.kind == kind) for kind in kinds])
    slowdowns, shares = matrix.slowdowns[np.ix_(at, at)], np.full(len(kinds), 1 / len(kinds))
    chance = random_slowdowns(slowdowns, shares, work)
    best = best_pairing(slowdowns, shares, work).mean_slowdown
    fair = best_pairing(slowdowns, shares, work, chance * (1 + MOST_EXCESS)).mean_slowdown
    return Mixes(*(1 - each / float(chance.mean()) for each in (best, fair)))
