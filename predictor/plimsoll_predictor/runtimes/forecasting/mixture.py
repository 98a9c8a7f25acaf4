"""The mixture weighs the histograms of a task, its owner and everybody into one."""

from __future__ import annotations

import math

import numpy as np

from plimsoll_predictor.runtimes.features.lines import NO_LINES
from plimsoll_predictor.runtimes.features.row import NOTHING_YET, QUANTILES, Moment, row_of
from plimsoll_predictor.runtimes.forecasting.grid import (
    EDGES,
    EDGES_S,
    N_BINS,
    Bumps,
    FloatArray,
    bin_of,
)
from plimsoll_predictor.runtimes.forecasting.pasts import OwnerPast, TaskPast
from plimsoll_predictor.runtimes.forecasting.settings import MAX_SURVIVORS, Settings
from plimsoll_predictor.runtimes.forecasting.shared import Shared, context_of
from plimsoll_predictor.runtimes.forecasting.submitted_run import (
    NO_COUNTS,
    NO_TOTALS,
    Featured,
    ParentExperts,
    SubmittedRun,
    TaskExperts,
)

_LN_HALF = math.log(0.5)
# A run that outlived nearly everything expected of it counts at most as a thousand others.
_LEAST_SURVIVAL = np.float32(1e-3)
_ALONE = np.ones(1)
_ALONE.setflags(write=False)
_ONES = np.ones(N_BINS, dtype=np.float32)


class Mixture:
    """Forecasts from given pasts and learns into them; holds only what all tasks share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.shared = Shared(settings)
        self._own_column = np.array(settings.parent_runs, dtype=np.float32)[:, None]
        # Each survivor's weight, by how many survivors there are.
        many = np.arange(1, MAX_SURVIVORS + 1, dtype=np.float64)
        self._survivor_weights = (many ** (settings.survivor_power - 1.0)).astype(np.float32)
        self._bumps = Bumps(settings.task_spread)
        self._owner_bumps = Bumps(settings.owner_spread)
        self._global_bumps = Bumps(settings.global_spread)
        halves = [math.inf if half is None else half for half in settings.task_half_lives]
        self._forgets = _LN_HALF / np.array(halves)
        self._owner_forgets = _LN_HALF / np.array(settings.owner_half_lives)
        self._fade = 0.5 ** (1.0 / settings.credit_half_life)
        self._owner_fade = 0.5 ** (1.0 / settings.owner_credit_half_life)
        self._feature_fade = 0.5 ** (1.0 / settings.feature_credit_half_life)

    def submitted(
        self, names: tuple[str, str], pasts: tuple[TaskPast | None, OwnerPast | None], at_s: float
    ) -> SubmittedRun:
        """A run submitted now, with its experts' forecasts.

        names: its task's and its owner's. pasts: theirs, None if nothing is known.
        """
        past, owner = pasts
        runs, open_beside, age_s, usual_s = 0, 0, None, None
        if past is not None:
            runs, open_beside, usual_s = past.runs, past.open_runs, past.usual_s
            if past.last_finish_s is not None:
                age_s = max(at_s - past.last_finish_s, 0.0)
        context = context_of(runs, age_s)
        shared = self.shared
        of_owner = shared.owner_weights[context[0]]
        parent, mixed = parent_experts(owner, shared.everybody, of_owner, self.settings)
        experts = self.task_experts(past, mixed, shared.weights[context], at_s)
        return SubmittedRun(
            task=names[0],
            owner=names[1],
            submitted_s=at_s,
            started_s=None,
            open_beside=open_beside,
            context=context,
            known_runs=runs,
            usual_s=usual_s,
            parent=parent,
            experts=experts,
            curve=shared.curve(context),
            curve_of_width=shared.curve_of_width(context, experts.width),
        )

    def task_experts(
        self, past: TaskPast | None, parent: FloatArray, context_weights: FloatArray, at_s: float
    ) -> TaskExperts:
        """The experts of a run of this task.

        parent: (N_BINS,) float32. context_weights: (experts,), sum 1. at_s: its submission.
        """
        if past is None or not past.runs:
            return TaskExperts(NO_COUNTS, _ALONE, _ALONE, _summed(parent))
        weights = self.settings.context_runs * context_weights
        weights += past.credit
        counted = self._own_column * parent
        counted += past.counts
        if past.running:
            slow = counted[self.settings.first_slow :]
            slow *= self._outlived(slow, past.starts(), at_s)
        totals = counted @ _ONES
        density = (weights / totals).astype(np.float32) @ counted
        return TaskExperts(counted, totals, weights, _summed(density))

    def _outlived(self, counted: FloatArray, started: FloatArray, at_s: float) -> FloatArray:
        """The factor that each bin gains from runs that have started and not ended.

        A run that has lasted t counts as one spread over the bins beyond t. counted: (experts,
        N_BINS) float32, the shape of the result. started: when each did.
        """
        # Runs that have lasted less than the grid's first edge, or more than its last, do not say
        # where on the grid the others end.
        bins = EDGES_S.searchsorted(at_s - started, "right")
        running_at = np.bincount(bins, minlength=N_BINS + 2)[1:-1].astype(np.float32)
        running_at *= self._survivor_weights[len(started) - 1]
        below = counted.cumsum(axis=1)
        totals = below[:, -1:]
        survival = totals - below
        np.maximum(survival, totals * _LEAST_SURVIVAL, out=survival)
        np.divide(running_at, survival, out=survival)
        gains: FloatArray = survival.cumsum(axis=1)
        gains += 1.0
        return gains

    def score(
        self, submitted: SubmittedRun, past: TaskPast, owner: OwnerPast, runtime_s: float
    ) -> None:
        """Credit the experts by their forecasts of a run that has finished."""
        settings, shared = self.settings, self.shared
        at_ln = math.log(runtime_s)
        at = bin_of(at_ln)
        if submitted.featured is not None:
            self._score_featured(submitted, submitted.featured, past, at_ln)
        counted = submitted.alone**settings.calibration_burst_power
        experts = submitted.experts
        shared.calibrate(submitted.context, experts.width, experts.share_below(at_ln), counted)
        right = submitted.parent.right(at, settings.owner_parent_runs)
        if right is not None:
            rate = settings.owner_weight_rate * submitted.alone
            shared.credit(shared.owner_weights[submitted.context[0]], right, rate)
            owner.credit = owner.credit * self._owner_fade + submitted.alone * right
        right = experts.right(at)
        if right is not None:
            rate = settings.weight_rate * submitted.alone
            shared.credit(shared.weights[submitted.context], right, rate)
            past.credit = past.credit * self._fade + submitted.alone * right

    def learn(
        self, past: TaskPast, owner: OwnerPast, runtime_s: float, at_s: float, alone: float
    ) -> None:
        """Count a runtime in its task's past, its owner's and everybody's.

        at_s: when the run finished. alone: 1, or less for a run of a burst
        (``SubmittedRun.alone``).
        """
        settings = self.settings
        at_ln = math.log(runtime_s)
        pooled = (1.0 + past.runs) ** settings.pooled_power
        weight = alone**settings.burst_power
        past.learn(runtime_s, self._bumps.at(at_ln), weight, np.exp(self._forgets * weight))
        keep = np.exp(self._owner_forgets * pooled)
        owner.count(self._owner_bumps.at(at_ln), pooled, keep)
        self.shared.learn(self._global_bumps.at(at_ln), pooled)
        past.finished(at_ln, at_s)
        owner.finished(at_ln, at_s)

    def feature_row(
        self, submitted: SubmittedRun, pasts: tuple[TaskPast | None, OwnerPast | None]
    ) -> list[float]:
        """The row of a run that the feature expert reads; see ``row.NAMES``."""
        past, owner = pasts
        moment = Moment(
            at_s=submitted.submitted_s,
            task=NOTHING_YET if past is None else past.newest(),
            owner=NOTHING_YET if owner is None else owner.newest(),
            open_beside=submitted.open_beside,
        )
        asked = submitted.asked
        lines = NO_LINES if past is None else past.lines
        quantiles_ln = np.interp(QUANTILES, submitted.cdf(), EDGES).tolist()
        return row_of(quantiles_ln, moment, asked, lines.read(asked.features))

    def featured(
        self, submitted: SubmittedRun, past: TaskPast | None, masses: FloatArray
    ) -> Featured:
        """The expert that knows features, with its weight for such a run.

        masses: its answer.
        """
        runs = self.settings.feature_context_runs
        others, own = self.shared.feature_weights[submitted.context].tolist()
        others, own = runs * others, runs * own
        if past is not None:
            credit_others, credit_own = past.feature_credit.tolist()
            others, own = others + credit_others, own + credit_own
        curve = self.shared.featured_curve(submitted.context[0], submitted.experts.width)
        return Featured(masses, own / (others + own), curve)

    def _score_featured(
        self, submitted: SubmittedRun, featured: Featured, past: TaskPast, at_ln: float
    ) -> None:
        share = submitted.share_below(at_ln)
        counted = submitted.alone**self.settings.calibration_burst_power
        moved_share = float(featured.before_curve(np.array([share]))[0])
        runs, width = submitted.context[0], submitted.experts.width
        self.shared.calibrate_featured(runs, width, moved_share, counted)
        right = featured.right(share)
        rate = self.settings.feature_weight_rate * submitted.alone
        self.shared.credit(self.shared.feature_weights[submitted.context], right, rate)
        past.feature_credit = past.feature_credit * self._feature_fade + submitted.alone * right


def parent_experts(
    owner: OwnerPast | None, everybody: FloatArray, context_weights: FloatArray, settings: Settings
) -> tuple[ParentExperts, FloatArray]:
    """The experts for a run of this owner, of any task, and (N_BINS,) their mixture.

    everybody: (N_BINS,) float32. context_weights: (owner experts + 1,), sum 1.
    """
    if owner is None or not owner.runs:
        return ParentExperts(NO_COUNTS, NO_TOTALS, everybody, _ALONE), everybody
    weights = settings.owner_context_runs * context_weights
    weights += owner.credit
    weights /= np.add.reduce(weights)
    totals = owner.totals + settings.owner_parent_runs
    parts = weights[:-1] / totals
    mixed = parts.astype(np.float32) @ owner.counts
    of_everybody = settings.owner_parent_runs * np.add.reduce(parts) + weights[-1]
    mixed += np.float32(of_everybody) * everybody
    return ParentExperts(owner.counts, totals, everybody, weights), mixed


def _summed(density: FloatArray) -> FloatArray:
    """(N_BINS,) masses to the (N_BINS + 1,) shares below each edge, from 0 to 1."""
    below = np.zeros(N_BINS + 1)
    below[1:] = density
    below = below.cumsum()
    below /= below[-1]
    return below
