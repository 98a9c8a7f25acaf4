"""Learns the shapes: k-means over smoothed histograms (the paper's section 4.2).

It needs scikit-learn: only the trainer's process, CLI and benchmarks use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans

from plimsoll_predictor.runtimes.shapes.catalogue import Shape, ShapeCatalogue, ShapeStatistics
from plimsoll_predictor.runtimes.shapes.normalising import (
    BINS,
    OUTLIER_FROM,
    SUPPORT,
    FloatArray,
    IntArray,
    Normalisation,
    checked_runtimes,
    histogram,
    normalised,
)
from plimsoll_predictor.runtimes.shapes.shape_names import names_for

MOST_TASKS: Final = 20_000
"""More tasks are thinned evenly: eight shapes need no more, so time and memory stay bounded."""
MOST_SHAPES: Final = 12
"""The most shapes that are tried for the elbow: people cannot tell more of them apart."""
TASKS_A_SHAPE: Final = 3
"""The least mean number of tasks per shape if the elbow chooses: a single task's is not typical."""
STARTS: Final = 10
SMOOTHING_BINS: Final = 3.0
"""Standard deviation, in bins, of the bell that spreads each run."""
WORTH_A_SHAPE: Final = 0.02
"""The elbow: one more shape must lower the inertia by this share of one shape's inertia."""
AFRESH_IF_BELOW: Final = 0.98
"""K-means starts afresh if that gives less than this share of the inertia reached from the previous
shapes."""


class TooFewRuns(ValueError):
    """No task has enough runs to learn a shape: there is no catalogue yet."""


@dataclass(frozen=True, slots=True)
class Elbow:
    """Inertia by number of shapes, 1 first, and the number chosen."""

    inertias: tuple[float, ...]
    chosen: int
    fixed: bool
    """Whether the number was asked for."""

    def words(self) -> str:
        """The curve, and why it was cut where it was."""
        curve = " ".join(f"{n}:{inertia:.3g}" for n, inertia in enumerate(self.inertias, start=1))
        why = (
            "as asked for"
            if self.fixed
            else f"one more lowers the inertia by less than {WORTH_A_SHAPE:.0%} of that of one"
        )
        return f"{self.chosen} shapes, {why}; inertia by number {curve}"


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A catalogue, and how its number of shapes was found."""

    catalogue: ShapeCatalogue
    elbow: Elbow


def fit(
    histories: Sequence[ArrayLike],
    normalisation: Normalisation,
    *,
    seed: int,
    n_shapes: int | None = None,
    previous: ShapeCatalogue | None = None,
) -> Fitted:
    """Learn the shapes of all tasks with ``SUPPORT`` runs or more.

    histories: runtimes per task, in seconds. n_shapes: None lets the elbow find it; there are fewer
    shapes if fewer tasks differ. previous: the catalogue before, whose names stay.

    Raises:
        TooFewRuns: if no task has enough.
        ValueError: if a runtime is not finite or not above 0.
    """
    supported = [checked_runtimes(each) for each in histories if np.size(each) >= SUPPORT]
    if not supported:
        raise TooFewRuns(
            f"no shapes: of {len(histories)} tasks the one with the most runs has "
            f"{max(map(np.size, histories), default=0)}; {SUPPORT} are needed"
        )
    used = _thinned(supported)
    values = [normalised(runtimes, np.median(runtimes), normalisation) for runtimes in used]
    pmfs = smoothed(np.stack([histogram(row, normalisation) / row.size for row in values]))
    members, elbow = _clusters(pmfs, normalisation, seed, n_shapes, previous)
    catalogue = _catalogue(values, pmfs, members, normalisation, previous)
    return Fitted(catalogue, elbow)


def smoothed(pmfs: FloatArray, sd_bins: float = SMOOTHING_BINS) -> FloatArray:
    """Each row spread over neighbouring bins by a bell: (n, BINS) -> (n, BINS), sums kept.

    Mass that would leave at an end stays in the last bin, which also holds the outliers.
    """
    if sd_bins <= 0:
        return pmfs
    places = np.arange(BINS)
    reach = np.arange(-int(np.ceil(4 * sd_bins)), int(np.ceil(4 * sd_bins)) + 1)
    bell = np.exp(-0.5 * (reach / sd_bins) ** 2)
    bell /= bell.sum()
    spread = np.zeros((BINS, BINS))
    for step, share in zip(reach, bell, strict=True):
        np.add.at(spread, (places, np.clip(places + step, 0, BINS - 1)), share)
    spread_pmfs: FloatArray = pmfs @ spread
    return spread_pmfs


def _thinned(rows: list[FloatArray]) -> list[FloatArray]:
    if len(rows) <= MOST_TASKS:
        return rows
    chosen = np.linspace(0, len(rows) - 1, MOST_TASKS).astype(int)
    return [rows[place] for place in chosen]


def _clusters(
    pmfs: FloatArray,
    normalisation: Normalisation,
    seed: int,
    n_shapes: int | None,
    previous: ShapeCatalogue | None,
) -> tuple[IntArray, Elbow]:
    """Return each task's cluster, and the elbow."""
    distinct = len(np.unique(pmfs.round(9), axis=0))
    if n_shapes is not None:
        chosen = _kmeans(pmfs, min(n_shapes, distinct), seed)
        elbow = Elbow((float(chosen.inertia_),), min(n_shapes, distinct), fixed=True)
    else:
        most = min(MOST_SHAPES, distinct, max(2, len(pmfs) // TASKS_A_SHAPE))
        tried = [_kmeans(pmfs, n, seed) for n in range(1, most + 1)]
        elbow = elbow_of([float(one.inertia_) for one in tried])
        chosen = tried[elbow.chosen - 1]
    clusters = _continued(pmfs, normalisation, chosen, previous)
    return np.asarray(clusters.labels_, dtype=np.intp), elbow


def elbow_of(inertias: Sequence[float]) -> Elbow:
    """Where one more shape lowers the inertia by less than ``WORTH_A_SHAPE`` of one shape's.

    inertias: for 1, 2, ... shapes.
    """
    floor = WORTH_A_SHAPE * inertias[0]
    chosen = next(
        (n for n in range(1, len(inertias)) if inertias[n - 1] - inertias[n] < floor),
        len(inertias),
    )
    return Elbow(tuple(inertias), chosen, fixed=False)


def _kmeans(pmfs: FloatArray, n_shapes: int, seed: int) -> KMeans:
    return KMeans(n_clusters=n_shapes, n_init=STARTS, random_state=seed).fit(pmfs)


def _continued(
    pmfs: FloatArray,
    normalisation: Normalisation,
    afresh: KMeans,
    previous: ShapeCatalogue | None,
) -> KMeans:
    """The clusters found from the previous shapes, unless fresh ones are clearly better.

    k-means takes any of several near-equal partitions: without this, shapes would change for
    nothing.
    """
    if previous is None or previous.normalisation is not normalisation:
        return afresh
    if len(previous.shapes) != afresh.n_clusters:
        return afresh
    start = np.stack([shape.pmf for shape in previous.shapes])
    continued = KMeans(n_clusters=len(start), init=start, n_init=1).fit(pmfs)
    clearly_better = afresh.inertia_ < AFRESH_IF_BELOW * continued.inertia_
    return afresh if clearly_better else continued


def _catalogue(
    values: Sequence[FloatArray],
    pmfs: FloatArray,
    members: IntArray,
    normalisation: Normalisation,
    previous: ShapeCatalogue | None,
) -> ShapeCatalogue:
    """The shapes of all clusters, ranked by interquartile range and named."""
    clusters = []
    for cluster in np.unique(members):
        places = np.flatnonzero(members == cluster)
        pooled = np.concatenate([values[int(place)] for place in places])
        mean = pmfs[places].mean(axis=0)
        # It is written with six digits: a catalogue that is read back must equal the one written.
        pmf = np.array([float(f"{mass:.6g}") for mass in mean / mean.sum()])
        clusters.append((pmf, statistics_of(pooled, normalisation), places.size, pooled.size))
    clusters.sort(key=lambda cluster: (cluster[1].interquartile, cluster[1].p95))
    names, given = names_for([cluster[:2] for cluster in clusters], normalisation, previous)
    return ShapeCatalogue(
        version=1 if previous is None else previous.version + 1,
        normalisation=normalisation,
        shapes=tuple(
            Shape(name, pmf, statistics, int(tasks), int(runs))
            for name, (pmf, statistics, tasks, runs) in zip(names, clusters, strict=True)
        ),
        names_given=given,
    )


def statistics_of(values: FloatArray, normalisation: Normalisation) -> ShapeStatistics:
    """Table 2's columns, from normalised runtimes as they are, not merged in bins."""
    low, high, top = np.percentile(values, [25, 75, 95])
    return ShapeStatistics(
        outlier_share=float((values >= OUTLIER_FROM[normalisation]).mean()),
        interquartile=float(high - low),
        p95=float(top),
        std=float(values.std()),
    )
