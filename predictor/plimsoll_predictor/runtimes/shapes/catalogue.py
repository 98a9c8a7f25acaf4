"""The typical distributions, and which of them a task's runs were most likely drawn from.

Numpy only: page, CLI and controller read a catalogue; ``fitting`` makes one. The paper's
equation 9 (section 5.2), tables 2 and figure 5 are what it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    checked_usual,
    histogram,
    normalised,
    recency_weights,
    usual_of,
)

HALF_LIFE_RUNS: Final = 15.0
"""A task changes: its next runs look more like its last than like its first."""
LEAST_SHARE: Final = 0.05
"""Of every shape's mass lies evenly over all bins when runs are held against it: one run where a
shape has none does not rule the shape out."""
MAX_SHAPES: Final = 64
MAX_NAME: Final = 63
FORMAT: Final = 1


class CatalogueError(ValueError):
    """What was read is no catalogue of shapes; fit one anew."""


@dataclass(frozen=True, slots=True)
class ShapeStatistics:
    """A line of the paper's table 2, of the normalised runtimes of a shape's members.

    ``outlier_share``: 10 times the usual or more (ratio), 900 s above or more (delta).
    ``interquartile``, ``p95``, ``std``: in multiples of the usual (ratio) or in seconds (delta).
    """

    outlier_share: float
    interquartile: float
    p95: float
    std: float


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One typical distribution.

    pmf: (BINS,), sums to 1. members: tasks it was learned from. runs: theirs.
    """

    name: str
    pmf: FloatArray
    statistics: ShapeStatistics
    members: int
    runs: int


@dataclass(frozen=True, slots=True)
class ShapeLabel:
    """Which shape a task's runs were most likely drawn from.

    place: its rank by interquartile range, 0 the narrowest. posterior: per shape, sums to 1.
    known_runs: how many runs were looked at.
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
        """Check what labelling relies on.

        Raises:
            CatalogueError: naming what is wrong.
        """
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

    def shape(self, name: str) -> Shape | None:
        """The shape of a name; None if this version has none."""
        return next((shape for shape in self.shapes if shape.name == name), None)

    def log_likelihoods(self, counts: FloatArray) -> FloatArray:
        """Equation 8 without its constant: (..., BINS) counts of runs -> (..., n_shapes)."""
        found: FloatArray = counts @ self._log_pmfs.T
        return found

    def label(
        self,
        runtimes_s: ArrayLike,
        usual_s: float | None = None,
        *,
        half_life_runs: float = HALF_LIFE_RUNS,
    ) -> ShapeLabel:
        """The shape of a task's runs: runtimes, oldest first; usual_s: None is their median.

        Raises:
            ValueError: for no runtimes, or one that is not finite or not above 0.
        """
        runtimes = checked_runtimes(runtimes_s)
        usual = usual_of(runtimes) if usual_s is None else checked_usual(usual_s)
        counts = histogram(
            normalised(runtimes, usual, self.normalisation),
            self.normalisation,
            recency_weights(runtimes.size, half_life_runs),
        )
        logs = self.log_likelihoods(counts)
        # Ties go to the narrower shape: argmax takes the first.
        place = int(np.argmax(logs))
        powers = np.exp(logs - logs[place])
        shares = powers / powers.sum()
        return ShapeLabel(
            name=self.shapes[place].name,
            place=place,
            posterior={
                shape.name: float(share) for shape, share in zip(self.shapes, shares, strict=True)
            },
            known_runs=int(runtimes.size),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; ``from_dict`` reads them."""
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
                    "outlier_share": shape.statistics.outlier_share,
                    "interquartile": shape.statistics.interquartile,
                    "p95": shape.statistics.p95,
                    "std": shape.statistics.std,
                    "pmf": [float(f"{mass:.6g}") for mass in shape.pmf],
                }
                for shape in self.shapes
            ],
        }

    @classmethod
    def from_dict(cls, document: object) -> ShapeCatalogue:
        """A catalogue from what ``to_dict`` wrote.

        Raises:
            CatalogueError: naming what is missing or wrong.
        """
        check_format(document, FORMAT, "a catalogue of shapes", CatalogueError)
        written = from_document(_Written, document, "a catalogue of shapes", CatalogueError)
        return cls(
            version=written.version,
            normalisation=written.normalisation,
            shapes=tuple(shape.shape for shape in written.shapes),
            names_given=written.names_given,
        )


@dataclass(frozen=True, slots=True)
class _WrittenShape:
    """A shape as it is written: its statistics stand beside its other fields."""

    name: str
    members: Count
    runs: Count
    outlier_share: Finite
    interquartile: Finite
    p95: Finite
    std: Finite
    pmf: Annotated[tuple[Finite, ...], Meta(min_length=BINS, max_length=BINS)]

    @property
    def shape(self) -> Shape:
        """The shape that was written."""
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


def interval_words(catalogue: ShapeCatalogue) -> Sequence[str]:
    """One line a shape: its name, and table 2's numbers in words."""
    unit = "" if catalogue.normalisation is Normalisation.RATIO else " s"
    return [
        f"{shape.name}: middle half within {shape.statistics.interquartile:.3g}{unit}, "
        f"95th {shape.statistics.p95:.3g}{unit}, {shape.statistics.outlier_share:.2%} outliers"
        for shape in catalogue.shapes
    ]
