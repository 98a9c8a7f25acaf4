"""The features of a run at its submission, as a row for the shape classifier. Numpy only.

The paper's three classes (section 5.1): the past of the task and of its owner, the run's request,
and the cluster's load. A run that had not finished by then is never read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.units import DAY_S, HOUR_S, words_for_bytes
from plimsoll_predictor.runtimes.shapes.catalogue import HALF_LIFE_RUNS, ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.normalising import FloatArray, IntArray, recency_weights
from plimsoll_predictor.runtimes.shapes.run_table import MISSING, RunTable

REMEMBERED: Final = 200
"""How many newest runs of a task, and of an owner, the statistics use."""
RECENT: Final = 10


class Kind(StrEnum):
    """How a feature's value is put into words."""

    DURATION = "duration"
    SHARE = "share"
    SIZE = "size"
    NUMBER = "number"


TASK_FEATURES: Final = (
    ("known runs", Kind.NUMBER),
    ("usual runtime", Kind.DURATION),
    ("middle half over usual", Kind.NUMBER),
    ("95th over usual", Kind.NUMBER),
    ("longest over usual", Kind.NUMBER),
    ("share over twice usual", Kind.SHARE),
    ("share over 10 times usual", Kind.SHARE),
    ("share under half of usual", Kind.SHARE),
    ("last run over usual", Kind.NUMBER),
    ("spread of the last runs", Kind.NUMBER),
    ("last runs over usual", Kind.NUMBER),
)
OWNER_FEATURES: Final = (
    ("owner's known runs", Kind.NUMBER),
    ("owner's usual runtime", Kind.DURATION),
    ("owner's spread", Kind.NUMBER),
    ("owner's share over twice usual", Kind.SHARE),
)
RUN_FEATURES: Final = (
    ("time since the last run ended", Kind.DURATION),
    ("runs of the task in flight", Kind.NUMBER),
    ("requested time", Kind.DURATION),
    ("requested time over usual", Kind.NUMBER),
    ("processors", Kind.NUMBER),
    ("requested memory", Kind.SIZE),
    ("input size", Kind.SIZE),
    ("share of the cluster busy", Kind.SHARE),
    ("runs queued", Kind.NUMBER),
    ("hour of the day", Kind.NUMBER),
    ("day of the week", Kind.NUMBER),
)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Rows for the classifier.

    values: (n_rows, n_features), NaN if not recorded. kinds: by feature name.
    """

    names: tuple[str, ...]
    kinds: dict[str, Kind]
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """When rows are made, each (n_rows,): before the run at ``place`` of task ``task``.

    place: the run whose request is known then; -1 if there is none.
    """

    task: IntArray
    at_s: FloatArray
    place: IntArray


def feature_names(catalogue: ShapeCatalogue) -> dict[str, Kind]:
    """Every feature and its kind; the last ones say how much the past looks like a shape."""
    likeness = {f"past looks {shape.name}": Kind.SHARE for shape in catalogue.shapes}
    return {**dict(TASK_FEATURES), **dict(OWNER_FEATURES), **dict(RUN_FEATURES), **likeness}


def feature_rows(table: RunTable, moments: Moments, catalogue: ShapeCatalogue) -> FeatureRows:
    """Features of each moment, from the runs that had finished by then."""
    kinds = feature_names(catalogue)
    values = np.full((moments.task.size, len(kinds)), MISSING)
    pasts = table.runs_by_task()
    owners = _OwnerPasts(table, pasts)
    rows_of_task: dict[int, list[int]] = {}
    for row, task in enumerate(moments.task):
        rows_of_task.setdefault(int(task), []).append(row)
    for task, rows in rows_of_task.items():
        past = _TaskPast(table, pasts[task])
        history, counted = _of_task(past.known(-np.inf)), -1
        likeness = _likeness(past.known(-np.inf), catalogue)
        owner = int(table.owner[pasts[task][0]])
        for row in rows:
            at_s, place = float(moments.at_s[row]), int(moments.place[row])
            known = past.known(at_s)
            if past.count(at_s) != counted:
                # A burst is submitted before any of its runs ends: all its runs have the same past.
                counted = past.count(at_s)
                history, likeness = _of_task(known), _likeness(known, catalogue)
            values[row] = np.concatenate(
                [
                    history,
                    owners.features(owner, at_s),
                    _of_run(table, past, (at_s, place), known),
                    likeness,
                ]
            )
    return FeatureRows(tuple(kinds), kinds, values)


def words_for_value(value: float | None, kind: Kind) -> str:
    """A feature's value as people read it.

    >>> words_for_value(144000.0, Kind.DURATION), words_for_value(0.031, Kind.SHARE)
    ('40 h', '3%')
    """
    if value is None:
        return "not told"
    if kind is Kind.DURATION:
        return words_for_duration(value)
    if kind is Kind.SHARE:
        return f"{value:.0%}"
    return words_for_bytes(value) if kind is Kind.SIZE else f"{value:,.3g}"


class _TaskPast:
    """A task's runs in the order they finished."""

    def __init__(self, table: RunTable, places: IntArray) -> None:
        by_finish = places[np.argsort(table.finished_s[places], kind="stable")]
        self.finished_s = table.finished_s[by_finish]
        self.runtime_s = table.runtime_s[by_finish]
        self.submitted_s = table.submitted_s[places]

    def count(self, at_s: float) -> int:
        return int(np.searchsorted(self.finished_s, at_s, side="right"))

    def known(self, at_s: float) -> FloatArray:
        count = self.count(at_s)
        return self.runtime_s[max(0, count - REMEMBERED) : count]


class _OwnerPasts:
    """Each owner's runs in the order they finished, relative to their task's usual runtime."""

    def __init__(self, table: RunTable, pasts: list[IntArray]) -> None:
        ratio = np.full(table.size, MISSING)
        for places in pasts:
            by_finish = places[np.argsort(table.finished_s[places], kind="stable")]
            ratio[by_finish] = _ratios(table.runtime_s[by_finish])
        order = np.lexsort((table.finished_s, table.owner))
        edges = np.searchsorted(table.owner[order], np.arange(len(table.owners) + 1))
        self._edges, self._finished_s = edges, table.finished_s[order]
        self._runtime_s, self._ratio = table.runtime_s[order], ratio[order]

    def features(self, owner: int, at_s: float) -> FloatArray:
        start, end = self._edges[owner], self._edges[owner + 1]
        count = int(np.searchsorted(self._finished_s[start:end], at_s, side="right"))
        if not count:
            return np.array([0.0, MISSING, MISSING, MISSING])
        newest = slice(start + max(0, count - REMEMBERED), start + count)
        ratios = self._ratio[newest]
        ratios = ratios[np.isfinite(ratios)]
        spread, over = MISSING, MISSING
        if ratios.size:
            spread, over = float(np.log(ratios).std()), float((ratios > 2).mean())
        return np.array([count, float(np.median(self._runtime_s[newest])), spread, over])


def _ratios(runtimes_s: FloatArray) -> FloatArray:
    """Each run relative to the median of the ``RECENT`` before it; NaN for the first."""
    ratios = np.full(runtimes_s.size, MISSING)
    padded = np.concatenate([np.full(RECENT, MISSING), runtimes_s])
    if runtimes_s.size > 1:
        before = np.lib.stride_tricks.sliding_window_view(padded, RECENT)[1 : runtimes_s.size]
        ratios[1:] = runtimes_s[1:] / np.nanmedian(before, axis=1)
    return ratios


def _of_task(known: FloatArray) -> FloatArray:
    features = np.full(len(TASK_FEATURES), MISSING)
    features[0] = known.size
    if not known.size:
        return features
    low, usual, high, top = np.percentile(known, [25, 50, 75, 95])
    ratios, last = known / usual, known[-RECENT:]
    features[1:] = (
        usual,
        (high - low) / usual,
        top / usual,
        ratios.max(),
        (ratios > 2).mean(),
        (ratios >= 10).mean(),
        (ratios < 0.5).mean(),
        ratios[-1],
        np.log(last).std(),
        np.median(last) / usual,
    )
    return features


def _of_run(
    table: RunTable, past: _TaskPast, moment: tuple[float, int], known: FloatArray
) -> FloatArray:
    at_s, place = moment
    count = past.count(at_s)
    submitted = int(np.searchsorted(past.submitted_s, at_s, side="left"))
    since_s = at_s - past.finished_s[count - 1] if count else MISSING
    columns = table.at_submission
    asked = {name: columns[name][place] if place >= 0 else MISSING for name in columns}
    requested_s = asked["requested_s"]
    return np.array(
        [
            since_s,
            max(0, submitted - count),
            requested_s,
            requested_s / np.median(known) if known.size else MISSING,
            asked["processors"],
            asked["requested_bytes"],
            asked["input_bytes"],
            asked["busy"],
            asked["queued"],
            at_s % DAY_S // HOUR_S,
            at_s // DAY_S % 7,
        ]
    )


def _likeness(known: FloatArray, catalogue: ShapeCatalogue) -> FloatArray:
    """The posterior per run: that of a whole history is near 0 or 1, too coarse for trees."""
    if not known.size:
        return np.full(len(catalogue.shapes), MISSING)
    weights = recency_weights(known.size, HALF_LIFE_RUNS)
    counts = catalogue.counts(known, float(np.median(known)), weights)
    return catalogue.posterior(counts / weights.sum())
