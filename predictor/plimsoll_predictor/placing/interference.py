"""Learns from finished runs which kinds slow which, and forgets slowly.

It keeps only sums over runs; ``ridge`` says what they mean. Beliefs about K kinds take K (K + 2)²
numbers, however much has run.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from plimsoll_predictor.placing.encounter import MOST_BESIDE, MOST_LOG_SLOWDOWN, Encounter
from plimsoll_predictor.placing.kinds import MOST_KINDS, OTHERS, Kinds
from plimsoll_predictor.placing.matrix import Array, Matrix
from plimsoll_predictor.placing.overlaps import linear_in_theta, most_log_slowdown
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.placing.ridge import USUAL, Fit, grown, guess, without

RETENTION: Final = 0.9995
"""How much all knowledge counts after one more run: half of it is left after 1,386 runs."""
LEAST_RUNS: Final = 0.5
"""Runs of a kind that have not faded: with fewer, its row says nothing about other rows."""
NOISE: Final = 0.1
NOISE_RUNS: Final = 20.0
"""The likely standard deviation of a run at first, and how many runs that counts as. For each kind,
the noise of all counts as so many runs, too."""
LEAST_NOISE: Final = 0.01
CLEARLY_SLOWER: Final = 2.0
"""In deviations of a kind's runs: a run so much slower than neighbours explain has other causes."""
OTHER_CAUSES_COUNT: Final = 0.1
"""Such a run counts as so much of one that ran alone. Few of them hardly move what a kind does by
itself; but if all runs are like that, because the forecast is wrong, it is soon learned."""
REFIT_EVERY: Final = 25
"""A fit is good for so many runs, or for a tenth of what it knew."""

PASSES: Final = 2
"""Runs that are learned all at once are learned again with what that taught: see ``overlaps``."""
MOST_FITS: Final = 12
STILL: Final = 0.01
"""At most so many more fits until noise, and what rows differ by, move by less than this share."""


@dataclass(slots=True)
class Interference:
    """What finished runs have taught so far.

    Rows are kinds. In a row, ``gram`` is Σ w x xᵀ and ``moment`` Σ w x y over its runs, x = (1, e),
    and w fades. ``learn`` costs (K + 1)² operations, ``matrix`` some K⁴ once in REFIT_EVERY runs.
    """

    most_kinds: int = MOST_KINDS
    retention: float = RETENTION
    kinds: Kinds = field(init=False)
    gram: Array = field(init=False)
    moment: Array = field(init=False)
    square: Array = field(init=False)
    weight: Array = field(init=False)
    noise: float = field(init=False, default=NOISE)
    """The standard deviation of runs of all kinds together, a geometric mean."""
    row_noise: Array = field(init=False)
    """The standard deviation of each kind's runs. It leans on that of all by NOISE_RUNS."""
    covariance: Array = field(init=False, default_factory=lambda: guess(0))
    """The covariance of rows' differences from what all share, learned from the fitted rows."""
    runs: int = field(init=False, default=0)
    _unit: float = field(init=False, default=1.0)
    _fitted: Matrix | None = field(init=False, default=None)
    _fitted_runs: int = field(init=False, default=0)
    _latest: Matrix | None = field(init=False, default=None)
    """The latest fit, though it may be of kinds that have lost their places since."""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.kinds = Kinds(self.retention, self.most_kinds)
        rows = self.most_kinds + 1
        self.gram = np.zeros((rows, rows + 1, rows + 1))
        self.moment = np.zeros((rows, rows + 1))
        self.square, self.weight = np.zeros(rows), np.zeros(rows)
        self.row_noise = np.full(rows, NOISE)

    def learn(self, encounter: Encounter) -> None:
        """Take in one finished run; one with other causes teaches nothing about neighbours."""
        taken = self.kinds.seen(encounter.kind)
        if taken is not None:
            self._give_to_others(taken)
            self.covariance = without(self.covariance, taken)
            self.row_noise[taken] = self.noise
            self._fitted = None
        row = self.kinds.place(encounter.kind)
        self._unit /= self.retention
        weight = self._unit
        if self._has_other_causes(encounter):
            encounter = replace(encounter, beside={})
            weight *= OTHER_CAUSES_COUNT
        x, offset = self._inputs(encounter)
        y = encounter.bounded_log_slowdown - offset
        known = np.flatnonzero(x)
        self.gram[row][np.ix_(known, known)] += weight * np.outer(x[known], x[known])
        self.moment[row][known] += weight * y * x[known]
        self.square[row] += weight * y * y
        self.weight[row] += weight
        self.runs += 1
        if self._unit > 1e9:
            self._rescale()

    def matrix(self) -> Matrix:
        """What is believed now; fitted again if enough is new.

        A fit takes the noise of the fit before, and the first one takes a guess. So if many runs
        were learned at once, there are several fits: a single one was up to three times as sure as
        the runs allowed.
        """
        if self._fitted is None or self.is_stale:
            # More runs than the last fit knew, such as a whole store when a controller starts.
            at_once = self.runs > 2 * self._fitted_runs
            self._fitted, self._fitted_runs = self._fit(), self.runs
            if at_once:
                self._fitted = self._settled(self._fitted)
            self._latest = self._fitted
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

    def afresh(self) -> Interference:
        """Return one that has learned nothing, and begins with what this one believes."""
        begun = Interference(self.most_kinds, self.retention)
        if self.runs:
            begun._latest = self.matrix()
        return begun

    def take_over(self, fitted: Interference) -> None:
        """Take over the fit of an earlier copy."""
        self.noise, self.row_noise = fitted.noise, fitted.row_noise
        self.covariance = fitted.covariance
        self._fitted, self._fitted_runs = fitted._fitted, fitted._fitted_runs
        self._latest = fitted._latest

    def _has_other_causes(self, encounter: Encounter) -> bool:
        """Say whether a run beside others is slower than they explain, whatever they do.

        Few such runs would give their neighbours any θ: near the most that a neighbour can do,
        more θ hardly slows a run any more. Before the first fit of its kind nobody can tell.
        """
        latest, row = self._latest, self.kinds.place(encounter.kind)
        if latest is None or not any(encounter.beside.values()):
            return False
        fitted = latest.place(encounter.kind)
        if latest.noise is None or (row and not fitted):
            return False
        beside, of_others = self._beside(encounter)
        explained = float(latest.own[fitted]) + of_others * MOST_LOG_SLOWDOWN
        explained += most_log_slowdown(np.array(list(beside.values())))
        luck = CLEARLY_SLOWER * float(latest.noise[fitted])
        return encounter.bounded_log_slowdown > explained + luck

    def _beside(self, encounter: Encounter) -> tuple[dict[str, float], float]:
        """Return how many of each kind that has a place were beside a run, and of all others."""
        beside, of_others = dict[str, float](), 0.0
        for kind, count in encounter.beside.items():
            bounded = min(count, MOST_BESIDE)
            if self.kinds.place(kind):
                beside[kind] = bounded
            else:  # nobody knows how OTHERS came and went
                of_others += bounded
        return beside, of_others

    def _inputs(self, encounter: Encounter) -> tuple[Array, float]:
        """Return x, and what to subtract from y so that it is linear in θ."""
        beside, of_others = self._beside(encounter)
        x = np.zeros(self.most_kinds + 2)
        x[:2] = 1.0, of_others
        theta = np.array([self._believed(encounter.kind, kind) for kind in beside])
        slope, offset = linear_in_theta(np.array(list(beside.values())), theta)
        x[[1 + self.kinds.place(kind) for kind in beside]] = slope
        return x, offset

    def _believed(self, kind: str, neighbour: str) -> float:
        """θ by the latest fit, which may have known other kinds."""
        if self._latest is None or not self._latest.place(neighbour):
            return USUAL
        return float(self._latest.theta[self._latest.place(kind), self._latest.place(neighbour)])

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
        """Fit again until noise and the differences of rows hold still."""
        for _ in range(MOST_FITS):
            noise, spread = self.row_noise, float(np.trace(self.covariance))
            matrix = self._fit()
            moved = np.append(self.row_noise / noise, np.trace(self.covariance) / spread) - 1
            if np.abs(moved).max() < STILL:
                break
        return matrix

    def _fit(self) -> Matrix:
        size = len(self.kinds)
        gram = self.gram[:size, : size + 1, : size + 1] / self._unit
        moment = self.moment[:size, : size + 1] / self._unit
        fit = Fit.of(gram, moment, self.row_noise[:size], grown(self.covariance, size))
        self.covariance = fit.likely_covariance(self.weight[:size] >= LEAST_RUNS * self._unit)
        self._learn_noise(fit, gram, moment)
        shares = np.array(self.kinds.shares())
        return Matrix(
            kinds=tuple(self.kinds),
            theta=np.clip(fit.beta[:, 1:], -MOST_LOG_SLOWDOWN, MOST_LOG_SLOWDOWN),
            deviation=np.sqrt(fit.variance[:, 1:]),
            own=fit.beta[:, 0],
            shares=shares,
            apart=np.sqrt(fit.variance_apart(shares)),
            noise=self.row_noise[:size].copy(),
            together=np.sqrt(fit.variance_together),
        )

    def _learn_noise(self, fit: Fit, gram: Array, moment: Array) -> None:
        """Learn how each kind's runs scatter around the fit, which the next fit uses.

        A task that waits for others scatters by itself. With one noise for all, it made quiet
        kinds unknown, and was itself told as a fact. The noise of all is a geometric mean, as a
        kind that scatters ten times as much counts a hundredfold in the mean of squares.
        """
        size = len(moment)
        explained = 2 * np.sum(fit.beta * moment, axis=1) - np.einsum(
            "ki,kij,kj->k", fit.beta, gram, fit.beta
        )
        left = np.maximum(0.0, self.square[:size] / self._unit - explained)
        weight = self.weight[:size] / self._unit
        # A row comes nearer to its own runs by each number that it takes from them, so that as many
        # runs show nothing. Where most of its knowledge has faded, there may be fewer runs left.
        runs = np.maximum(0.0, weight - fit.fitted_numbers)
        variance = (self.noise**2 * NOISE_RUNS + left) / (NOISE_RUNS + runs)
        of_runs = np.append(NOISE_RUNS, weight)
        mean = np.average(np.log(np.append(NOISE**2, variance)), weights=of_runs)
        self.noise = max(LEAST_NOISE, float(np.exp(mean / 2)))
        self.row_noise = np.full(len(self.weight), self.noise)
        self.row_noise[:size] = np.maximum(LEAST_NOISE, np.sqrt(variance))


def learned_from(runs: Iterable[PlacedRun]) -> Interference:
    """Learn from runs, in their order. Cost: 2 (K + 1)² operations per run of K kinds."""
    encounters = [run.encounter for run in runs]
    interference = Interference()
    for _ in range(PASSES):
        interference = interference.afresh()
        for encounter in encounters:
            if encounter is not None:
                interference.learn(encounter)
    return interference
