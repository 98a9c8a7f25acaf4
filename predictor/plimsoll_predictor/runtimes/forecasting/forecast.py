"""A forecast: the distribution of a run's runtime, and the questions that it answers."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

import msgspec
import numpy as np
from msgspec import Meta

from plimsoll_predictor.core.documents import Count, from_document, to_document
from plimsoll_predictor.runtimes.forecasting.grid import (
    EDGES,
    EDGES_S,
    GRID,
    KNOWN_TO_S,
    N_BINS,
    FloatArray,
)

# The shares the protocol scores: .01, .05, .10 … .95, .99.
QUANTILES: Final = np.array([0.01, *(0.05 * np.arange(1, 20)), 0.99])
QUANTILES.setflags(write=False)
# The share of a tail beyond the whole forecast: with one half, the run lasts twice as long as so
# far. It is in every conditioned forecast, so that no elapsed time is impossible.
_OUTLIVING: Final = 1e-6
_BEYOND_GRID_LN: Final = 1.0
_FINEST: Final = 1e-3
_PARTS: Final = 10_000_000
_LONGEST_S: Final = sys.float_info.max
_set = object.__setattr__


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """The distribution of one run's runtime.

    masses: (N_BINS,) non-negative, sum 1: the probability of each bin of ``grid.EDGES``.
    known_runs: finished runs of the task behind it; 0 means that it is the owner's or everybody's.
    usual_s: the median runtime of those runs; None if there are none. elapsed_s: how long the run
    has lasted; 0 if it has not started.
    """

    masses: FloatArray
    known_runs: int
    usual_s: float | None
    elapsed_s: float = 0.0
    _cdf: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        cdf = np.zeros(N_BINS + 1)
        np.cumsum(self.masses, dtype=np.float64, out=cdf[1:])
        cdf /= cdf[-1]
        _set(self, "_cdf", cdf)

    @classmethod
    def of_cdf(cls, cdf: FloatArray, known_runs: int, usual_s: float | None) -> Forecast:
        """A forecast from (N_BINS + 1,) shares below each edge, in a third of the time."""
        made = object.__new__(cls)
        _set(made, "masses", cdf[1:] - cdf[:-1])
        _set(made, "known_runs", known_runs)
        _set(made, "usual_s", usual_s)
        _set(made, "elapsed_s", 0.0)
        _set(made, "_cdf", cdf)
        return made

    def quantile_s(self, share: float) -> float:
        """The runtime in seconds that the run stays below with this probability."""
        return float(self.quantiles_s((share,))[0])

    def quantiles_s(self, shares: Sequence[float] | FloatArray) -> FloatArray:
        """Runtimes in seconds, one per share; ValueError for a share outside 0..1."""
        asked = np.asarray(shares, dtype=np.float64)
        if asked is not QUANTILES and not np.all((asked >= 0) & (asked <= 1)):
            raise ValueError(f"shares {shares!r} are not all between 0 and 1; give shares like .95")
        quantiles_s: FloatArray = np.exp(np.interp(asked, self._cdf, self._edges()))
        if self.elapsed_s:
            np.maximum(quantiles_s, self.elapsed_s, out=quantiles_s)
        return quantiles_s

    def longer_than(self, seconds: float) -> float:
        """The probability that the run lasts longer than so many seconds."""
        if seconds <= 0 or seconds < self.elapsed_s:
            return 1.0
        return float(1.0 - np.interp(math.log(seconds), self._edges(), self._cdf))

    def longer_than_usual(self, times: float) -> float | None:
        """The probability of more than so many times the usual.

        None if there is no usual, or if it is so long that the grid cannot tell.
        """
        if self.usual_s is None:
            return None
        seconds = times * self.usual_s
        if seconds > KNOWN_TO_S and self.known_share < 1.0 - _FINEST:
            return None
        return self.longer_than(seconds)

    def given_elapsed(self, elapsed_s: float) -> Forecast:
        """The same run's runtime, now that it has lasted so long without finishing."""
        if not math.isfinite(elapsed_s):
            raise ValueError(f"an elapsed time of {elapsed_s!r} s is none; give seconds")
        if elapsed_s <= max(self.elapsed_s, EDGES_S[0]):
            return self
        at = math.log(elapsed_s)
        edges = self._edges()
        widths = np.diff(edges)
        left = np.clip((edges[1:] - at) / np.where(widths > 0, widths, 1.0), 0.0, 1.0)
        tail = left * np.exp(-np.maximum(GRID - at, 0.0))
        if tail.sum() <= 0:
            tail[-1] = 1.0
        masses = self.masses * left + _OUTLIVING * tail / tail.sum()
        return replace(self, masses=masses / masses.sum(), elapsed_s=float(elapsed_s))

    def densities(self) -> tuple[FloatArray, FloatArray]:
        """(edges_s, masses) for plots: N_BINS + 1 edges in seconds and the mass between them."""
        edges_s: FloatArray = np.exp(self._edges())
        return edges_s, self.masses

    @property
    def known_share(self) -> float:
        """The share of the forecast before the grid's last bin."""
        return float(self._cdf[-2])

    @property
    def beyond_s(self) -> float:
        """The runtime in seconds that the run exceeds if it is in the grid's last bin."""
        return self.quantile_s(self.known_share)

    def share_below(self, runtime_s: float) -> float:
        """The share of the forecast that is known to be below a runtime.

        Of what is in the grid's last bin, nothing is: it stands for all longer runs, too.
        """
        return min(1.0 - self.longer_than(runtime_s), self.known_share)

    def _edges(self) -> FloatArray:
        """The bins' edges in ln(seconds); none lies before the elapsed time."""
        if not self.elapsed_s:
            return EDGES
        at = math.log(self.elapsed_s)
        edges: FloatArray = np.maximum(EDGES, at)
        edges[-1] = max(edges[-1], at + _BEYOND_GRID_LN if at > EDGES[-2] else at)
        return edges

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types: only the occupied bins, in ten-millionths."""
        parts = np.rint(np.asarray(self.masses, dtype=np.float64) * _PARTS).astype(np.int64)
        occupied = np.flatnonzero(parts)
        first, last = int(occupied[0]), int(occupied[-1]) + 1
        masses = parts[first:last].tolist()
        written = _Written(first, masses, self.known_runs, self.usual_s, self.elapsed_s)
        document: dict[str, Any] = to_document(written)
        return document

    @classmethod
    def from_dict(cls, written: object) -> Forecast:
        """Read what ``to_dict`` wrote; ValueError for anything else."""
        document = from_document(_Written, written, "a written forecast", _unreadable)
        parts = np.array(document.masses, dtype=np.float64)
        if document.first + len(parts) > N_BINS or not parts.sum() > 0:
            raise _unreadable("its masses lie outside of the grid, or there are none")
        masses = np.zeros(N_BINS)
        masses[document.first : document.first + len(parts)] = parts / parts.sum()
        return cls(masses, document.known_runs, document.usual_s, document.elapsed_s)


class _Written(msgspec.Struct):
    """A forecast as written: only the occupied bins."""

    first: Count
    masses: Annotated[list[Count], Meta(max_length=N_BINS)]
    known_runs: Count = msgspec.field(name="knownRuns")
    usual_s: Annotated[float, Meta(gt=0, le=_LONGEST_S)] | None
    elapsed_s: Annotated[float, Meta(ge=0, le=_LONGEST_S)]


def _unreadable(wrong: str) -> ValueError:
    return ValueError(f"this is no written forecast ({wrong}); write it with Forecast.to_dict")
