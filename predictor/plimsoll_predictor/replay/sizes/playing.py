"""Plays one trace through one policy: the figures that are printed, and the points to draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.replay.sizes.engine import DecideAt, replay
from plimsoll_predictor.replay.sizes.figures import (
    FrontierPoint,
    Plotted,
    Totals,
    plotted,
    totals,
)
from plimsoll_predictor.replay.sizes.policies import ReplayPolicy
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.sizer import CAP_BYTES, Knobs, Trainings
from plimsoll_predictor.replay.sizes.traces import Trace
from plimsoll_predictor.replay.sizes.trained import Trained, TrainedSizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The settings of a replay, the same for every trace and policy."""

    decide_at: DecideAt = DecideAt.SUBMIT
    first_size: float = 1.0
    trainings: Trainings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A policy's figures on a trace. frontier: empty unless it was asked for.

    trained: None unless the policy trains and was asked to.
    """

    trace: Trace
    policy: ReplayPolicy
    setting: Setting
    totals: Totals
    plotted: Plotted
    frontier: Sequence[FrontierPoint] = ()
    trained: Trained | None = None

    def to_dict(self) -> dict[str, Any]:
        """The figures in plain JSON types."""
        return {
            "trace": self.trace.name,
            "policy": self.policy.name,
            "decide": self.setting.decide_at.value,
            "first_size": self.setting.first_size,
            **to_document(self.totals),
            "left_out": to_document(self.trace.left_out),
            "shifted": self.trace.shifted,
            "trained": None if self.trained is None else to_document(self.trained),
        }


def play(
    trace: Trace,
    policy: ReplayPolicy,
    setting: Setting,
    progress: Callable[[int], None] = lambda _: None,
) -> Played:
    """Replay a trace through a fresh sizer of the policy.

    Raises SizerBroken if the policy gives an answer that is not allowed.
    """
    knobs = _knobs(trace, setting)
    sizer = policy.make(knobs)
    replayed = replay(
        trace.rows,
        sizer,
        decide_at=setting.decide_at,
        cap_bytes=knobs.cap_bytes,
        progress=progress,
    )
    return Played(
        trace=trace,
        policy=policy,
        setting=setting,
        totals=totals(replayed.rows, replayed.decisions_s, replayed.updates_s),
        plotted=plotted(replayed.rows),
        trained=sizer.trained if isinstance(sizer, TrainedSizer) else None,
    )


def frontier(
    trace: Trace,
    policy: ReplayPolicy,
    setting: Setting,
    progress: Callable[[int], None] = lambda _: None,
) -> list[FrontierPoint]:
    """Waste and failures at each of the policy's strictnesses, in their order.

    progress: gets the number of runs that have ended, from 0 again for each strictness.
    """
    points: list[FrontierPoint] = []
    knobs = _knobs(trace, setting)
    for strictness in policy.strictnesses:
        replayed = replay(
            trace.rows,
            policy.make(replace(knobs, strictness=strictness)),
            decide_at=setting.decide_at,
            cap_bytes=knobs.cap_bytes,
            progress=progress,
        )
        points.append(
            FrontierPoint(
                strictness=strictness,
                waste_gb_h=sum(row.waste_gb_h for row in replayed.rows),
                failed_attempts=sum(row.failed_attempts for row in replayed.rows),
            )
        )
    return points


def _knobs(trace: Trace, setting: Setting) -> Knobs:
    return Knobs(
        first_size=setting.first_size,
        trainings=setting.trainings,
        cap_bytes=max(CAP_BYTES, *(_most_bytes(row) for row in trace.rows)),
    )


def _most_bytes(row: TraceRow) -> int:
    return max(row.peak_bytes, row.preset_bytes or 0)
