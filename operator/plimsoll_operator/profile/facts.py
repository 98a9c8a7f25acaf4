"""All that a TaskProfile's status is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from plimsoll_operator.policy.policy_levels import PausedBy
from plimsoll_operator.profile.runtime_status import RuntimeFacts
from plimsoll_operator.profile.standing_facts import StandingFacts
from plimsoll_predictor.core.record import PeakSource
from plimsoll_predictor.knowledge.knowledge import Knowledge


class Tally(Protocol):
    """Counts and sums of a task; plimsoll_predictor.store.TaskSummary is one."""

    @property
    def observations(self) -> int:
        """Attempts observed."""

    @property
    def oom_kills(self) -> int:
        """Attempts killed for want of memory."""

    @property
    def requested_gb_h(self) -> float:
        """Memory-time asked for."""

    @property
    def allocated_gb_h(self) -> float:
        """Memory-time allocated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFact:
    """How the last training ended.

    failure: why it failed; None if it made a model. note: such as that its budget cut it short.
    """

    at_s: float
    failure: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """Where peaks of the task's successful attempts come from.

    source: of the last of them; None: nobody measured it.
    unmeasured: how many of the last ones, in a row, nobody measured. node: where the last one ran.
    measured_s: when the last one ended that was measured, Unix seconds; None if none was of late.
    """

    source: PeakSource | None
    unmeasured: int = 0
    node: str | None = None
    measured_s: float | None = None


class Ailment(StrEnum):
    """What keeps Plimsoll from doing its work; a condition's reason. The worst comes first."""

    STORE = "StoreUnavailable"
    FORBIDDEN = "Forbidden"
    FEED = "FeedUnheard"
    DEFINITIONS = "DefinitionsOutdated"
    CROWDED = "TooManyTasks"
    FIELDS = "FieldsIgnored"


@dataclass(frozen=True, slots=True)
class Degradation:
    """One thing that is wrong, in words that say what to do."""

    ailment: Ailment
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileFacts:
    """All a status is made of.

    decisions: newest first, in words. training, measurement: None before the first.
    standing: its experts; None before its first run. runtime: what is forecast of its runs' times.
    leaking: why the task is left alone; None if it is not.
    paused_by: who pauses it; None if it is not paused.
    problems: fields of policies that had to be ignored. troubles: whatever else is wrong.
    trains_from: how many runs have to be known for a training.
    generation: of the TaskProfile that was read.
    """

    knowledge: Knowledge
    tally: Tally
    decisions: Sequence[str] = ()
    training: TrainingFact | None = None
    standing: StandingFacts | None = None
    runtime: RuntimeFacts = field(default_factory=RuntimeFacts)
    measurement: Measurement | None = None
    leaking: str | None = None
    paused_by: PausedBy | None = None
    problems: Sequence[str] = ()
    troubles: Sequence[Degradation] = ()
    trains_from: int = 1
    generation: int | None = None

    @property
    def paused(self) -> bool:
        """Whether its pods are left as they are written."""
        return self.paused_by is not None or self.knowledge.paused
