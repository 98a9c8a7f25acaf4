"""Says in one word how far Plimsoll has come with a task. The report page shows it too."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from plimsoll_predictor.knowledge.expert_names import REQUEST


class Phase(StrEnum):
    """The values of TaskProfile.status.phase."""

    COLD_START = "ColdStart"
    """Too few runs are known; pods keep their request, or get the share of ``firstSize``."""
    LEARNING = "Learning"
    """Pods keep their request; too few runs are known to say that it is really the cheapest."""
    SIZING = "Sizing"
    """Sizes come from the task's runs, or would come in recommend mode."""
    LEAKING = "Leaking"
    """Lifts did not help a run, and it was given up; the next ones are treated as before."""
    PAUSED = "Paused"
    """People paused the task or turned it off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The facts that decide the phase.

    runs: runs whose need is known. trained: whether a model exists, serving or not.
    young: whether too few runs are known to trust the experts' costs.
    """

    runs: int
    min_runs: int
    champion: str
    trained: bool
    young: bool = True
    leaking: bool = False
    paused: bool = False


def phase_of(progress: Progress) -> Phase:
    """Return the phase; a pause comes first, then a leak, then the known runs."""
    if progress.paused:
        return Phase.PAUSED
    if progress.leaking:
        return Phase.LEAKING
    if progress.runs < progress.min_runs:
        return Phase.COLD_START
    if progress.champion == REQUEST and not progress.trained and progress.young:
        return Phase.LEARNING
    return Phase.SIZING
