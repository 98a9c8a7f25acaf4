"""The mixture: what each task's histograms, its owner's and everybody's say, weighed."""

from __future__ import annotations

import math

import numpy as np

from plimsoll_predictor.runtimes.forecasting.grid import Bumps, bin_of
from plimsoll_predictor.runtimes.forecasting.kept import Kept
from plimsoll_predictor.runtimes.forecasting.mixing import Mixing, parent_says
from plimsoll_predictor.runtimes.forecasting.owner_past import OwnerPast
from plimsoll_predictor.runtimes.forecasting.settings import Settings
from plimsoll_predictor.runtimes.forecasting.shared import Shared, context_of
from plimsoll_predictor.runtimes.forecasting.task_past import TaskPast

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

    def new_task(self) -> TaskPast:
        """The past of a task that has none."""
        return TaskPast(len(self.settings.task_half_lives))

    def new_owner(self) -> OwnerPast:
        """The past of an owner that has none."""
        return OwnerPast(len(self.settings.owner_half_lives))

    def says(
        self, names: tuple[str, str], past: TaskPast | None, owner: OwnerPast | None, at_s: float
    ) -> Kept:
        """What there is to say of a run submitted now.

        names: its task's and its owner's; past, owner: theirs, None where nothing is known.
        """
        runs, in_flight, age_s, usual_s = 0, 0, None, None
        if past is not None:
            runs, in_flight, usual_s = past.runs, past.in_flight, past.usual_s
            if past.last_finish_s is not None:
                age_s = max(at_s - past.last_finish_s, 0.0)
        context = context_of(runs, age_s)
        shared = self.shared
        of_owner = shared.owner_weights[context[0]]
        parent, mixed = parent_says(owner, shared.everybody, of_owner, self.settings)
        return Kept(
            task=names[0],
            owner=names[1],
            submitted_s=at_s,
            started_s=None,
            in_flight=in_flight,
            context=context,
            known_runs=runs,
            usual_s=usual_s,
            parent=parent,
            said=self._mixing.task_says(past, mixed, shared.weights[context], at_s),
            curve=shared.curve(context),
        )

    def score(self, kept: Kept, past: TaskPast, owner: OwnerPast, runtime_s: float) -> None:
        """Credit the experts with what they said of a run that has finished."""
        settings, shared = self.settings, self.shared
        at_ln = math.log(runtime_s)
        at = bin_of(at_ln)
        counted = kept.alone**settings.calibration_burst_power
        shared.calibrate(kept.context, kept.said.share_below(at_ln), counted)
        right = kept.parent.right(at, settings.owner_parent_runs)
        if right is not None:
            rate = settings.owner_weight_rate * kept.alone
            shared.credit_owner(kept.context[0], right, rate)
            owner.credit = owner.credit * self._owner_fade + kept.alone * right
        right = kept.said.right(at)
        if right is not None:
            shared.credit(kept.context, right, settings.weight_rate * kept.alone)
            past.credit = past.credit * self._fade + kept.alone * right

    def learn(self, past: TaskPast, owner: OwnerPast, runtime_s: float, alone: float) -> None:
        """Count a runtime in its task's past, its owner's and everybody's.

        alone: 1, or less for a run of a burst (``Kept.alone``).
        """
        settings = self.settings
        at_ln = math.log(runtime_s)
        pooled = (1.0 + past.runs) ** settings.pooled_power
        weight = alone**settings.burst_power
        past.learn(runtime_s, self._bumps.at(at_ln), weight, np.exp(self._forgets * weight))
        keep = np.exp(self._owner_forgets * pooled)
        owner.learn(self._owner_bumps.at(at_ln), pooled, keep)
        self.shared.learn(self._global_bumps.at(at_ln), pooled)
