"""The bids of the classifier in the past, if it had known only what came before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.deciding.choosing import cheapest_bins
from plimsoll_predictor.model.bins import Bins, labels_with_margin, search_bins
from plimsoll_predictor.model.calibration import Calibration
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.training.classifier import Layout, Recipe, TrainingPart, fit
from plimsoll_predictor.training.folds import Fold
from plimsoll_predictor.training.out_of_time import Bid, ReplayedBids, ReplayPlan, replayed_bids
from plimsoll_predictor.training.runs import RunRows
from plimsoll_predictor.training.u_score import Reliability, fitting_forecasts

LEAST_PAST_RUNS: Final = 4
"""Two bins of two runs each: with fewer there is nothing to classify."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardPlan:
    """How the past is replayed for the classifier.

    recipe: None where one bin serves. n_bins: as many as were chosen; fewer where the past is
    too short for them.
    """

    recipe: Recipe | None
    calibration: Calibration
    n_bins: int
    policy: Policy
    replay: ReplayPlan


@dataclass(frozen=True, slots=True)
class ClassifierBids:
    """The bids of the classifier in the past.

    reliability: of its chances that a need fits, over the runs that were bid for.
    """

    replayed: ReplayedBids
    reliability: Reliability


def forward_bids(rows: RunRows, plan: ForwardPlan) -> ClassifierBids:
    """Bins, schema and classifier learned on each past alone, bidding for what came next."""
    forecasts = _Forecasts()
    replayed = replayed_bids(len(rows.runs), plan.replay, partial(_bids, rows, plan, forecasts))
    return ClassifierBids(replayed, forecasts.reliability())


class _Forecasts:
    """Every chance that was given in the replay, and whether it came true."""

    def __init__(self) -> None:
        self._chances: list[NDArray[np.float64]] = []
        self._fits: list[NDArray[np.bool_]] = []

    def add(
        self, probabilities: NDArray[np.float64], needs: NDArray[np.float64], bins: Bins
    ) -> None:
        chances, fits = fitting_forecasts(probabilities, needs, bins.ceilings_bytes)
        self._chances.append(chances)
        self._fits.append(fits)

    def reliability(self) -> Reliability:
        nothing = np.zeros(0)
        return Reliability.of(
            np.concatenate([nothing, *self._chances]),
            np.concatenate([nothing.astype(np.bool_), *self._fits]),
        )


def _bids(rows: RunRows, plan: ForwardPlan, forecasts: _Forecasts, fold: Fold) -> dict[int, Bid]:
    if fold.training.size < LEAST_PAST_RUNS:
        return {}
    past = rows.part(fold.training)
    options = search_bins(past.needs_bytes, past.runtimes_s, past.limits(plan.policy))
    bins = options[min(plan.n_bins, len(options)) - 1].bins
    schema = FeatureSchema.fit(past.features)
    if plan.recipe is None or len(bins) == 1 or not schema.columns:
        chosen = np.full(fold.validation.size, len(bins) - 1)
    else:
        part = TrainingPart(
            schema.encode_rows(past.features),
            labels_with_margin(bins, past.needs_bytes),
            Layout(schema.categorical_columns, schema.expand),
            n_bins=len(bins),
            seed=plan.replay.seed,
        )
        fitted = fit(part, plan.recipe, threads=plan.replay.threads, calibration=plan.calibration)
        coming = schema.encode_rows([rows.runs[place].features for place in fold.validation])
        probabilities = fitted.predict_proba(coming)
        # The need of a run that was only ever killed is a guess.
        observed = np.array([not rows.runs[place].censored for place in fold.validation])
        needs = rows.needs_bytes[fold.validation]
        forecasts.add(probabilities[observed], needs[observed], bins)
        chosen = cheapest_bins(probabilities, bins, plan.policy.penalty)
    return {
        int(place): Bid(
            bins.ceilings_bytes[bin_index],
            bins.ceilings_bytes,
            open_ended=bool(bin_index == len(bins) - 1),
        )
        for place, bin_index in zip(fold.validation, chosen, strict=True)
    }
