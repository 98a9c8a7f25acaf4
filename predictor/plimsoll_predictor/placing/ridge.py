"""The ridge regression of slowdowns: all kinds' rows together, solved one at a time. Pure.

ln (runtime ÷ runtime alone) of a run of kind k is b_k + Σ_j e_j θ_kj + noise, e_j neighbours of
kind j weighted by time. A row (b_k, θ_k1 ... θ_kK) is what all rows share, USUAL + m + c_j for each
neighbour (how much it harms), plus the kind's difference. The differences have a covariance that is
learned from the rows themselves: whether some kinds suffer from all neighbours, and which
neighbours slow the same kinds. It begins with a guess: a kind suffers more than others from all
neighbours alike, or, as likely, more from those from which all suffer. So a pair with few runs uses
all that is known about its row and about similar neighbours. Given m and c, rows do not depend on
each other: a fit solves a system of K + 1 unknowns for each of K kinds and one of K + 1 for all,
instead of one of K².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.placing.matrix import Array

USUAL: Final = 0.2
"""A logarithm: what a neighbour costs as long as nothing is known."""
SPREAD_OF_ALL: Final = 0.2
LEAST_USUAL: Final = 1e-3
MOST_TIMES_USUAL: Final = 3.0
"""What all suffer from a neighbour counts as at most so many times the mean over neighbours."""
SPREAD_OF_A_KIND: Final = 0.15
SPREAD_OF_A_PAIR: Final = 0.08
"""Standard deviations of m; of c, of b and of what a kind suffers more than others; of what is
special between two kinds. The last three are guesses of how rows differ."""
ROWS_OF_THE_GUESS: Final = 5.0
"""The guess counts as so many rows: from more rows, their differences are learned."""
LEAST_OF_OTHERS: Final = 1e-6
"""A share of runs: with a smaller one of others, a kind cannot be compared with any."""


def guess(size: int) -> Array:
    """Return the covariance of (b, θ_1 ... θ_K) given m and c, as long as nothing is known."""
    covariance = np.full((size + 1, size + 1), SPREAD_OF_A_KIND**2)
    covariance[0, 1:] = covariance[1:, 0] = 0.0
    covariance[1:, 1:] += np.eye(size) * SPREAD_OF_A_PAIR**2
    return covariance


def sensitive_guess(suffered: Array) -> Array:
    """Return the guess, given what a usual kind suffers from each neighbour: (K,), logarithms.

    Half of what a kind suffers more than others is the same from all neighbours. The other half is
    in proportion to what all suffer from them: a kind that hardly suffers from the worst ones will
    not suffer from the others either.
    """
    covariance = guess(len(suffered))
    harm = np.maximum(suffered, 0.0)
    times = np.minimum(
        harm / max(LEAST_USUAL, float(harm.sum()) / max(1, len(harm))), MOST_TIMES_USUAL
    )
    covariance[1:, 1:] += SPREAD_OF_A_KIND**2 * (np.outer(times, times) - 1.0) / 2
    return covariance


def grown(covariance: Array, size: int) -> Array:
    """Return a covariance for so many kinds: new ones differ from known ones as in the guess."""
    old = len(covariance)
    if old == size + 1:
        return covariance
    all_kinds = guess(size)
    onto = np.linalg.solve(all_kinds[:old, :old], all_kinds[:old])
    return np.asarray(all_kinds + onto.T @ (covariance - all_kinds[:old, :old]) @ onto)


def without(covariance: Array, place: int) -> Array:
    """Return a covariance without what is known of the kind at a place, which another takes."""
    size = len(covariance) - 1
    if place >= size:
        return covariance
    kept = np.delete(np.arange(size + 1), place + 1)
    order = np.argsort(np.append(kept, place + 1))
    return grown(covariance[np.ix_(kept, kept)], size)[np.ix_(order, order)]


@dataclass(frozen=True, slots=True)
class Fit:
    """The posterior of all rows.

    beta: (b, θ) per row. variance: of each of these. common: (b, θ) of a usual kind. differs: a
    row's difference from that. own, shared: a row's covariance given what all share, and that of
    what they share.
    spread, held: how much of what they share comes into a row, and into its difference.
    fitted_numbers: how many numbers of its own a row has taken from its runs, of K + 1.
    """

    beta: Array
    variance: Array
    common: Array
    differs: Array
    own: Array
    shared: Array
    spread: Array
    held: Array
    fitted_numbers: Array

    @classmethod
    def of(cls, gram: Array, moment: Array, noise: Array, covariance: Array) -> Fit:
        """Solve for m and c with all that rows differ by integrated out, then for each row.

        noise: a row's runs' standard deviation. All rows at once: one by one, K calls of Python
        would cost more than the work.
        """
        size = len(moment)
        prior = np.linalg.inv(covariance)
        usual = np.full(size + 1, USUAL)
        usual[0] = 0.0
        shared = _shared_into_row(size)
        sure = 1 / noise**2
        own = np.asarray(np.linalg.inv(gram * sure[:, None, None] + prior), dtype=np.float64)
        alone = np.einsum("kij,kj->ki", own, (moment - gram @ usual) * sure[:, None])
        relaxed = own @ prior
        precision = np.diag(np.append(1 / SPREAD_OF_ALL**2, np.full(size, 1 / SPREAD_OF_A_KIND**2)))
        precision += shared.T @ (size * prior - prior @ relaxed.sum(axis=0)) @ shared
        of_shared = np.linalg.inv(precision)
        mean = of_shared @ (shared.T @ (prior @ alone.sum(axis=0)))
        spread = relaxed @ shared
        held = shared - spread
        return cls(
            beta=usual + alone + spread @ mean,
            variance=np.diagonal(own, axis1=1, axis2=2) + _diagonal_of(spread, of_shared),
            common=usual + shared @ mean,
            differs=alone - held @ mean,
            own=own,
            shared=of_shared,
            spread=spread,
            held=held,
            fitted_numbers=size + 1 - np.trace(relaxed, axis1=1, axis2=2),
        )

    def likely_covariance(self, told: NDArray[np.bool_]) -> Array:
        """Return how rows differ, from those that have runs and from the guess: one step of EM.

        told: which rows have runs. The variance of b stays the guess: if tasks never run alone,
        rows would allow any b and θ whose sum is what was seen.
        """
        covariance, differs, held = (
            sensitive_guess(self.common[1:]),
            self.differs[told, 1:],
            self.held[told, 1:],
        )
        found = differs.T @ differs + self.own[told, 1:, 1:].sum(axis=0)
        found += np.tensordot(held @ self.shared, held, axes=([0, 2], [0, 2]))
        rows = ROWS_OF_THE_GUESS + len(differs)
        covariance[1:, 1:] = (ROWS_OF_THE_GUESS * covariance[1:, 1:] + found) / rows
        return covariance

    @property
    def variance_together(self) -> Array:
        """Return K × K variances: of b_k + θ_kj, which is known if k always runs beside j."""
        found = np.diagonal(self.own, axis1=1, axis2=2)[:, 1:] + 2 * self.own[:, 0, 1:]
        found = found + self.own[:, 0, 0][:, None]
        found = found + _diagonal_of(self.spread[:, :1] + self.spread[:, 1:], self.shared)
        return np.maximum(0.0, found)

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


def _diagonal_of(spread: Array, covariance: Array) -> Array:
    return np.asarray(((spread @ covariance) * spread).sum(axis=2))


def _shared_into_row(size: int) -> Array:
    """What m and c_1 ... c_K add to (b, θ_1 ... θ_K)."""
    shared = np.zeros((size + 1, size + 1))
    shared[1:, 0] = 1.0
    shared[1:, 1:] = np.eye(size)
    return shared
