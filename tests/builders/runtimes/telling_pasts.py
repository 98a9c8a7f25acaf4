"""Past runs of tasks whose times have a pattern, for tests of forecasts and of their display."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.runtimes.shapes.catalogue import Shape, ShapeCatalogue, ShapeStatistics
from plimsoll_predictor.runtimes.shapes.explanation import (
    Effect,
    Explanation,
    Reason,
    TaskExplanation,
)
from plimsoll_predictor.runtimes.shapes.normalising import BINS, Normalisation
from plimsoll_predictor.store import Store
from tests.builders.reports import START_S, an_attempt

NIGHTLY = TaskId("lab", "nightly-join")
AFTER_S = START_S + 40 * 86_400.0
"""When forecasts are asked for: after all runs below."""


def a_timed_run(runtime_s: float, place: int = 0, task: TaskId = NIGHTLY) -> Observation:
    """A run that succeeded, an hour after the previous one."""
    at_s = START_S + 3600.0 * place
    return replace(
        an_attempt(f"{task.name}-{place}"),
        attempt_uid=f"{task}-{place}",
        task=task,
        submitted_s=at_s - 20,
        started_s=at_s,
        finished_s=at_s + runtime_s,
        request_bytes=4 * GIB,
        allocation_bytes=4 * GIB,
        node=f"node-{place % 3}",
        node_type=("n2-standard-8", "m5.large")[place % 7 % 2],
    )


def timed_runs(runtimes_s: Iterable[float], task: TaskId = NIGHTLY) -> list[Observation]:
    """A run of each runtime, oldest first."""
    return [a_timed_run(each, place, task) for place, each in enumerate(runtimes_s)]


def steady_runs(
    runs: int = 60, task: TaskId = NIGHTLY, usual_s: float = 300.0
) -> list[Observation]:
    """All within some percent of each other, no two alike."""
    dice = random.Random(3)
    return timed_runs((usual_s * dice.gauss(1, 0.03) for _ in range(runs)), task)


def telling_runs(runs: int = 420) -> list[Observation]:
    """Two modes, now and then something unusual, and faster on one kind of node."""
    dice = random.Random(11)
    found = []
    for place in range(runs):
        run = a_timed_run(1.0, place)
        usual_s = dice.choice([240.0] * 7 + [900.0] * 3)
        faster = 0.8 if run.node_type == "n2-standard-8" else 1.0
        unusual = {97: 9.0, 205: 0.1, 333: 14.0}.get(place, 1.0)
        found.append(a_timed_run(usual_s * faster * unusual * dice.lognormvariate(0, 0.09), place))
    return found


def a_catalogue() -> ShapeCatalogue:
    """Two ratio shapes: all at the usual, and half of the mass up to twice the usual."""
    narrow, wide = [0.0] * BINS, [0.0] * BINS
    for place in range(19, 22):
        narrow[place] = 1 / 3
    for place in range(5, 45):
        wide[place] = 1 / 40
    return ShapeCatalogue(
        version=3,
        normalisation=Normalisation.RATIO,
        shapes=(_shape("still-water", narrow, 0.05), _shape("choppy", wide, 1.0)),
        names_given=2,
    )


def _shape(name: str, masses: list[float], interquartile: float) -> Shape:
    statistics = ShapeStatistics(
        outlier_share=0.0, interquartile=interquartile, p95=1 + interquartile, std=interquartile
    )
    return Shape(name, np.array(masses), statistics, members=20, runs=900)


def an_explanation(task: TaskId = NIGHTLY) -> Explanation:
    """Why a shape is foretold for one task."""
    reasons = (
        Reason("spread of the last 20", 1.4, 0.9, "spread of the last 20 1.4: more often choppy"),
        Reason("owner's spread", 0.2, -0.3, "owner's spread 0.2: less often choppy"),
    )
    effect = Effect("spread of the last 20", 0.8, "choppy", True, "widely spread: choppy", ())
    return Explanation(
        rows=100,
        effects=(effect,),
        tasks=(TaskExplanation(str(task), "choppy", 0.83, reasons),),
    )


def a_telling_past(store: Store) -> None:
    """The nightly join with runs, shapes and why."""
    store.observations.record(telling_runs())
    store.shapes.save_catalogue(a_catalogue(), START_S)
    store.shapes.save_explanation(an_explanation())


def a_steady_store(folder: Path) -> str:
    """Make a store with a steady task of five minutes. Return its address."""
    address = f"sqlite:///{folder}/plimsoll.db"
    store = Store.open(address)
    store.observations.record(steady_runs())
    store.close()
    return address
