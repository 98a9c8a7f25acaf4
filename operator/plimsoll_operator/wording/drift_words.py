"""Words for a task's change, or for its steadiness."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.experts.drift import BEFORE, Drift


class DriftKind(StrEnum):
    """The kind of change; a condition's reason."""

    NONE = "Steady"
    IMAGE = "NewImage"
    LEVEL = "LevelShift"


@dataclass(frozen=True, slots=True)
class DriftFacts:
    """A task's latest change. shifts: changes of its level since its first run."""

    change: DriftKind
    words: str
    shifts: int = 0

    @property
    def drifting(self) -> bool:
        """Whether few runs are known since the change."""
        return self.change is not DriftKind.NONE


STEADY = DriftFacts(DriftKind.NONE, "its latest runs need what its earlier runs needed")


_RESTLESS: Final = (
    "its image or command is another one in nearly every run, so a new one is no sign of change"
)


def drift_facts(drift: Drift) -> DriftFacts:
    """Describe a drift; the words stay the same as long as the change does."""
    if not drift.drifting:
        words = f"{STEADY.words}; {_RESTLESS}" if drift.restless else STEADY.words
        return DriftFacts(DriftKind.NONE, words, drift.shifts)
    if len(drift.latest_bytes) == 2 and len(drift.before_bytes) == 2:
        words = (
            f"its latest runs needed {_range(drift.latest_bytes)}; the earlier runs, which needed"
            f" {_range(drift.before_bytes)}, no longer count; the task is drifting until {BEFORE}"
            " runs are known since the change"
        )
        return DriftFacts(DriftKind.LEVEL, words, drift.shifts)
    words = (
        f"its image or command is new; until {BEFORE} runs are known since, fewer runs are enough"
        " to show that its needs changed"
    )
    return DriftFacts(DriftKind.IMAGE, words, drift.shifts)


def _range(least_and_most_bytes: list[float]) -> str:
    least, most = (words_for_bytes(size_bytes) for size_bytes in least_and_most_bytes)
    return least if least == most else f"{least} to {most}"
