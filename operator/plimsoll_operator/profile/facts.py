"""The facts from which a TaskProfile's status is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from plimsoll_operator.policy.policy_levels import PausedBy
from plimsoll_operator.profile.runtime_status import RuntimeFacts
from plimsoll_operator.profile.splitting_status import TaskSplitting
from plimsoll_operator.profile.standing_facts import StandingFacts
from plimsoll_operator.wording.asking_words import (
    TooLittle,
    asks_words,
    too_little_cpu_sentence,
    too_little_cpu_words,
)
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.record import Cause, PeakSource
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.placing.telling import Neighbours


class Tally(Protocol):
    """Counts and sums of a task; plimsoll_predictor.store.TaskSummary is one."""

    @property
    def observations(self) -> int:
        """Return the number of observed attempts."""

    @property
    def oom_kills(self) -> int:
        """Return the number of attempts that were killed for lack of memory."""

    @property
    def requested_gb_h(self) -> float:
        """Return the requested memory-time."""

    @property
    def allocated_gb_h(self) -> float:
        """Return the allocated memory-time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFact:
    """The end of the last training.

    failure: the cause; None if it made a model. note: a remark, such as that the budget ended it.
    has_model: whether the store holds its model.
    """

    at_s: float
    failure: str | None = None
    note: str | None = None
    has_model: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """The source of the peaks of the task's successful attempts.

    source: of the last attempt's peak; None if nobody measured it.
    unmeasured: how many of the last attempts, in a row, nobody measured. node: of the last attempt.
    measured_s: the end of the last measured attempt, Unix seconds; None without a recent one.
    """

    source: PeakSource | None
    unmeasured: int = 0
    node: str | None = None
    measured_s: float | None = None


class Ailment(StrEnum):
    """A cause that keeps Plimsoll from its work; a condition's reason. The worst comes first."""

    STORE = "StoreUnavailable"
    FORBIDDEN = "Forbidden"
    FEED = "FeedUnheard"
    DEFINITIONS = "DefinitionsOutdated"
    CROWDED = "TooManyTasks"
    FIELDS = "FieldsIgnored"


@dataclass(frozen=True, slots=True)
class Degradation:
    """One trouble, in words that say what to do."""

    ailment: Ailment
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileFacts:
    """All facts of a status.

    decisions: newest first, in words.
    costs: what kills and rescues of the latest attempts cost, in words; empty if there were none.
    causes: why the latest attempts without success ended, newest first.
    training, measurement: None before the first. due_since_s: when the training that has not ended
        became due, Unix seconds; None if none is due.
    standing: the task's experts; None before its first run. runtime: the forecast of its next run.
    neighbours: the tasks that slow it least and most. splitting: of Jobs over items.
    leaking: why a run was given up; None if none was, or if one has succeeded since.
    left: who sets the memory of its latest pod instead of Plimsoll, in words; None if nobody does.
    paused_by: None if it is not paused.
    problems: the ignored fields of policies, in words. troubles: all other causes.
    trains_from: the number of known runs that a training needs.
    too_little: the memory that the task asks for now, if it is less than it needs.
    asked_cores: the CPU that it asks for now; None if it asks for none.
    generation: of the TaskProfile that was read.
    """

    knowledge: Knowledge
    tally: Tally
    decisions: Sequence[str] = ()
    causes: Sequence[Cause] = ()
    costs: str = ""
    training: TrainingFact | None = None
    due_since_s: float | None = None
    standing: StandingFacts | None = None
    runtime: RuntimeFacts = field(default_factory=RuntimeFacts)
    neighbours: Neighbours = field(default_factory=Neighbours)
    splitting: TaskSplitting = field(default_factory=TaskSplitting)
    measurement: Measurement | None = None
    leaking: str | None = None
    left: str | None = None
    paused_by: PausedBy | None = None
    problems: Sequence[str] = ()
    troubles: Sequence[Degradation] = ()
    trains_from: int = 1
    too_little: TooLittle | None = None
    asked_cores: float | None = None
    generation: int | None = None

    @property
    def paused(self) -> bool:
        """Say whether its pods stay as their authors wrote them."""
        return self.paused_by is not None or self.knowledge.paused

    @property
    def asks(self) -> str | None:
        """Say in words that the task asks for too little; None if it asks for enough."""
        return asks_words(self.too_little, too_little_cpu_words(self.asked_cores, self._used_cores))

    @property
    def asks_sentences(self) -> list[str]:
        """Say the same in sentences; none if it asks for enough."""
        memory = self.too_little.sentence if self.too_little else None
        cpu = too_little_cpu_sentence(self.asked_cores, self._used_cores)
        return [words for words in (memory, cpu) if words]

    @property
    def _used_cores(self) -> float | None:
        """CPU counts only where Plimsoll decides it: elsewhere a task may use idle CPU."""
        knowledge = self.knowledge
        use = knowledge.cpu if knowledge.policy.cpu.mode is not Mode.OFF else None
        return None if use is None else use.high_cores
