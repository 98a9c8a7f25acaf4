"""The typical distributions, and which of them a task's runs most likely come from.

Numpy only: page, CLI and controller read a catalogue; ``fitting`` makes one. See the paper's
equation 9 (section 5.2), table 2 and figure 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Final

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike

from plimsoll_predictor.core.documents import Count, Finite, check_format, from_document
from plimsoll_predictor.runtimes.shapes.normalising import (
    BINS,
    FloatArray,
    Normalisation,
    checked_runtimes,
    histogram,
    normalised,
    recency_weights,
)

HALF_LIFE_RUNS: Final = 15.0
"""A task changes: its next runs look more like its last runs than like its first."""
LEAST_SHARE: Final = 0.05
"""The share of a shape's mass that is spread over all bins when runs are compared with it, so that
one run in an empty bin does not rule the shape out."""
MAX_SHAPES: Final = 64
MAX_NAME: Final = 63
FORMAT: Final = 1


class CatalogueError(ValueError):
    """A document is no catalogue of shapes; fit a new one."""


@dataclass(frozen=True, slots=True)
class ShapeStatistics:
    """A line of the paper's table 2: figures of the normalised runtimes of a shape's members.

    outlier_share: 10 times the usual or more (ratio), 900 s above or more (delta).
    interquartile, p95, std: in multiples of the usual (ratio) or in seconds (delta).
    """

    outlier_share: float
    interquartile: float
    p95: float
    std: float


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One typical distribution.

    pmf: (BINS,), sums to 1. members: number of tasks it was learned from. runs: number of theirs.
    """

    name: str
    pmf: FloatArray
    statistics: ShapeStatistics
    members: int
    runs: int


@dataclass(frozen=True, slots=True)
class ShapeLabel:
    """The shape that a task's runs most likely come from.

    place: its rank by interquartile range, 0 the narrowest. posterior: per shape, sums to 1.
    """

    name: str
    place: int
    posterior: Mapping[str, float]
    known_runs: int


@dataclass(frozen=True, slots=True, eq=False)
class ShapeCatalogue:
    """The shapes of a cluster, the narrowest first.

    names_given: names given so far, over all versions: no name is given twice.
    """

    version: int
    normalisation: Normalisation
    shapes: tuple[Shape, ...]
    names_given: int
    _log_pmfs: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the conditions of labelling; CatalogueError names the fault."""
        if not 1 <= len(self.shapes) <= MAX_SHAPES:
            raise CatalogueError(f"{len(self.shapes)} shapes; a catalogue has 1 to {MAX_SHAPES}")
        names = [shape.name for shape in self.shapes]
        if len(set(names)) != len(names):
            raise CatalogueError(f"shapes share a name: {', '.join(names)}"[:300])
        for shape in self.shapes:
            _check(shape)
        pmfs = np.stack([shape.pmf for shape in self.shapes])
        log_pmfs = np.log((1 - LEAST_SHARE) * pmfs + LEAST_SHARE / BINS)
        object.__setattr__(self, "_log_pmfs", log_pmfs)

    def counts(
        self, runtimes_s: ArrayLike, usual_s: float, weights: FloatArray | None = None
    ) -> FloatArray:
        """Runs by bin of their normalised runtime, (BINS,); weights: 1 each if None."""
        values = normalised(runtimes_s, usual_s, self.normalisation)
        return histogram(values, self.normalisation, weights)

    def log_likelihoods(self, counts: FloatArray) -> FloatArray:
        """Equation 8 without its constant: (..., BINS) counts of runs -> (..., n_shapes)."""
        logs: FloatArray = counts @ self._log_pmfs.T
        return logs

    def posterior(self, counts: FloatArray) -> FloatArray:
        """The probability of each shape, from (BINS,) counts of runs: (n_shapes,), sums to 1."""
        logs = self.log_likelihoods(counts)
        powers = np.exp(logs - logs.max())
        shares: FloatArray = powers / powers.sum()
        return shares

    def label(
        self,
        runtimes_s: ArrayLike,
        usual_s: float | None = None,
        *,
        half_life_runs: float = HALF_LIFE_RUNS,
    ) -> ShapeLabel:
        """The shape of a task's runs: their runtimes, oldest first; usual_s: None is their median.

        Raises:
            ValueError: for no runtimes, or one that is not finite or not above 0.
        """
        runtimes = checked_runtimes(runtimes_s)
        usual = float(np.median(runtimes)) if usual_s is None else float(usual_s)
        if not 0 < usual < np.inf:
            raise ValueError(f"a usual runtime of {usual_s:g} s; it is finite and above 0")
        weights = recency_weights(runtimes.size, half_life_runs)
        counts = self.counts(runtimes, usual, weights)
        # Ties go to the narrower shape: argmax takes the first.
        place = int(np.argmax(self.log_likelihoods(counts)))
        shares = self.posterior(counts)
        return ShapeLabel(
            name=self.shapes[place].name,
            place=place,
            posterior={
                shape.name: float(share) for shape, share in zip(self.shapes, shares, strict=True)
            },
            known_runs=int(runtimes.size),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "format": FORMAT,
            "version": self.version,
            "normalisation": self.normalisation.value,
            "names_given": self.names_given,
            "shapes": [
                {
                    "name": shape.name,
                    "members": shape.members,
                    "runs": shape.runs,
                    **asdict(shape.statistics),
                    "pmf": shape.pmf.tolist(),
                }
                for shape in self.shapes
            ],
        }

    @classmethod
    def from_dict(cls, document: object) -> ShapeCatalogue:
        """Read what ``to_dict`` wrote.

        Raises:
            CatalogueError: naming the field that is missing or wrong.
        """
        check_format(document, FORMAT, "a catalogue of shapes", CatalogueError)
        written = from_document(_Written, document, "a catalogue of shapes", CatalogueError)
        return cls(
            version=written.version,
            normalisation=written.normalisation,
            shapes=tuple(shape.shape() for shape in written.shapes),
            names_given=written.names_given,
        )


@dataclass(frozen=True, slots=True)
class _WrittenShape:
    """A shape as written: its statistics stand beside its other fields."""

    name: str
    members: Count
    runs: Count
    outlier_share: Finite
    interquartile: Finite
    p95: Finite
    std: Finite
    pmf: Annotated[tuple[Finite, ...], Meta(min_length=BINS, max_length=BINS)]

    def shape(self) -> Shape:
        statistics = ShapeStatistics(self.outlier_share, self.interquartile, self.p95, self.std)
        return Shape(self.name, np.array(self.pmf), statistics, self.members, self.runs)


@dataclass(frozen=True, slots=True)
class _Written:
    version: Count
    normalisation: Normalisation
    names_given: Count
    shapes: Annotated[tuple[_WrittenShape, ...], Meta(max_length=MAX_SHAPES)]


def _check(shape: Shape) -> None:
    if not shape.name or len(shape.name) > MAX_NAME:
        raise CatalogueError(f"a shape is called {shape.name[:80]!r}; 1 to {MAX_NAME} letters")
    if shape.pmf.shape != (BINS,):
        raise CatalogueError(f"shape {shape.name} has {shape.pmf.size} bins; {BINS} are needed")
    if not (np.isfinite(shape.pmf).all() and (shape.pmf >= 0).all()):
        raise CatalogueError(f"shape {shape.name} has a mass below 0 or not finite")
    if abs(float(shape.pmf.sum()) - 1) > 1e-3:
        raise CatalogueError(f"the masses of shape {shape.name} add up to {shape.pmf.sum():g}")
