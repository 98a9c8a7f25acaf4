"""What a scenario will need, and how certain that is: a Gaussian process over the scenarios.

Numpy alone, because it runs in the controller between two runs: a few hundred runs of a handful of
features take milliseconds. Rasmussen and Williams, "Gaussian Processes for Machine Learning",
algorithm 2.1 and equation 5.12 (leave-one-out).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.scenarios import number_of

Array = NDArray[np.float64]

LENGTHS: Final = (0.15, 0.3, 0.6, 1.2, 5.0)
"""Over how much of a feature's range needs resemble each other; the last: it hardly matters."""
CENTRE: Final = 0.5
SLOPE: Final = 0.6
"""Prior variance of a slope over an axis of length 1; more where needs change fast."""
NOISES: Final = (0.02, 0.1, 0.3)
"""Share of the needs' spread that the features do not explain."""
FITTED_AGAIN: Final = 2
MOST_FITTED: Final = 300
"""The newest runs that are fitted to."""
LIKELY: Final = 1.2816
"""Standard deviations from the middle to where nine of ten lie below."""
CATEGORY: Final = 0.5
"""Distance of two categories, as a share of a number's range."""
MOST_CATEGORIES: Final = 20
LEAST_SPREAD: Final = 0.05
"""Spread of the logarithm of needs below which all count as alike."""
WIDE: Final = 50.0
"""A feature whose largest value is so many times its smallest counts by its logarithm."""


@dataclass(frozen=True, slots=True)
class Axes:
    """Turns texts of features into numbers between 0 and 1, (n, n_axes)."""

    columns: tuple[tuple[str, tuple[float, float, bool] | str], ...]

    def of(self, rows: Sequence[Mapping[str, str]]) -> Array:
        """The numbers of some scenarios."""
        table = np.zeros((len(rows), max(1, len(self.columns))))
        for place, (name, how) in enumerate(self.columns):
            table[:, place] = [_placed(row.get(name), how) for row in rows]
        return table


def axes_of(rows: Sequence[Mapping[str, str]]) -> Axes:
    """The axes that the scenarios of a campaign span; a feature that never differs has none."""
    names = sorted({name for row in rows for name in row})
    columns: list[tuple[str, tuple[float, float, bool] | str]] = []
    for name in names:
        texts = [row[name] for row in rows if name in row]
        numbers = [number_of(text) for text in texts]
        known = [each for each in numbers if each is not None]
        if len(known) == len(texts):
            low, high = min(known), max(known)
            if high > low:
                wide = low > 0 and high / low > WIDE
                columns.append((name, (low, high, wide)))
        else:
            kinds = sorted(set(texts))[:MOST_CATEGORIES]
            columns.extend((name, kind) for kind in kinds if len(kinds) > 1)
    return Axes(tuple(columns))


def _placed(text: str | None, how: tuple[float, float, bool] | str) -> float:
    if isinstance(how, str):
        return CATEGORY if text == how else 0.0
    number = None if text is None else number_of(text)
    if number is None:
        return 0.5
    low, high, wide = how
    if wide:
        return float(np.log(max(number, low) / low) / np.log(high / low))
    return (number - low) / (high - low)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fit to known needs. at: (n, d). middle, spread: of the logarithm of needs."""

    at: Array
    lengths: Array
    noise: float
    inverse: Array
    weights: Array
    middle: float
    spread: float

    def predict(self, at: Array) -> tuple[Array, Array]:
        """The likeliest need in bytes and its uncertainty, (m, d) -> (m,), (m,).

        The uncertainty is the width of the range in which four of five such needs lie, in bytes.
        """
        across = _kernel(at, self.at, self.lengths)
        means = self.middle + self.spread * (across @ self.weights)
        own = _own(at, self.lengths) + self.noise
        left = own - np.einsum("ij,jk,ik->i", across, self.inverse, across)
        errors = self.spread * np.sqrt(np.maximum(left, 1e-9))
        upper, lower = np.exp(means + LIKELY * errors), np.exp(means - LIKELY * errors)
        return np.exp(means), upper - lower

    def left_out(self) -> tuple[Array, Array]:
        """Each known need as the others predict it: logarithm of bytes, its error; (n,), (n,)."""
        own = np.diag(self.inverse)
        known = self.weights / own
        back = np.linalg.solve(self.inverse, self.weights)
        return self.middle + self.spread * (back - known), self.spread / np.sqrt(own)


def fit(at: Array, needs_bytes: Array) -> Fitted:
    """Fit to needs, (n, d), (n,); n is at least 1.

    The length of each axis and the noise are those of the highest marginal likelihood on a grid,
    axis by axis.
    """
    logs = np.log(needs_bytes)
    middle, spread = float(logs.mean()), max(float(logs.std()), LEAST_SPREAD)
    goals = (logs - middle) / spread
    lengths, noise = np.full(at.shape[1], LENGTHS[2]), NOISES[1]
    for _ in range(FITTED_AGAIN if len(goals) > 2 else 0):
        for axis in range(at.shape[1]):
            lengths = max(
                (_with(lengths, axis, length) for length in LENGTHS),
                key=lambda each: _likelihood(at, goals, each, noise),
            )
        noise = max(NOISES, key=lambda each: _likelihood(at, goals, lengths, each))
    inverse: Array = np.asarray(np.linalg.inv(_covariance(at, lengths, noise)), dtype=np.float64)
    return Fitted(at, lengths, noise, inverse, inverse @ goals, middle, spread)


def least_certain(runs: Sequence[CampaignRun], waiting: Sequence[CampaignRun]) -> CampaignRun:
    """The waiting run whose need is least certain; of several alike, the first.

    A run under way counts as known at what it is predicted to need, so that two at once do not ask
    the same. Before any need is known, it is the one that is least like those under way.
    """
    axes = axes_of([run.values for run in runs])
    learned = [run for run in runs if run.state is RunState.LEARNED and run.peak_bytes]
    learned = sorted(learned, key=lambda run: run.ended_s or 0.0)[-MOST_FITTED:]
    going = [run for run in runs if run.state.is_under_way or run.state is RunState.EXECUTED]
    candidates = sorted(waiting, key=lambda run: run.key)
    at = axes.of([run.values for run in candidates])
    if not learned:
        return candidates[_farthest(at, axes.of([run.values for run in going]))]
    known, needs = axes.of([run.values for run in learned]), _needs(learned)
    fitted = fit(known, needs)
    if going:
        there = axes.of([run.values for run in going])
        expected = fitted.predict(there)[0]
        fitted = _refit(fitted, np.vstack([known, there]), np.append(needs, expected))
    return candidates[int(np.argmax(np.round(fitted.predict(at)[1])))]


def needs_of(runs: Sequence[CampaignRun]) -> Array:
    """The needs of runs that are known, (n,)."""
    return _needs(runs)


def _needs(runs: Sequence[CampaignRun]) -> Array:
    return np.asarray([float(run.peak_bytes or 1) for run in runs])


def _farthest(at: Array, taken: Array) -> int:
    if not len(taken):
        # The middle says most about all others.
        return int(np.argmin(((at - at.mean(axis=0)) ** 2).sum(axis=1)))
    distances = ((at[:, None, :] - taken[None, :, :]) ** 2).sum(axis=2).min(axis=1)
    return int(np.argmax(distances))


def _refit(before: Fitted, at: Array, needs_bytes: Array) -> Fitted:
    """Add needs to a fit, without looking for other lengths."""
    goals = (np.log(needs_bytes) - before.middle) / before.spread
    covariance = _covariance(at, before.lengths, before.noise)
    inverse: Array = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    weights = inverse @ goals
    return Fitted(at, before.lengths, before.noise, inverse, weights, before.middle, before.spread)


def _with(lengths: Array, axis: int, length: float) -> Array:
    changed = lengths.copy()
    changed[axis] = length
    return changed


def _kernel(one: Array, other: Array, lengths: Array) -> Array:
    """Matérn 5/2 and a slope: needs are continuous, and mostly rise with what there is to do."""
    apart = one[:, None, :] / lengths - other[None, :, :] / lengths
    distance: Array = np.sqrt(5.0 * (apart**2).sum(axis=2))
    near = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
    result: Array = near + ((one - CENTRE) * (SLOPE / lengths)) @ (other - CENTRE).T
    return result


def _own(at: Array, lengths: Array) -> Array:
    """The kernel of each with itself, (n, d) -> (n,)."""
    own: Array = 1.0 + ((at - CENTRE) ** 2 * (SLOPE / lengths)).sum(axis=1)
    return own


def _covariance(at: Array, lengths: Array, noise: float) -> Array:
    covariance: Array = _kernel(at, at, lengths) + (noise + 1e-8) * np.eye(len(at))
    return covariance


def _likelihood(at: Array, goals: Array, lengths: Array, noise: float) -> float:
    lower: NDArray[Any] = np.linalg.cholesky(_covariance(at, lengths, noise))
    halves = np.linalg.solve(lower, goals)
    return float(-0.5 * halves @ halves - np.log(np.diag(lower)).sum())
