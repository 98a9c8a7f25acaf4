"""The records that a report shows, gathered and counted; rendering only draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from plimsoll_operator.profile.phases import Phase
from plimsoll_operator.profile.standing_facts import StandingFacts
from plimsoll_operator.views.kill_costs import NO_COSTS, KillCosts
from plimsoll_operator.views.training_facts import PastTraining
from plimsoll_operator.wording.asking_words import CPU_EXCESS
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.savings import Saving
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.task_groups import Group
from plimsoll_predictor.experts.charging import Would
from plimsoll_predictor.model.bins import Bins
from plimsoll_predictor.model.task_model import ModelMetrics
from plimsoll_predictor.store import DecisionRecord
from plimsoll_predictor.training.out_of_time import OutOfTimeCost


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts and memory-time of one task or of several.

    Only attempts that Plimsoll watched count in kills, retries and GB·h; ``imported`` ones were
    history before it came. GB·h count attempts whose request and runtime are known. Allocated is
    the request that they ran with. An attempt killed below its request is left out of
    ``requested_gb_h``: its request would have been enough.
    """

    runs: int = 0
    attempts: int = 0
    imported: int = 0
    oom_kills: int = 0
    retries: int = 0
    requested_gb_h: float = 0.0
    allocated_gb_h: float = 0.0
    peak_gb_h: float = 0.0

    @property
    def saved_gb_h(self) -> float:
        """Asked for minus allocated; negative if more was spent."""
        return self.requested_gb_h - self.allocated_gb_h


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptPoint:
    """One attempt as the plots draw it. None if a value is unknown.

    reserved_bytes: the request that it ran with; its limit may be larger.
    need_bytes: the peak of a success; the limit that was exceeded if ``killed``.
    lifted_to_bytes, lift_outcome, lift_cause: the limit of the attempt that followed a kill, how it
        ended, and why; None while it has not ended.
    cause: why it did not succeed; None if it did, or if nobody looked.
    """

    at_s: float | None
    run: str
    attempt: int
    outcome: Outcome
    request_bytes: int | None
    reserved_bytes: int | None
    need_bytes: int | None
    lifted_to_bytes: int | None = None
    lift_outcome: Outcome | None = None
    lift_cause: Cause | None = None
    imported: bool = False
    cause: Cause | None = None

    @property
    def killed(self) -> bool:
        """OOM-killed: the need was more than its limit."""
        return self.outcome is Outcome.OOM_KILLED


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuFigures:
    """CPU over time, in core·h, of attempts that Plimsoll watched and measured.

    requested_core_h: what the user asked for; allocated_core_h: the requests they ran under.
    most_cores: of the busiest minute; None if no attempt lasted a minute.
    """

    requested_core_h: float
    allocated_core_h: float
    used_core_h: float
    most_cores: float | None

    @property
    def saved_core_h(self) -> float:
        """Asked for minus allocated; negative if more was allocated."""
        return self.requested_core_h - self.allocated_core_h

    @property
    def too_little(self) -> bool:
        """Whether far more was used than was asked for."""
        return self.used_core_h > self.requested_core_h * CPU_EXCESS


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """The newest model without its trees: a report of many tasks has no room for them.

    trained_s: Unix seconds.
    """

    version: str
    trained_s: float
    observations: int
    metrics: ModelMetrics
    bins: Bins


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetail:
    """The contents of a task's own section. points: oldest first; all else newest first.

    lifts: kills that were not history. out_of_time_costs: expert -> as the last training measured.
    experts: None in a store that no controller with experts has served; the out-of-time costs of
        the last training replace them.
    needs_bytes: needs of those runs read that count as use in the groups' tables.
    unread: older attempts in the store, which neither the figures nor the plots contain.
    """

    points: tuple[AttemptPoint, ...] = ()
    lifts: tuple[AttemptPoint, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()
    model: ModelFigures | None = None
    out_of_time_costs: Mapping[str, OutOfTimeCost] = field(default_factory=dict)
    experts: StandingFacts | None = None
    training_failure: str | None = None
    trainings: tuple[PastTraining, ...] = ()
    needs_bytes: tuple[int, ...] = ()
    unread: int = 0
    cpu: CpuFigures | None = None
    costs: KillCosts = NO_COSTS


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """One task.

    figures: of the attempts that were read. kept: of all attempts in the store, so that tasks
        compare and add up; its runs are those with a known need, it has no ``retries``, and it
        counts imported runs and kills, too.
    asks: that it asks for too little, in words. detail: None if it is only listed.
    would: what enforcing would have done to the runs that got only recommendations.
    """

    task: TaskId
    figures: Figures
    kept: Figures
    phase: Phase
    champion: str
    asks: str | None = None
    detail: TaskDetail | None = None
    would: Would = field(default_factory=Would)


@dataclass(frozen=True, slots=True)
class GroupsReport:
    """Groups, smallest first, and the rows of the tables about them."""

    groups: tuple[Group, ...]
    by_group: tuple[Saving, ...]
    task_level: tuple[Saving, ...]
    run_level: tuple[Saving, ...]

    @property
    def groups_tell_more(self) -> bool:
        """Whether the rows by group are others than those by task: not if each group is one."""
        by_task = [replace(row, label="") for row in self.task_level]
        return any(replace(row, label="") not in by_task for row in self.by_group)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """A whole report. omitted: tasks that there was no room to list; unlisted: their figures.

    groups: of the listed tasks, over all their runs; None if too few were measured.
    """

    tasks: tuple[TaskReport, ...] = ()
    omitted: int = 0
    unlisted: Figures = Figures()
    groups: GroupsReport | None = None

    @property
    def known(self) -> int:
        """How many tasks it is about, listed or not."""
        return len(self.tasks) + self.omitted

    @property
    def kept(self) -> Figures:
        """The sum over all tasks, listed or not."""
        return total(Figures, [*(report.kept for report in self.tasks), self.unlisted])

    @property
    def costs(self) -> KillCosts:
        """What kills and rescues cost, summed over all tasks with a section of their own."""
        details = (report.detail for report in self.tasks)
        return sum((each.costs for each in details if each is not None), NO_COSTS)

    @property
    def would(self) -> Would:
        """The sum over all listed tasks."""
        return total(Would, [report.would for report in self.tasks])


Sum = TypeVar("Sum", Figures, Would)


def total(kind: type[Sum], records: Sequence[Sum]) -> Sum:
    """The sum of several tasks' figures, field by field."""
    sums = {
        each.name: sum(getattr(record, each.name) for record in records) for each in fields(kind)
    }
    return kind(**sums)
