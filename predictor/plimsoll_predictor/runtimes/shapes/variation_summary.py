"""The variation of a task's runtimes, in a sentence with its numbers. It needs no catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.runtimes.shapes.modes import Mode, modes_of
from plimsoll_predictor.runtimes.shapes.normalising import FloatArray, checked_runtimes

FEW_RUNS: Final = 5
"""With fewer runs the form is not named."""
STEADY_WITHIN: Final = 0.1
"""Steady: half of the runs are within this share of the usual."""
WIDE_WITHIN: Final = 0.5
TAIL_SHARE: Final = 0.02
"""The share of runs beyond twice the usual that makes a tail, unless the middle half is wide."""
LEAST_TAIL: Final = 2
TWICE: Final = 2.0
OUTLIER: Final = 10.0
"""How many times the usual an outlier is, as in the paper."""
IN_ORDER: Final = 0.95
"""The task has moved if one mode's runs are the older ones in this share of the modes' pairs."""


class Form(StrEnum):
    """The kind of variation; the first word of the sentence."""

    FEW = "few runs"
    STEADY = "steady"
    VARIED = "varied"
    WIDE = "wide"
    LONG_TAILED = "long-tailed"
    TWO_MODED = "two-moded"
    MANY_MODED = "many-moded"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class RuntimeSummary:
    """A task's runtimes in numbers; ``words`` puts them into a sentence.

    half_within: half of the runs are within this share of the usual. all_alike: no run took
    another time. low_s, high_s: the middle half. modes: shortest first, in the order of time if the
    task has moved.
    """

    form: Form
    known_runs: int
    usual_s: float
    half_within: float
    all_alike: bool
    low_s: float
    high_s: float
    p95_s: float
    longer_than_twice: int
    longer_than_ten_times: int
    modes: tuple[Mode, ...]

    @property
    def words(self) -> str:
        """One sentence, such as 'steady: half of the runs within 5% of 2 min; ...'."""
        return f"{self.form}: {_body(self)}{_tail(self)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, with the sentence."""
        return {**asdict(self), "form": self.form.value, "words": self.words}


def summarise(runtimes_s: ArrayLike) -> RuntimeSummary:
    """Say how runtimes vary; oldest first, in seconds.

    Raises:
        ValueError: for no runtimes, or one that is not finite or not above 0.
    """
    runtimes = checked_runtimes(runtimes_s)
    usual_s = float(np.median(runtimes))
    low_s, high_s, p95_s = (float(each) for each in np.percentile(runtimes, [25, 75, 95]))
    half_within = float(np.median(np.abs(runtimes / usual_s - 1)))
    modes = modes_of(runtimes)
    longer = int((runtimes > TWICE * usual_s).sum())
    form = _form(runtimes, modes, half_within, longer)
    if form is Form.MOVED and _order(runtimes, modes) < 0.5:
        modes = modes[::-1]
    return RuntimeSummary(
        form=form,
        known_runs=int(runtimes.size),
        usual_s=usual_s,
        half_within=half_within,
        all_alike=bool(runtimes.min() == runtimes.max()),
        low_s=low_s,
        high_s=high_s,
        p95_s=p95_s,
        longer_than_twice=longer,
        longer_than_ten_times=int((runtimes > OUTLIER * usual_s).sum()),
        modes=tuple(modes),
    )


def _form(runtimes: FloatArray, modes: Sequence[Mode], half_within: float, longer: int) -> Form:
    if runtimes.size < FEW_RUNS:
        return Form.FEW
    if len(modes) == 2:
        order = _order(runtimes, modes)
        return Form.MOVED if max(order, 1 - order) >= IN_ORDER else Form.TWO_MODED
    if len(modes) > 2:
        return Form.MANY_MODED
    if half_within >= WIDE_WITHIN:
        return Form.WIDE
    if longer >= max(LEAST_TAIL, TAIL_SHARE * runtimes.size):
        return Form.LONG_TAILED
    return Form.STEADY if half_within <= STEADY_WITHIN else Form.VARIED


def _order(runtimes: FloatArray, modes: Sequence[Mode]) -> float:
    """Share of pairs (run of the shorter mode, run of the longer) in which the shorter is older."""
    edge = float(np.sort(runtimes)[modes[0].runs])
    longer = runtimes >= edge
    shorter_before = np.cumsum(~longer)
    pairs = int(longer.sum()) * int((~longer).sum())
    return float(shorter_before[longer].sum() / pairs) if pairs else 0.5


def _body(summary: RuntimeSummary) -> str:
    usual = words_for_duration(summary.usual_s)
    if summary.form is Form.FEW:
        runs = summary.known_runs
        known = f"1 known, of {usual}" if runs == 1 else f"{runs} known, usual {usual}"
        return f"{known}; more is told from {FEW_RUNS} on"
    if summary.form is Form.MOVED:
        before, after = summary.modes
        return (
            f"the last {after.runs} runs near {words_for_duration(after.usual_s)}, "
            f"the {before.runs} before near {words_for_duration(before.usual_s)}"
        )
    if summary.form in (Form.TWO_MODED, Form.MANY_MODED):
        return ", ".join(
            f"{mode.share:.0%} near {words_for_duration(mode.usual_s)}" for mode in summary.modes
        )
    if summary.form is Form.WIDE:
        low, high = words_for_duration(summary.low_s), words_for_duration(summary.high_s)
        return f"half of the runs between {low} and {high}, usual {usual}"
    if summary.half_within < 0.0005:
        same = "every run" if summary.all_alike else "half of the runs or more"
        return f"{same} {usual}"
    percent = 100 * summary.half_within
    return f"half of the runs within {percent:.{0 if percent >= 1 else 1}f}% of {usual}"


def _tail(summary: RuntimeSummary) -> str:
    if summary.form in (Form.FEW, Form.TWO_MODED, Form.MANY_MODED, Form.MOVED):
        return ""
    if not summary.longer_than_twice:
        return f"; none of {summary.known_runs:,} longer than twice that"
    words = f"; {summary.longer_than_twice:,} of {summary.known_runs:,} longer than twice that"
    if summary.longer_than_ten_times:
        words += f", {summary.longer_than_ten_times:,} than ten times"
    return words
