"""State of the expert that knows features, in the heads of the forecaster's saved parts.

A part that an older version saved lacks it, and starts without. ValueError for invalid values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from plimsoll_predictor.runtimes.features.asked import MOST_FEATURES, MOST_NAME, AskedRun
from plimsoll_predictor.runtimes.features.feature_expert import N_SHARES
from plimsoll_predictor.runtimes.features.lines import NUMBERS, Lines
from plimsoll_predictor.runtimes.features.row import KEPT
from plimsoll_predictor.runtimes.forecasting.pasts import OwnerPast, TaskPast
from plimsoll_predictor.runtimes.forecasting.shared import (
    N_AGES,
    N_RUNS,
    PIT_BINS,
    Shared,
    no_pits_of_width,
)
from plimsoll_predictor.runtimes.forecasting.state_bytes import numbers, packed, shaped, unpacked
from plimsoll_predictor.runtimes.forecasting.submitted_run import Featured, SubmittedRun

Head = Mapping[str, Any]
_NEWEST: Final = "newest_ln"
_ASKED: Final = "asked"
_FEATURED_OF_WIDTH: Final = "featuredPitOfWidth"


def of_task(past: TaskPast) -> dict[str, Any]:
    """A task's state, in plain JSON types, without initial values."""
    head: dict[str, Any] = {_NEWEST: past.newest_ln, _ASKED: past.asked.to_dict()}
    if past.lines.sums:
        head["lines"] = past.lines.sums
    if past.feature_credit.any():
        head["featureCredit"] = past.feature_credit.tolist()
    return head


def restore_task(past: TaskPast, head: Head) -> None:
    """Put it back."""
    past.newest_ln = _newest(head)
    past.asked = AskedRun.from_dict(head.get(_ASKED))
    past.lines = _lines(head.get("lines") or {})
    if "featureCredit" in head:
        past.feature_credit = shaped(numbers(head["featureCredit"]), 2)


def of_owner(past: OwnerPast) -> dict[str, Any]:
    """An owner's state."""
    return {_NEWEST: past.newest_ln, "lastFinish_s": past.last_finish_s}


def restore_owner(past: OwnerPast, head: Head) -> None:
    """Put it back."""
    past.newest_ln = _newest(head)
    finish_s = head.get("lastFinish_s")
    past.last_finish_s = None if finish_s is None else float(numbers([finish_s])[0])


def of_shared(shared: Shared) -> dict[str, Any]:
    """The state that all tasks share."""
    return {
        "featureWeights": shared.feature_weights.tolist(),
        "featuredPit": shared.featured_pit.tolist(),
        _FEATURED_OF_WIDTH: packed(shared.featured_pit_of_width),
    }


def restore_shared(shared: Shared, head: Head) -> None:
    """Put it back."""
    if "featureWeights" not in head:
        return
    weights = shaped(numbers(head["featureWeights"]), N_RUNS, N_AGES, 2)
    if not np.all(weights.sum(axis=2) > 0):
        raise ValueError("weights of features sum to nothing")
    pit = shaped(numbers(head["featuredPit"]), N_RUNS, PIT_BINS)
    of_width, _ = no_pits_of_width()
    if _FEATURED_OF_WIDTH in head:
        of_width = unpacked(head[_FEATURED_OF_WIDTH], *of_width.shape)
    shared.restore_features(weights, pit, of_width)


def of_run(submitted: SubmittedRun) -> dict[str, Any]:
    """An open run's state."""
    head: dict[str, Any] = {_ASKED: submitted.asked.to_dict()}
    featured = submitted.featured
    if featured is not None:
        head["featured"] = {
            "masses": featured.masses.tolist(),
            "weight": featured.weight,
            "curve": featured.curve.tolist(),
        }
    return head


def restore_run(submitted: SubmittedRun, head: Head) -> None:
    """Put it back."""
    submitted.asked = AskedRun.from_dict(head.get(_ASKED))
    written = head.get("featured")
    if written is None:
        return
    masses = shaped(numbers(written["masses"]), N_SHARES)
    curve = shaped(numbers(written["curve"]), PIT_BINS + 1)
    (weight,) = shaped(numbers([written["weight"]]), 1).tolist()
    if not masses.sum() > 0 or not weight <= 1:
        raise ValueError("what features said of a run cannot be")
    submitted.featured = Featured(masses, weight, curve)


def _newest(head: Head) -> tuple[float, ...]:
    newest = numbers(list(head.get(_NEWEST) or ()))
    if len(newest) > KEPT or not np.all(np.isfinite(newest)):
        raise ValueError("the newest runtimes of a state are too many, or no numbers")
    return tuple(newest.tolist())


def _lines(written: Mapping[str, Any]) -> Lines:
    if len(written) > MOST_FEATURES:
        raise ValueError(f"lines of {len(written)} features are too many")
    for name, sums in written.items():
        line = numbers(sums)
        if len(name) > MOST_NAME or line.shape != (NUMBERS,) or not line[0] > 0:
            raise ValueError("a line of a state is none")
        if not all(map(math.isfinite, line)):
            raise ValueError("a line of a state holds what is no number")
    return Lines({name: numbers(sums).tolist() for name, sums in written.items()})
