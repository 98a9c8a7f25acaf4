"""Tasks whose runtimes vary in a known way, and logs of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.runtimes.runs.log_run import LogRun
from plimsoll_predictor.runtimes.shapes.catalogue import Shape, ShapeCatalogue, ShapeStatistics
from plimsoll_predictor.runtimes.shapes.normalising import BINS, Normalisation

Runtimes = NDArray[np.float64]
HOUR_S = 3600.0


def steady(random: np.random.Generator, runs: int = 40, usual_s: float = 120.0) -> Runtimes:
    """Within some percent of the usual."""
    return usual_s * np.exp(random.normal(0, 0.03, runs))


def spread_out(random: np.random.Generator, runs: int = 40, usual_s: float = 120.0) -> Runtimes:
    """The middle half over more than a factor of two."""
    return usual_s * np.exp(random.normal(0, 0.8, runs))


def two_moded(
    random: np.random.Generator, runs: int = 40, modes_s: tuple[float, float] = (40.0, 360.0)
) -> Runtimes:
    """Three of four near the first, the others near the second, in random order."""
    near = np.where(random.random(runs) < 0.75, *modes_s)
    return near * np.exp(random.normal(0, 0.05, runs))


def the_tasks(seed: int, each: int = 30, runs: int = 40) -> list[Runtimes]:
    """Three kinds of task, ``each`` of a kind, of usual runtimes from seconds to hours."""
    random = np.random.default_rng(seed)
    tasks = []
    for _ in range(each):
        usual_s = float(np.exp(random.uniform(2, 9)))
        tasks += [
            steady(random, runs, usual_s),
            spread_out(random, runs, usual_s),
            two_moded(random, runs, (usual_s, 5 * usual_s)),
        ]
    return tasks


def a_shape(name: str, *bins: int, outside: float = 0.0) -> Shape:
    """A shape with its mass evenly on some bins, except ``outside``, which is on all bins."""
    pmf = np.full(BINS, outside / BINS)
    for place in bins:
        pmf[place] += (1 - outside) / len(bins)
    return Shape(name, pmf, ShapeStatistics(0.0, 0.1, 1.2, 0.3), members=3, runs=90)


def a_catalogue(*shapes: Shape) -> ShapeCatalogue:
    """Ratio-normalised shapes; by default, a narrow one around 1 and one of two modes."""
    given = shapes or (a_shape("narrow", 19, 20), a_shape("double", 19, 20, 99, 100))
    return ShapeCatalogue(
        version=1,
        normalisation=Normalisation.RATIO,
        shapes=tuple(given),
        names_given=len(given),
    )


def log_runs_of(tasks: dict[str, Runtimes], every_s: float = HOUR_S) -> list[LogRun]:
    """Each task's runs one after the other, a run ``every_s``, tasks side by side."""
    runs: list[LogRun] = []
    for task, runtimes in tasks.items():
        for place, runtime_s in enumerate(runtimes):
            submitted_s = place * every_s
            runs.append(
                LogRun(
                    line=len(runs) + 2,
                    task=task,
                    owner=task.split("/")[0],
                    submitted_s=submitted_s,
                    started_s=submitted_s,
                    runtime_s=float(runtime_s),
                    finished_s=submitted_s + float(runtime_s),
                    processors=4.0,
                    requested_s=HOUR_S,
                )
            )
    return sorted(runs, key=lambda run: (run.submitted_s, run.line))
