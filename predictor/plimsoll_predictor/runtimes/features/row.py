"""The numbers of one run that the feature expert reads, in their order."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from plimsoll_predictor.core.units import DAY_S, HOUR_S
from plimsoll_predictor.runtimes.features.asked import AskedRun
from plimsoll_predictor.runtimes.features.lines import Reading

_UNKNOWN: Final = math.nan
_WEEK: Final = 7
QUANTILES: Final = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
"""The quantiles of the mixture's forecast that are in the row."""
QUANTILES.setflags(write=False)

NAMES: Final = (
    "the forecast's median",
    "its 5th of 100",
    "its 25th of 100",
    "its 75th of 100",
    "its 95th of 100",
    "the last runtime",
    "the last but one",
    "the one before that",
    "the owner's last runtime",
    "the owner's last but one",
    "the owner's one before that",
    "runs known",
    "runs of the owner known",
    "runs under way",
    "time since the last finish",
    "time since the owner's last finish",
    "the requested time",
    "the requested time, to the median",
    "processors asked for",
    "memory asked for",
    "processors in use",
    "runs that wait",
    "hour of the day",
    "day of the week",
    "the feature",
    "the feature, to its usual",
    "the runtime by the feature's line",
    "that, to the mean",
    "how far off the line was",
    "how far off the mean was",
)
"""Runtimes are logarithms relative to the forecast's median, unless the name says otherwise."""
N_FEATURES: Final = len(NAMES)


class Newest(NamedTuple):
    """The last runtimes of a task or an owner.

    runs: known ones. runtimes_ln: the newest three at most, the newest first. finished_s: when the
    last one finished; None before the first.
    """

    runs: int = 0
    runtimes_ln: tuple[float, ...] = ()
    finished_s: float | None = None


NOTHING_YET: Final = Newest()
KEPT: Final = 3
_MISSING: Final = ((_UNKNOWN,) * 3, (_UNKNOWN,) * 2, (_UNKNOWN,), ())


class Moment(NamedTuple):
    """A submission: its time, and what is known of the task and its owner by then."""

    at_s: float
    task: Newest
    owner: Newest
    open_beside: int


def row_of(
    quantiles_ln: list[float], moment: Moment, asked: AskedRun, reading: Reading
) -> list[float]:
    """(N_FEATURES,) in the order of NAMES; NaN if unknown.

    quantiles_ln: the mixture's, at QUANTILES.
    """
    low, lower, median, upper, high = quantiles_ln
    at_s, task, owner = moment.at_s, moment.task, moment.owner
    requested_ln = _ln(asked.requested_s)
    return [
        median,
        low - median,
        lower - median,
        upper - median,
        high - median,
        *[value - median for value in task.runtimes_ln],
        *_MISSING[len(task.runtimes_ln)],
        *[value - median for value in owner.runtimes_ln],
        *_MISSING[len(owner.runtimes_ln)],
        math.log1p(task.runs),
        math.log1p(owner.runs),
        math.log1p(moment.open_beside),
        _since(at_s, task.finished_s),
        _since(at_s, owner.finished_s),
        requested_ln,
        requested_ln - median,
        _ln(asked.processors),
        _ln(asked.requested_bytes),
        _UNKNOWN if asked.busy is None else asked.busy,
        _UNKNOWN if asked.queued is None else asked.queued,
        at_s % DAY_S / HOUR_S,
        at_s // DAY_S % _WEEK,
        reading.at,
        reading.from_usual,
        reading.line_ln - median,
        reading.line_ln - reading.mean_ln,
        reading.off,
        reading.off_mean,
    ]


def _ln(value: float | None) -> float:
    return math.log(value) if value is not None and value > 0 else _UNKNOWN


def _since(now_s: float, then_s: float | None) -> float:
    """The logarithm of the seconds since; at least of a half."""
    return _UNKNOWN if then_s is None else math.log(max(now_s - then_s, 0.5))
