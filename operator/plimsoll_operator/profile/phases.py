"""How far Plimsoll has come with a task, in one word. The report page shows it too."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from plimsoll_predictor.knowledge.expert_names import REQUEST


class Phase(StrEnum):
    """Printed in TaskProfile.status.phase."""

    COLD_START = "ColdStart"
    """Too few runs are known; the request is kept."""
    LEARNING = "Learning"
    """Too few runs are known to say that the request they keep is really the cheapest."""
    SIZING = "Sizing"
    """Sizes come from what was learned (in recommend mode: would come)."""
    LEAKING = "Leaking"
    """Lifts did not help; left alone."""
    PAUSED = "Paused"
    """Switched off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What the phase follows from.

    runs: runs whose need is known. trained: a model exists, serving or not.
    young: too few runs are known to trust what the experts cost.
    """

    runs: int
    min_runs: int
    champion: str
    trained: bool
    young: bool = True
    leaking: bool = False
    paused: bool = False


def phase_of(progress: Progress) -> Phase:
    """The phase; people's will first, then trouble, then knowledge."""
    if progress.paused:
        return Phase.PAUSED
    if progress.leaking:
        return Phase.LEAKING
    if progress.runs < progress.min_runs:
        return Phase.COLD_START
    if progress.champion == REQUEST and not progress.trained and progress.young:
        return Phase.LEARNING
    return Phase.SIZING
