"""How the experts' histograms become one distribution."""

from __future__ import annotations

import numpy as np

from plimsoll_predictor.runtimes.forecasting.grid import EDGES_S, N_BINS, FloatArray
from plimsoll_predictor.runtimes.forecasting.pasts import OwnerPast, TaskPast
from plimsoll_predictor.runtimes.forecasting.settings import MAX_SURVIVORS, Settings
from plimsoll_predictor.runtimes.forecasting.submitted_run import ParentExperts, TaskExperts

# A run that outlived nearly everything expected of it says no more than a thousand others.
_LEAST_SURVIVAL = np.float32(1e-3)
_ALONE = np.ones(1)
_ALONE.setflags(write=False)
_ONES = np.ones(N_BINS, dtype=np.float32)


def parent_experts(
    owner: OwnerPast | None, everybody: FloatArray, context_weights: FloatArray, settings: Settings
) -> tuple[ParentExperts, FloatArray]:
    """What a run of this owner lasts, whatever its task: by expert, and (N_BINS,) all together.

    everybody: (N_BINS,) float32. context_weights: (owner experts + 1,), sum 1.
    """
    if owner is None or not owner.runs:
        return ParentExperts(None, None, everybody, _ALONE), everybody
    weights = settings.owner_context_runs * context_weights
    weights += owner.credit
    weights /= np.add.reduce(weights)
    totals = owner.totals + settings.owner_parent_runs
    parts = weights[:-1] / totals
    mixed = parts.astype(np.float32) @ owner.counts
    of_everybody = settings.owner_parent_runs * np.add.reduce(parts) + weights[-1]
    mixed += np.float32(of_everybody) * everybody
    return ParentExperts(owner.counts, totals, everybody, weights), mixed


class Mixing:
    """The experts of a task, by the settings."""

    def __init__(self, settings: Settings) -> None:
        self._context_runs = settings.context_runs
        self._slow = settings.first_slow
        self._own_column = np.array(settings.parent_runs, dtype=np.float32)[:, None]
        # Each survivor's weight where there are so many of them.
        many = np.arange(1, MAX_SURVIVORS + 1, dtype=np.float64)
        self._survivor_weights = (many ** (settings.survivor_power - 1.0)).astype(np.float32)

    def task_experts(
        self, past: TaskPast | None, parent: FloatArray, context_weights: FloatArray, at_s: float
    ) -> TaskExperts:
        """What a run of this task lasts.

        parent: (N_BINS,) float32. context_weights: (experts,), sum 1. at_s: its submission.
        """
        if past is None or not past.runs:
            return TaskExperts(None, _ALONE, _ALONE, summed(parent))
        weights = self._context_runs * context_weights
        weights += past.credit
        counted = self._own_column * parent
        counted += past.counts
        if past.running:
            slow = counted[self._slow :]
            slow *= self._outlived(slow, past.starts(), at_s)
        totals = counted @ _ONES
        density = (weights / totals).astype(np.float32) @ counted
        return TaskExperts(counted, totals, weights, summed(density))

    def _outlived(self, counted: FloatArray, started: FloatArray, at_s: float) -> FloatArray:
        """By how much each bin gains from runs that run: they last longer than they have.

        One that has lasted t counts as a run spread over what is expected beyond t. counted:
        (experts, N_BINS) float32. started: when each did. Returns the shape of counted.
        """
        # Those that ran for less than the grid's first edge, or for more than its last, say
        # nothing of where on it the others end.
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


def summed(density: FloatArray) -> FloatArray:
    """(N_BINS,) masses to the (N_BINS + 1,) shares below each edge, from 0 to 1."""
    below = np.zeros(N_BINS + 1)
    below[1:] = density
    below = below.cumsum()
    below /= below[-1]
    return below
