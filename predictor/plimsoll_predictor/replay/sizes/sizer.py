"""The interface between the replay and a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants
from plimsoll_predictor.replay.growth import Growth
from plimsoll_predictor.replay.sizes.rows import Submitted, TraceRow

CAP_BYTES: Final = 128 * 10**9
"""The most that a run may be given, unless its trace asked for more, or needed more."""
UNASKED_BYTES: Final = 4 * 10**9
"""Stands for the request of a run without one."""


class Sizer(Protocol):
    """A policy under replay. One instance sees one trace, once, in time order."""

    def decide(self, asked: Submitted, now_s: float, /) -> int:
        """Bytes for a run's first attempt."""

    def lift(self, asked: Submitted, failed_bytes: int, attempt: int, now_s: float, /) -> int:
        """Bytes for the next attempt, more than failed_bytes; the failure has been taught before.

        attempt: the number of the attempt that failed, 1 for the first.
        """

    def failed(
        self, asked: Submitted, allocation_bytes: int, attempt: int, now_s: float, /
    ) -> None:
        """Learn that an attempt needed more than allocation_bytes."""

    def completed(self, row: TraceRow, allocation_bytes: int, now_s: float, /) -> None:
        """Learn from a run that completed; allocation_bytes is its last attempt's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningAttempt:
    """An attempt in flight, as a cluster would see it.

    line: its run's. started_s: Unix seconds. reached_bytes: the most it was seen to need so far;
        0 if not measured. climbs: whether it was seen to take more just now.
    """

    line: int
    started_s: float
    reached_bytes: float
    climbs: bool = False


@runtime_checkable
class SeesRunning(Protocol):
    """A policy that also sees the running attempts, before it decides or lifts.

    growth: how a run's memory grows; None if not measured: then only starts are seen.
    """

    growth: Growth | None

    def see_running(self, task: str, running: Sequence[RunningAttempt], /) -> None:
        """Take the task's attempts in flight now; they replace what was seen before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainings:
    """How much a replay trains; in service there is much more training.

    most_per_task: trainings of a task. growth: its runs must have grown by this factor since the
        last training, so that trainings spread over a long life.
    budget_s, iterations: of each training's search, in seconds of processor time and in recipes.
    processor_s: seconds of processor time for all together; then nothing more is trained.
    """

    most_per_task: int = 16
    growth: float = 1.25
    budget_s: float = 2.0
    iterations: int = 4
    processor_s: float = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """The settings of a policy under replay.

    first_size: for an unknown task, as a share of its request; above 0, at most 1.
    strictness: the policy's own knob between waste and failures; None for its default.
    error_budget: the share of runs that may be killed below their request; None sets none. Only
        Plimsoll has one.
    constants: of Plimsoll's sizes, to try other values.
    growth: how a run's memory grows, for a Plimsoll whose agents measure running attempts.
    trainings: None trains nothing, so only experts by rule bid.
    cap_bytes: the most that a run may be given.
    """

    first_size: float = 1.0
    strictness: float | None = None
    error_budget: float | None = None
    constants: Constants = SERVED
    growth: Growth | None = None
    trainings: Trainings | None = None
    cap_bytes: int = CAP_BYTES

    def first_bytes(self, preset_bytes: int | None) -> int:
        """Bytes for a run whose task is unknown."""
        return int((preset_bytes or UNASKED_BYTES) * self.first_size)


SizerMaker = Callable[[Knobs], Sizer]
