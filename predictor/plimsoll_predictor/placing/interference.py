"""Learns who slows whom from finished runs: a hierarchical ridge, solved a row at a time.

ln (runtime ÷ runtime alone) of a run of kind k is b_k + Σ_j e_j θ_kj + noise, e_j neighbours of
kind j weighted by time, and θ_kj = USUAL + m + r_k + c_j + δ_kj: all pairs alike, how much a kind
suffers, how much it harms, and what is special between both. Each part is normal around zero, so
few runs of a pair lean on what is known of its row, its column and all. Given m and c, rows do not
depend on each other: a fit solves a system of K + 1 unknowns for each of K kinds and one of K + 1
for all, instead of one of K². Beliefs of K kinds take K (K + 2)² numbers, whatever has run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from plimsoll_predictor.placing.encounter import MOST_BESIDE, Encounter
from plimsoll_predictor.placing.kinds import MOST_KINDS, OTHERS, Kinds
from plimsoll_predictor.placing.matrix import Array, Matrix
from plimsoll_predictor.placing.placed_run import PlacedRun

USUAL: Final = 0.2
"""Of a logarithm: what a neighbour costs as long as nothing is known."""
SPREAD_OF_ALL: Final = 0.2
SPREAD_OF_A_KIND: Final = 0.15
SPREAD_OF_A_PAIR: Final = 0.08
"""Standard deviations of m; of r, c and b; of δ at first."""
LEAST_SPREAD: Final = 0.02
MOST_SPREAD: Final = 0.5
SPREADS_APART: Final = 1.5
"""How special pairs are differs from cluster to cluster: each fit is compared with one of a spread
of δ that is larger or smaller by this factor, and the likelier of both is kept."""
RETENTION: Final = 0.9995
"""What all that is known counts after one more run: a change is learned within some hundred."""
NOISE: Final = 0.1
NOISE_RUNS: Final = 20.0
"""The standard deviation of a run held likely at first, and how many runs that counts as."""
LEAST_NOISE: Final = 0.01
LEAST_OF_OTHERS: Final = 1e-6
"""Of runs: with a smaller share there is nothing that a kind could be compared with."""
REFIT_EVERY: Final = 25
"""A fit is good for so many runs, or for a tenth of what it knew."""

MOST_FITS: Final = 12
STILL: Final = 0.01
"""At most so many more fits until noise moves by less than this share of it."""


@dataclass(slots=True)
class Interference:
    """What finished runs have taught so far.

    Rows are kinds. Of a row, ``gram`` is Σ w x xᵀ and ``moment`` Σ w x y over its runs, x = (1, e),
    and w fades. ``learn`` costs (K + 1)² operations, ``matrix`` K⁴ / 3 once in REFIT_EVERY runs.
    """

    most_kinds: int = MOST_KINDS
    retention: float = RETENTION
    kinds: Kinds = field(init=False)
    gram: Array = field(init=False)
    moment: Array = field(init=False)
    square: Array = field(init=False)
    weight: Array = field(init=False)
    noise: float = field(init=False, default=NOISE)
    spread_of_a_pair: float = field(init=False, default=SPREAD_OF_A_PAIR)
    runs: int = field(init=False, default=0)
    _unit: float = field(init=False, default=1.0)
    _fitted: Matrix | None = field(init=False, default=None)
    _fitted_runs: int = field(init=False, default=0)
    _wider: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.kinds = Kinds(self.retention, self.most_kinds)
        rows = self.most_kinds + 1
        self.gram = np.zeros((rows, rows + 1, rows + 1))
        self.moment = np.zeros((rows, rows + 1))
        self.square, self.weight = np.zeros(rows), np.zeros(rows)

    def learn(self, encounter: Encounter) -> None:
        """Take in one finished run."""
        taken = self.kinds.seen(encounter.kind)
        if taken is not None:
            self._give_to_others(taken)
            self._fitted = None
        row = self.kinds.place(encounter.kind)
        x, y = self._inputs(encounter.beside), encounter.bounded_log_slowdown
        self._unit /= self.retention
        known = np.flatnonzero(x)
        self.gram[row][np.ix_(known, known)] += self._unit * np.outer(x[known], x[known])
        self.moment[row][known] += self._unit * y * x[known]
        self.square[row] += self._unit * y * y
        self.weight[row] += self._unit
        self.runs += 1
        if self._unit > 1e9:
            self._rescale()

    def matrix(self) -> Matrix:
        """What is believed now; fitted again if enough is new.

        One fit takes the noise of the fit before, and of the first one a guess, so who learned many
        runs at once has several fits: a single one was up to three times as sure as runs allowed.
        """
        if self._fitted is None or self.is_stale:
            # More than the fit before knew, such as all that a store has when a controller starts.
            at_once = self.runs > 2 * self._fitted_runs
            self._fitted, self._fitted_runs = self._fit(), self.runs
            if at_once:
                self._fitted = self._settled(self._fitted)
        return self._fitted

    @property
    def is_stale(self) -> bool:
        """Whether enough is new for another fit."""
        if self._fitted is None or len(self._fitted.kinds) != len(self.kinds):
            return True
        new = self.runs - self._fitted_runs
        return new >= min(REFIT_EVERY, max(1, self._fitted_runs // 10))

    def apart(self) -> Interference:
        """Return a copy, to be fitted in another thread while this one learns on."""
        return deepcopy(self)

    def take_over(self, fitted: Interference) -> None:
        """Take over the fit of an earlier copy."""
        self.noise, self.spread_of_a_pair = fitted.noise, fitted.spread_of_a_pair
        self._wider, self._fitted_runs = fitted._wider, fitted._fitted_runs
        self._fitted = fitted._fitted

    def _inputs(self, beside: Mapping[str, float]) -> Array:
        x = np.zeros(self.most_kinds + 2)
        x[0] = 1.0
        for kind, count in beside.items():
            x[1 + self.kinds.place(kind)] += min(count, MOST_BESIDE)
        return x

    def _give_to_others(self, place: int) -> None:
        """Count what is known of a place as OTHERS': as a row, and as a neighbour in every row."""
        others = self.kinds.place(OTHERS)
        for of_rows in (self.gram, self.moment, self.square, self.weight):
            of_rows[others] += of_rows[place]
            of_rows[place] = 0.0
        to, of = others + 1, place + 1
        self.gram[:, to, :] += self.gram[:, of, :]
        self.gram[:, :, to] += self.gram[:, :, of]
        self.moment[:, to] += self.moment[:, of]
        self.gram[:, of, :] = self.gram[:, :, of] = 0.0
        self.moment[:, of] = 0.0

    def _rescale(self) -> None:
        for sums in (self.gram, self.moment, self.square, self.weight):
            sums /= self._unit
        self._unit = 1.0

    def _settled(self, matrix: Matrix) -> Matrix:
        """Fit on until noise and spread hold still."""
        for _ in range(MOST_FITS):
            noise, spread = self.noise, self.spread_of_a_pair
            matrix = self._fit()
            # After a fit whose narrower rival lost, too, the next one would try a wider again.
            both_lost = self.spread_of_a_pair == spread and self._wider
            if both_lost and abs(self.noise / noise - 1) < STILL:
                break
        return matrix

    def _fit(self) -> Matrix:
        size = len(self.kinds)
        gram = self.gram[:size, : size + 1, : size + 1] / self._unit
        moment = self.moment[:size, : size + 1] / self._unit
        fit = self._likelier(gram, moment)
        self.noise = self._noise_of(fit, gram, moment)
        beta, variance = fit.beta, fit.variance
        shares = np.array(self.kinds.shares())
        return Matrix(
            kinds=tuple(self.kinds),
            theta=beta[:, 1:],
            deviation=np.sqrt(variance[:, 1:]),
            own=beta[:, 0],
            shares=shares,
            apart=np.sqrt(fit.variance_apart(shares)),
        )

    def _likelier(self, gram: Array, moment: Array) -> _Fit:
        """Return the fit by the spread of pairs as it was, or by another if that is likelier."""
        fit = _Fit.of(gram, moment, self.noise, self.spread_of_a_pair)
        factor = SPREADS_APART if self._wider else 1 / SPREADS_APART
        spread = min(MOST_SPREAD, max(LEAST_SPREAD, self.spread_of_a_pair * factor))
        other = _Fit.of(gram, moment, self.noise, spread)
        if other.log_evidence > fit.log_evidence:
            self.spread_of_a_pair = spread
            return other
        self._wider = not self._wider
        return fit

    def _noise_of(self, fit: _Fit, gram: Array, moment: Array) -> float:
        """The standard deviation of runs around the fit, which the next fit uses."""
        size = len(moment)
        explained = 2 * np.sum(fit.beta * moment) - np.einsum(
            "ki,kij,kj->", fit.beta, gram, fit.beta
        )
        left = max(0.0, float(self.square[:size].sum() / self._unit - explained))
        runs = float(self.weight[:size].sum() / self._unit)
        variance = (NOISE**2 * NOISE_RUNS + left) / (NOISE_RUNS + runs)
        return max(LEAST_NOISE, float(np.sqrt(variance)))


def learned_from(runs: Iterable[PlacedRun]) -> Interference:
    """Learn from runs, in their order. Cost: (K + 1)² operations a run of K kinds."""
    interference = Interference()
    for run in runs:
        encounter = run.encounter
        if encounter is not None:
            interference.learn(encounter)
    return interference


@dataclass(frozen=True, slots=True)
class _Fit:
    """The posterior of all rows.

    beta: (b, θ) a row. variance: of each of these. log_evidence: of all runs, but for a constant.
    own, shared, spread: a row's covariance given what all share, that of what they share, and how
        much of it comes into a row.
    """

    beta: Array
    variance: Array
    log_evidence: float
    own: Array
    shared: Array
    spread: Array

    @classmethod
    def of(cls, gram: Array, moment: Array, noise: float, spread_of_a_pair: float) -> _Fit:
        """Solve for m and c with all rows' own parts integrated out, then for each row."""
        size = len(moment)
        prior = _precision_of_a_row(size, spread_of_a_pair)
        usual = np.full(size + 1, USUAL)
        usual[0] = 0.0
        shared = _shared_into_row(size)
        rows = _Rows.of(gram / noise**2, moment / noise**2, prior, usual)
        precision = np.diag(np.append(1 / SPREAD_OF_ALL**2, np.full(size, 1 / SPREAD_OF_A_KIND**2)))
        precision += shared.T @ (size * prior - prior @ rows.relaxed.sum(axis=0)) @ shared
        pull = shared.T @ (prior @ rows.alone.sum(axis=0))
        covariance = np.linalg.inv(precision)
        mean = covariance @ pull
        spread = rows.relaxed @ shared
        beta = usual + rows.alone + spread @ mean
        own = np.diagonal(rows.covariance, axis1=1, axis2=2)
        variance = own + ((spread @ covariance) * spread).sum(axis=2)
        evidence = rows.log_evidence + size * float(np.linalg.slogdet(prior)[1]) / 2
        evidence += (float(pull @ mean) - float(np.linalg.slogdet(precision)[1])) / 2
        return cls(beta, variance, evidence, rows.covariance, covariance, spread)

    def variance_apart(self, shares: Array) -> Array:
        """Return K × K variances: of θ_kj less what the other kinds do to k, by their shares.

        Infinite where there are no others.
        """
        weights = np.append(0.0, shares)
        with_usual = self.own @ weights
        with_usual += ((weights @ self.spread @ self.shared)[:, None, :] * self.spread).sum(axis=2)
        of_usual = (with_usual @ weights)[:, None]
        from_usual = np.maximum(0.0, self.variance - 2 * with_usual + of_usual)[:, 1:]
        of_others = 1.0 - shares
        alone = of_others <= LEAST_OF_OTHERS
        return np.where(alone, np.inf, from_usual / np.where(alone, 1.0, of_others) ** 2)


@dataclass(frozen=True, slots=True)
class _Rows:
    """All kinds, as if m and c were known: θ = usual + alone + relaxed · (what m and c add).

    alone: K × (K + 1). relaxed, covariance: K × (K + 1) × (K + 1). log_evidence: of all of them.
    """

    alone: Array
    relaxed: Array
    covariance: Array
    log_evidence: float

    @classmethod
    def of(cls, gram: Array, moment: Array, prior: Array, usual: Array) -> _Rows:
        """Solve all rows at once: one by one, K calls of Python would cost more than the work."""
        precision = gram + prior
        covariance = np.asarray(np.linalg.inv(precision), dtype=np.float64)
        left = moment - gram @ usual
        alone = np.einsum("kij,kj->ki", covariance, left)
        fits = float((left * alone).sum()) / 2
        return cls(
            alone=alone,
            relaxed=covariance @ prior,
            covariance=covariance,
            log_evidence=fits - float(np.linalg.slogdet(precision)[1].sum()) / 2,
        )


def _precision_of_a_row(size: int, spread_of_a_pair: float) -> Array:
    """Of (b, θ_1 ... θ_K) given m and c: θ share r, and differ by δ."""
    precision = np.zeros((size + 1, size + 1))
    precision[0, 0] = 1 / SPREAD_OF_A_KIND**2
    pair, kind = spread_of_a_pair**2, SPREAD_OF_A_KIND**2
    precision[1:, 1:] = (np.eye(size) - kind / (pair + size * kind)) / pair
    return precision


def _shared_into_row(size: int) -> Array:
    """What m and c_1 ... c_K add to (b, θ_1 ... θ_K)."""
    shared = np.zeros((size + 1, size + 1))
    shared[1:, 0] = 1.0
    shared[1:, 1:] = np.eye(size)
    return shared
