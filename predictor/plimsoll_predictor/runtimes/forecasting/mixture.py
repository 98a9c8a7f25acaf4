"""The mixture weighs the histograms of a task, of its owner and of everybody."""

from __future__ import annotations

import math

import numpy as np

from plimsoll_predictor.runtimes.forecasting.grid import Bumps, bin_of
from plimsoll_predictor.runtimes.forecasting.mixing import Mixing, parent_experts
from plimsoll_predictor.runtimes.forecasting.pasts import OwnerPast, TaskPast
from plimsoll_predictor.runtimes.forecasting.settings import Settings
from plimsoll_predictor.runtimes.forecasting.shared import Shared, context_of
from plimsoll_predictor.runtimes.forecasting.submitted_run import SubmittedRun

_LN_HALF = math.log(0.5)


class Mixture:
    """Forecasts from given pasts, learns into them; holds only what all tasks share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.shared = Shared(settings)
        self._mixing = Mixing(settings)
        self._bumps = Bumps(settings.task_spread)
        self._owner_bumps = Bumps(settings.owner_spread)
        self._global_bumps = Bumps(settings.global_spread)
        halves = [math.inf if half is None else half for half in settings.task_half_lives]
        self._forgets = _LN_HALF / np.array(halves)
        self._owner_forgets = _LN_HALF / np.array(settings.owner_half_lives)
        self._fade = 0.5 ** (1.0 / settings.credit_half_life)
        self._owner_fade = 0.5 ** (1.0 / settings.owner_credit_half_life)

    def submitted(
        self, names: tuple[str, str], pasts: tuple[TaskPast | None, OwnerPast | None], at_s: float
    ) -> SubmittedRun:
        """A run submitted now, with what the experts forecast of it.

        names: its task's and its owner's. pasts: theirs, None where nothing is known.
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
            experts=self._mixing.task_experts(past, mixed, shared.weights[context], at_s),
            curve=shared.curve(context),
        )

    def score(
        self, submitted: SubmittedRun, past: TaskPast, owner: OwnerPast, runtime_s: float
    ) -> None:
        """Credit the experts with what they forecast of a run that has finished."""
        settings, shared = self.settings, self.shared
        at_ln = math.log(runtime_s)
        at = bin_of(at_ln)
        counted = submitted.alone**settings.calibration_burst_power
        shared.calibrate(submitted.context, submitted.experts.share_below(at_ln), counted)
        right = submitted.parent.right(at, settings.owner_parent_runs)
        if right is not None:
            rate = settings.owner_weight_rate * submitted.alone
            shared.credit_owner(submitted.context[0], right, rate)
            owner.credit = owner.credit * self._owner_fade + submitted.alone * right
        right = submitted.experts.right(at)
        if right is not None:
            shared.credit(submitted.context, right, settings.weight_rate * submitted.alone)
            past.credit = past.credit * self._fade + submitted.alone * right

    def learn(self, past: TaskPast, owner: OwnerPast, runtime_s: float, alone: float) -> None:
        """Count a runtime in its task's past, its owner's and everybody's.

        alone: 1, or less for a run of a burst (``SubmittedRun.alone``).
        """
        settings = self.settings
        at_ln = math.log(runtime_s)
        pooled = (1.0 + past.runs) ** settings.pooled_power
        weight = alone**settings.burst_power
        past.learn(runtime_s, self._bumps.at(at_ln), weight, np.exp(self._forgets * weight))
        keep = np.exp(self._owner_forgets * pooled)
        owner.count(self._owner_bumps.at(at_ln), pooled, keep)
        self.shared.learn(self._global_bumps.at(at_ln), pooled)
