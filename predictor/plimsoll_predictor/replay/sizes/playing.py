"""One trace through one policy: the figures that are printed, and what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.replay.sizes.engine import DecideAt, Replayed, replay
from plimsoll_predictor.replay.sizes.figures import (
    FrontierPoint,
    Plotted,
    Totals,
    plotted,
    totals,
)
from plimsoll_predictor.replay.sizes.policies import ReplayPolicy
from plimsoll_predictor.replay.sizes.sizer import Knobs
from plimsoll_predictor.replay.sizes.traces import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The settings of a replay, the same for every trace and policy."""

    decide_at: DecideAt = DecideAt.SUBMIT
    first_size: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A policy's figures on a trace. frontier: empty unless it was asked for."""

    trace: Trace
    policy: ReplayPolicy
    setting: Setting
    totals: Totals
    plotted: Plotted
    frontier: Sequence[FrontierPoint] = ()

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
        }


def play(
    trace: Trace,
    policy: ReplayPolicy,
    setting: Setting,
    progress: Callable[[int], None] = lambda _: None,
) -> Played:
    """Replay a trace through a fresh sizer of the policy.

    Raises SizerBroken if the policy answers what no policy may.
    """
    replayed = _replayed(trace, policy, setting, None, progress)
    return Played(
        trace=trace,
        policy=policy,
        setting=setting,
        totals=totals(replayed.rows, replayed.decisions_s, replayed.updates_s),
        plotted=plotted(replayed.rows),
    )


def frontier(
    trace: Trace,
    policy: ReplayPolicy,
    setting: Setting,
    progress: Callable[[int], None] = lambda _: None,
) -> list[FrontierPoint]:
    """Waste and failures at each of the policy's strictnesses, in their order.

    progress: told the number of runs that have ended, from 0 again for each strictness.
    """
    points: list[FrontierPoint] = []
    for strictness in policy.strictnesses:
        replayed = _replayed(trace, policy, setting, strictness, progress)
        points.append(
            FrontierPoint(
                strictness=strictness,
                waste_gb_h=sum(row.waste_gb_h for row in replayed.rows),
                failed_attempts=sum(row.failed_attempts for row in replayed.rows),
            )
        )
    return points


def _replayed(
    trace: Trace,
    policy: ReplayPolicy,
    setting: Setting,
    strictness: float | None,
    progress: Callable[[int], None],
) -> Replayed:
    sizer = policy.make(Knobs(first_size=setting.first_size, strictness=strictness))
    return replay(trace.rows, sizer, decide_at=setting.decide_at, progress=progress)
