"""The bids of the classifier in the past, by what was known before each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.deciding.choosing import cheapest_bins
from plimsoll_predictor.model.bins import Bins, labels_with_margin, search_bins
from plimsoll_predictor.model.calibration import Calibration
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.training.classifier import Layout, Recipe, TrainingPart, fit
from plimsoll_predictor.training.folds import Fold
from plimsoll_predictor.training.out_of_time import Bid, ReplayedBids, replayed_bids
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.runs import RunRows
from plimsoll_predictor.training.u_score import Reliability, fitting_forecasts

LEAST_PAST_RUNS: Final = 4
"""Two bins of two runs each: with fewer there is nothing to classify."""


@dataclass(frozen=True, slots=True)
class ChosenClassifier:
    """A training's choice. recipe: None where one bin serves. n_bins: fewer for a short past."""

    recipe: Recipe | None
    calibration: Calibration
    n_bins: int


def forward_bids(
    rows: RunRows, plan: TrainingPlan, deadline_s: float, classifier: ChosenClassifier
) -> tuple[ReplayedBids, Reliability]:
    """Bins, schema and classifier learned on each past alone, bidding for what came next.

    The reliability is of the chances that a need fits, over the runs that were bid for.
    """
    replay = _Replay(rows, plan, classifier)
    replayed = replayed_bids(rows, plan, deadline_s, replay.bids)
    reliability = Reliability.of(np.concatenate(replay.chances), np.concatenate(replay.fits))
    return replayed, reliability


class _Replay:
    """chances, fits: every chance that was given in the replay, and whether it came true."""

    def __init__(self, rows: RunRows, plan: TrainingPlan, classifier: ChosenClassifier) -> None:
        self._rows, self._plan, self._classifier = rows, plan, classifier
        self.chances: list[NDArray[np.float64]] = [np.zeros(0)]
        self.fits: list[NDArray[np.bool_]] = [np.zeros(0, dtype=np.bool_)]

    def bids(self, fold: Fold) -> dict[int, Bid]:
        if fold.training.size < LEAST_PAST_RUNS:
            return {}
        past, policy = self._rows.part(fold.training), self._plan.policy
        options = search_bins(past.needs_bytes, past.runtimes_s, past.limits(policy))
        bins = options[min(self._classifier.n_bins, len(options)) - 1].bins
        chosen = self._chosen_bins(fold, past, bins)
        return {
            int(place): Bid(
                bins.ceilings_bytes[bin_index],
                bins.ceilings_bytes,
                open_ended=bool(bin_index == len(bins) - 1),
            )
            for place, bin_index in zip(fold.validation, chosen, strict=True)
        }

    def _chosen_bins(self, fold: Fold, past: RunRows, bins: Bins) -> NDArray[np.int64]:
        """The bin that each run of the fold is given, (n,)."""
        recipe, plan = self._classifier.recipe, self._plan
        schema = FeatureSchema.fit(past.features)
        if recipe is None or len(bins) == 1 or not schema.columns:
            return np.full(fold.validation.size, len(bins) - 1)
        part = TrainingPart(
            schema.encode_rows(past.features),
            labels_with_margin(bins, past.needs_bytes),
            Layout(schema.categorical_columns, schema.expand),
            n_bins=len(bins),
            seed=plan.seed,
        )
        calibration = self._classifier.calibration
        fitted = fit(part, recipe, threads=plan.threads, calibration=calibration)
        runs = [self._rows.runs[place] for place in fold.validation]
        probabilities = fitted.predict_proba(schema.encode_rows([run.features for run in runs]))
        # The need of a run that was only ever killed is a guess.
        observed = np.array([not run.censored for run in runs])
        needs = self._rows.needs_bytes[fold.validation]
        chances, fits = fitting_forecasts(
            probabilities[observed], needs[observed], bins.ceilings_bytes
        )
        self.chances.append(chances)
        self.fits.append(fits)
        return cheapest_bins(probabilities, bins, plan.policy.penalty)
