"""What a scenario will need, and how certain that is: a Gaussian process over the scenarios.

Numpy alone, because it runs in the controller between two runs: a few hundred runs of a handful of
features take milliseconds. Rasmussen and Williams, "Gaussian Processes for Machine Learning",
algorithm 2.1 and equation 5.12 (leave-one-out).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.scenarios import number_of

Array = NDArray[np.float64]

LENGTHS: Final = (0.15, 0.3, 0.6, 1.2, 5.0)
"""Shares of a feature's range over which needs are alike; with the last, it hardly matters."""
CENTRE: Final = 0.5
SLOPE: Final = 0.6
"""Prior variance of a slope over an axis of length 1; more where needs change fast."""
NOISES: Final = (0.02, 0.1, 0.3)
"""Share of the needs' spread that the features do not explain."""
FITTED_AGAIN: Final = 2
MOST_FITTED: Final = 300
"""The most runs of a fit: the newest."""
FITS_KEPT: Final = 128
"""More than the largest ``stop.runs`` (100): each look asks for one more fit than that, in turn."""
MOST_COMPARED: Final = 1000
"""The most waiting scenarios to compare; of more, every second, third and so on is taken."""
LIKELY: Final = 1.2816
"""Standard deviations above the middle; nine of ten values lie below."""
CATEGORY: Final = 0.5
"""Distance of two categories, as a share of a number's range."""
MOST_CATEGORIES: Final = 20
LEAST_SPREAD: Final = 0.05
"""If the logarithms of needs spread less than this, all needs count as alike."""
_DATE_CHARS: Final = len("2026-01-31")
ODD: Final = 4.0
"""A need that is so many times below what all other runs tell of it ..."""
ODD_BY: Final = 3.0
"""... and so many standard deviations, tells nothing of others: that run had nothing to do."""
WIDE: Final = 50.0
"""If a feature's largest value is so many times its smallest, its logarithm counts."""


@dataclass(frozen=True, slots=True)
class Axes:
    """Turns texts of features into numbers between 0 and 1, (n, n_axes).

    A category has an axis for each of its values; these share the feature's length.
    """

    columns: tuple[tuple[str, tuple[float, float, bool] | str], ...]

    @property
    def features(self) -> tuple[int, ...]:
        """The index of each axis's feature, from 0."""
        names = list(dict.fromkeys(name for name, _ in self.columns))
        return tuple(names.index(name) for name, _ in self.columns) or (0,)

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
        numbers = [_amount(text) for text in texts]
        known = [each for each in numbers if each is not None]
        if len(known) == len(texts):
            low, high = min(known), max(known)
            if high > low and math.isfinite(high - low):
                wide = low > 0 and high / low > WIDE
                columns.append((name, (low, high, wide)))
        else:
            kinds = sorted(set(texts))[:MOST_CATEGORIES]
            columns.extend((name, kind) for kind in kinds if len(kinds) > 1)
    return Axes(tuple(columns))


def _amount(text: str) -> float | None:
    """The number in a text, or the day of a date; None if it is neither."""
    number = number_of(text)
    return day_of(text) if number is None else number


def day_of(text: str) -> float | None:
    """The day of a date such as 2026-01-31, counted from the year 1; None for other text."""
    if len(text) != _DATE_CHARS:
        return None
    try:
        return float(date.fromisoformat(text).toordinal())
    except ValueError:
        return None


def _placed(text: str | None, how: tuple[float, float, bool] | str) -> float:
    if isinstance(how, str):
        return CATEGORY if text == how else 0.0
    number = None if text is None else _amount(text)
    if number is None:
        return 0.5
    low, high, wide = how
    if wide:
        # Not the logarithm of a quotient: the quotient of two distant numbers may overflow.
        return float((np.log(max(number, low)) - np.log(low)) / (np.log(high) - np.log(low)))
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
        means, errors = self.logs_at(at)
        upper, lower = np.exp(means + LIKELY * errors), np.exp(means - LIKELY * errors)
        return np.exp(means), upper - lower

    def logs_at(self, at: Array) -> tuple[Array, Array]:
        """The logarithm of needs in bytes, and its standard deviation, (m, d) -> (m,), (m,)."""
        across = _kernel(at, self.at, self.lengths)
        means: Array = self.middle + self.spread * (across @ self.weights)
        own = _own(at, self.lengths) + self.noise
        left = own - ((across @ self.inverse) * across).sum(axis=1)
        return means, self.spread * np.sqrt(np.maximum(left, 1e-9))

    def likewise(self, at: Array, known: Array) -> Array:
        """Predict another figure that is known of the same runs, (m, d), (n,) above 0 -> (m,).

        The figure is assumed to depend on the features over the same lengths as the need.
        """
        logs = np.log(known)
        across = _kernel(at, self.at, self.lengths)
        # Not beyond what was seen: a length that is guessed too large would outweigh all others.
        told = logs.mean() + across @ (self.inverse @ (logs - logs.mean()))
        return np.asarray(np.exp(np.clip(told, logs.min(), logs.max())))

    def left_out(self) -> tuple[Array, Array]:
        """Each known need as the others predict it: logarithm of bytes, its error; (n,), (n,)."""
        own = np.diag(self.inverse)
        known = self.weights / own
        back = np.linalg.solve(self.inverse, self.weights)
        return self.middle + self.spread * (back - known), self.spread / np.sqrt(own)


def fit(axes: Axes, runs: Sequence[CampaignRun]) -> Fitted:
    """Fit to the known needs of runs; at least one need is known.

    The length of each feature and the noise are those of the highest marginal likelihood on a grid,
    feature by feature. A need that is ODD counts as what the others tell of it.
    """
    known = tuple((tuple(sorted(run.values.items())), run.peak_bytes or 1) for run in runs)
    return _fitted(axes, known)


@lru_cache(FITS_KEPT)  # a fit takes a third of a second, and is asked for every few seconds
def _fitted(axes: Axes, known: tuple[tuple[tuple[tuple[str, str], ...], int], ...]) -> Fitted:
    at = axes.of([dict(values) for values, _ in known])
    logs = np.log(np.asarray([float(need) for _, need in known]))
    fitted = _fitted_to(axes, at, logs)
    alone, errors = fitted.left_out()
    odd = logs < alone - np.maximum(math.log(ODD), ODD_BY * errors)
    return _fitted_to(axes, at, np.where(odd, alone, logs)) if odd.any() else fitted


def _fitted_to(axes: Axes, at: Array, logs: Array) -> Fitted:
    of_feature = np.asarray(axes.features)
    middle, spread = float(logs.mean()), max(float(logs.std()), LEAST_SPREAD)
    goals = (logs - middle) / spread
    lengths, noise = np.full(at.shape[1], LENGTHS[2]), NOISES[1]
    for _ in range(FITTED_AGAIN if len(goals) > 2 else 0):
        for feature in sorted(set(axes.features)):
            its = of_feature == feature
            lengths = max(
                (np.where(its, length, lengths) for length in LENGTHS),
                key=lambda each: _likelihood(at, goals, each, noise),
            )
        noise = max(NOISES, key=lambda each: _likelihood(at, goals, lengths, each))
    inverse: Array = np.asarray(np.linalg.inv(_covariance(at, lengths, noise)), dtype=np.float64)
    return Fitted(at, lengths, noise, inverse, inverse @ goals, middle, spread)


def least_certain(runs: Sequence[CampaignRun], waiting: Sequence[CampaignRun]) -> CampaignRun:
    """The waiting run whose need is least certain; the first if several are alike.

    The predicted need of a run under way counts as known, so that two runs at once do not ask the
    same. Before any need is known, it is the run that is least like those under way.
    """
    axes = axes_of([run.values for run in runs])
    learned = [run for run in runs if run.state is RunState.LEARNED and run.peak_bytes]
    learned = sorted(learned, key=lambda run: run.ended_s or 0.0)[-MOST_FITTED:]
    going = [run for run in runs if run.state.is_under_way or run.state is RunState.EXECUTED]
    candidates = sorted(waiting, key=lambda run: run.key)
    candidates = candidates[:: -(-len(candidates) // MOST_COMPARED)]
    at = axes.of([run.values for run in candidates])
    if not learned:
        return candidates[_farthest(at, axes.of([run.values for run in going]))]
    fitted = fit(axes, learned)
    if going:
        there = axes.of([run.values for run in going])
        needs = np.append(needs_of(learned), fitted.predict(there)[0])
        fitted = _refit(fitted, np.vstack([fitted.at, there]), needs)
    return candidates[int(np.argmax(np.round(fitted.predict(at)[1])))]


def needs_of(runs: Sequence[CampaignRun]) -> Array:
    """The needs of runs that are known, (n,)."""
    return np.asarray([float(run.peak_bytes or 1) for run in runs])


def _farthest(at: Array, taken: Array) -> int:
    if not len(taken):
        # The middle says most about all others.
        return int(np.argmin(((at - at.mean(axis=0)) ** 2).sum(axis=1)))
    return int(np.argmax(np.round(_apart(at, taken).min(axis=1), 6)))


def _refit(before: Fitted, at: Array, needs_bytes: Array) -> Fitted:
    """Add needs to a fit, without looking for other lengths."""
    goals = (np.log(needs_bytes) - before.middle) / before.spread
    covariance = _covariance(at, before.lengths, before.noise)
    inverse: Array = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    weights = inverse @ goals
    return Fitted(at, before.lengths, before.noise, inverse, weights, before.middle, before.spread)


def _kernel(one: Array, other: Array, lengths: Array) -> Array:
    """Matérn 5/2 and a slope: needs are continuous, and mostly rise with what there is to do."""
    distance = np.sqrt(5.0 * _apart(one / lengths, other / lengths))
    near = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
    result: Array = near + ((one - CENTRE) * (SLOPE / lengths)) @ (other - CENTRE).T
    return result


def _apart(one: Array, other: Array) -> Array:
    """Squared distances, (n, d), (m, d) -> (n, m)."""
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)[None, :]
    apart: Array = np.maximum(squares - 2.0 * one @ other.T, 0.0)
    return apart


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
