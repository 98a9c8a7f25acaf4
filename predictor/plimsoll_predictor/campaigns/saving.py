"""What sizing would save on all scenarios of a campaign, including those not yet run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.campaigns.needs import (
    MOST_COMPARED,
    MOST_FITTED,
    Array,
    Fitted,
    axes_of,
    fit,
    needs_of,
)
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState, latest_of
from plimsoll_predictor.deciding.memory import SHOWN_BY_KILLS
from plimsoll_predictor.model.bins import BinLimits, BinOption, search_bins

MOST_BINS: Final = 4
MEMBERS: Final = 2
LEAST_FOR_ESTIMATE: Final = 3
TOLD: Final = 0.25
"""Share of needs' spread that the features must explain for a run to count as its own kind."""
_FIFTHS: Final = np.asarray((-1.2816, -0.5244, 0.0, 0.5244, 1.2816))
"""The middles of five equal parts of a normal distribution."""
_LEAST_S: Final = 1.0
"""A run counts as at least this long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """A share of the memory-time that all scenarios would request today; negative for a loss.

    optimal: with a perfect choice of bins. expected: with the choice by the needs known so far.
    cautious: the same, if each size were a standard deviation above its likeliest need; it settles
    later than ``expected``, so campaigns stop by it. to_learn: what is saved in addition to that,
    on average, if the open scenarios' needs were known.
    """

    optimal: float
    expected: float
    cautious: float
    to_learn: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Scenarios whose need is known, (n,). alone, alone_errors: as only the others predict them."""

    needs: Array
    held_s: Array
    logs: Array
    errors: Array
    alone: Array
    alone_errors: Array

    @property
    def told(self) -> float:
        """How far features explain needs; 1 if the others predict a need as well as TOLD asks."""
        logs = np.log(self.needs)
        spread = float(((logs - logs.mean()) ** 2).sum())
        missed = float(((logs - self.alone) ** 2).sum())
        return 1.0 if spread == 0 else float(np.clip((1.0 - missed / spread) / TOLD, 0.0, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """Scenarios whose need is not known yet, as they are predicted, (m,)."""

    held_s: Array
    logs: Array
    errors: Array


def best_bins(learned: Sequence[CampaignRun], reference_bytes: int) -> BinOption | None:
    """The bins that would save most with a perfect choice; None if no need is known."""
    if not learned:
        return None
    return _best(needs_of(learned), held_s_of(learned), reference_bytes)


def saving_of(
    runs: Sequence[CampaignRun], reference_bytes: int, newest_left_out: int = 0
) -> Saving | None:
    """What sizing would save, as far as is known; None if fewer than 3 needs are known.

    A scenario that was run gets the bin of its need. An open one gets the bin of the least expected
    cost, as experts bid: the bin, and what the next attempt gets with the probability that the need
    is above the bin. As far as features explain little, a scenario that was run gets its bin in the
    same way, by the others' needs alone. One that ended without a need does not count.

    runs: all attempts at all scenarios. newest_left_out: how many of the newest needs count as
    unknown.
    """
    learned = learned_of(runs)
    count = len(learned) - newest_left_out
    if count < LEAST_FOR_ESTIMATE:
        return None
    still = [run for run in latest_of(runs).values() if run.state.is_open]
    axes = axes_of([run.values for run in runs])
    known, later = learned[:count], [*learned[count:], *still]
    fitted = fit(axes, known[-MOST_FITTED:])
    there = _known(fitted, axes.of([run.values for run in known]), known)
    taken = later[:: -(-len(later) // MOST_COMPARED) or 1]
    scale = sum(run.weight for run in later) / max(1, sum(run.weight for run in taken))
    ahead = _open(fitted, axes.of([run.values for run in taken]), taken, known[-MOST_FITTED:])
    ahead = _Open(held_s=ahead.held_s * scale, logs=ahead.logs, errors=ahead.errors)
    return _saved(there, ahead, float(reference_bytes))


def learned_of(runs: Sequence[CampaignRun]) -> list[CampaignRun]:
    """The runs whose need is known, in the order in which they ended."""
    known = [run for run in runs if run.state is RunState.LEARNED and run.peak_bytes]
    return sorted(known, key=lambda run: (run.ended_s or 0.0, run.key))


def held_s_of(learned: Sequence[CampaignRun]) -> Array:
    """Seconds that memory is held, each run times its weight, (n,)."""
    return np.asarray([(run.runtime_s or 0.0) * run.weight for run in learned])


def _known(fitted: Fitted, at: Array, runs: Sequence[CampaignRun]) -> _Known:
    logs, errors = fitted.logs_at(at)
    alone, alone_errors = logs.copy(), errors.copy()
    # The fit has not seen older ones, so they are predicted from others already.
    newest = slice(max(0, len(runs) - MOST_FITTED), None)
    alone[newest], alone_errors[newest] = fitted.left_out()
    return _Known(
        needs=needs_of(runs),
        held_s=_lengths_s(runs) * _weights(runs),
        logs=logs,
        errors=errors,
        alone=alone,
        alone_errors=alone_errors,
    )


def _open(
    fitted: Fitted, at: Array, runs: Sequence[CampaignRun], known: Sequence[CampaignRun]
) -> _Open:
    logs, errors = fitted.logs_at(at)
    held_s = fitted.likewise(at, _lengths_s(known)) * _weights(runs)
    return _Open(held_s=held_s, logs=logs, errors=errors)


def _saved(known: _Known, later: _Open, reference_bytes: float) -> Saving:
    """Add up what is requested and used, in bytes x seconds."""
    most = math.log(SHOWN_BY_KILLS * float(known.needs.max()))
    parts = np.exp(np.minimum(most, later.logs[:, None] + later.errors[:, None] * _FIFTHS)).ravel()
    needs = np.concatenate([known.needs, parts])
    held_s = np.concatenate([known.held_s, np.repeat(later.held_s / len(_FIFTHS), len(_FIFTHS))])
    option = _best(needs, held_s, reference_bytes)
    requested = reference_bytes * float(held_s.sum())
    cautious, to_learn = _cautious_cost(option, known, later, reference_bytes)
    return Saving(
        optimal=option.time_based_optimal_improvement,
        expected=1.0 - _least_cost(option, known, later, reference_bytes) / requested,
        cautious=1.0 - cautious / requested,
        to_learn=to_learn / requested,
    )


def _least_cost(option: BinOption, known: _Known, later: _Open, reference_bytes: float) -> float:
    """The memory-time held, if each bin is chosen by its expected cost."""
    ceilings: Array = np.asarray(option.bins.ceilings_bytes, dtype=np.float64)
    fitting = option.bins.labels(known.needs)
    # The next attempt gets today's request. A need above it is lifted until its bin fits.
    again = np.maximum(ceilings, reference_bytes)
    ahead = _costs(ceilings, again, later.logs, later.errors).min(axis=1)
    chosen = _costs(ceilings, again, known.alone, known.alone_errors).argmin(axis=1)
    told, failed = known.told, chosen < fitting
    by_others = ceilings[chosen] + failed * np.where(
        known.needs > reference_bytes, ceilings[fitting], reference_bytes
    )
    sizes = told * ceilings[fitting] + (1.0 - told) * by_others
    return float((sizes * known.held_s).sum() + (ahead * later.held_s).sum())


def _costs(ceilings: Array, again: Array, logs: Array, errors: Array) -> Array:
    """The expected cost of each bin for each scenario, (m, bins). again: a next attempt's size."""
    above = _above(ceilings, logs, errors)
    fits = -np.diff(above, axis=1, prepend=1.0)
    next_: Array = np.cumsum((fits * again)[:, ::-1], axis=1)[:, ::-1] - fits * again
    # A need above the last ceiling was never seen: its next attempt counts as the last bin's.
    costs: Array = ceilings + next_ + above[:, -1:] * again[-1]
    return costs


def _above(ceilings: Array, logs: Array, errors: Array) -> Array:
    """The probability that a need is above a ceiling, (m, bins)."""
    deviations = (np.log(ceilings) - logs[:, None]) / errors[:, None]
    above: Array = 0.5 * np.vectorize(math.erfc, otypes=[np.float64])(deviations / math.sqrt(2.0))
    return above


def _cautious_cost(
    option: BinOption, known: _Known, later: _Open, reference_bytes: float
) -> tuple[float, float]:
    """The memory-time held, if sizes are a standard deviation above; and how much is to learn."""
    by_need = _cost(option, known.logs, known.errors, known, reference_bytes)
    by_others = _cost(option, known.alone, known.alone_errors, known, reference_bytes)
    ahead, if_known = _costs_ahead(option, later, reference_bytes)
    told = known.told
    # Where needs exceed the request, a size that is too small may be cheaper than the right one.
    return told * by_need + (1.0 - told) * by_others + ahead, max(0.0, ahead - if_known)


def _costs_ahead(option: BinOption, later: _Open, reference_bytes: float) -> tuple[float, float]:
    """What open scenarios cost on average: sized by the known needs, and if all were known."""
    ceilings: Array = np.asarray(option.bins.ceilings_bytes, dtype=np.float64)
    above = _above(ceilings, later.logs, later.errors)
    chosen = option.bins.labels(np.exp(later.logs + later.errors))
    failed = above[np.arange(len(chosen)), chosen]
    # A need above the last ceiling gets that ceiling all the same.
    fits = -np.diff(above[:, :-1], axis=1, prepend=1.0, append=0.0)
    ahead = (ceilings[chosen] + failed * reference_bytes) * later.held_s
    if_known = (fits @ ceilings) * later.held_s
    return float(ahead.sum()), float(if_known.sum())


def _cost(
    option: BinOption, logs: Array, errors: Array, known: _Known, reference_bytes: float
) -> float:
    """The memory-time held, plus today's request wherever the size would be too small."""
    ceilings: Array = np.asarray(option.bins.ceilings_bytes, dtype=np.float64)
    sizes = ceilings[option.bins.labels(np.exp(logs + errors))]
    failed = sizes < known.needs
    return float(((sizes + failed * reference_bytes) * known.held_s).sum())


def _best(needs: Array, held_s: Array, reference_bytes: float) -> BinOption:
    limits = BinLimits(
        reference_bytes=float(reference_bytes), max_bins=MOST_BINS, min_members=MEMBERS
    )
    options = search_bins(needs, held_s, limits)
    return max(options, key=lambda each: each.time_based_optimal_improvement)


def _lengths_s(runs: Sequence[CampaignRun]) -> Array:
    return np.asarray([max(run.runtime_s or 0.0, _LEAST_S) for run in runs])


def _weights(runs: Sequence[CampaignRun]) -> NDArray[np.float64]:
    return np.asarray([float(run.weight) for run in runs])
