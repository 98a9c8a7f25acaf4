"""The interface between the replay and a policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from plimsoll_predictor.replay.sizes.rows import Submitted, TraceRow

CAP_BYTES: Final = 128 * 10**9
"""The most a run may be given."""
UNASKED_BYTES: Final = 4 * 10**9
"""Stands for the request of a run that asks for nothing."""


class Sizer(Protocol):
    """A policy under replay. One instance sees one trace, once, in time order."""

    def decide(self, asked: Submitted, now_s: float, /) -> int:
        """Bytes for a run's first attempt."""

    def lift(self, asked: Submitted, failed_bytes: int, attempt: int, now_s: float, /) -> int:
        """Bytes for the next attempt, more than failed_bytes; that attempt has been taught.

        attempt: the number of the attempt that failed, 1 for the first.
        """

    def failed(
        self, asked: Submitted, allocation_bytes: int, attempt: int, now_s: float, /
    ) -> None:
        """Learn that an attempt needed more than allocation_bytes."""

    def completed(self, row: TraceRow, allocation_bytes: int, now_s: float, /) -> None:
        """Learn from a run that completed; allocation_bytes is its last attempt's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """The settings of a policy under replay.

    first_size: of a task never seen, as a share of its request; above 0, at most 1.
    strictness: the policy's own knob between waste and failures; None for its default.
    error_budget: the share of runs that may be killed below their request; None sets none. Only
        Plimsoll has one.
    """

    first_size: float = 1.0
    strictness: float | None = None
    error_budget: float | None = None

    def first_bytes(self, preset_bytes: int | None) -> int:
        """Bytes for a run whose task nobody has seen."""
        return int((preset_bytes or UNASKED_BYTES) * self.first_size)


SizerMaker = Callable[[Knobs], Sizer]
