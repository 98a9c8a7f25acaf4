"""What a report shows, gathered and counted; rendering only draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll_operator.profile.phases import Phase
from plimsoll_operator.profile.standing_facts import StandingFacts
from plimsoll_operator.views.cpu_savings import CpuFigures
from plimsoll_operator.views.training_facts import PastTraining
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.savings import Saving
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.task_groups import Group
from plimsoll_predictor.experts.charging import Would


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts and memory-time of one task or of several.

    Only attempts that ran under Plimsoll's eyes count in kills, retries and GB·h; ``imported``
    ones were history before it came. GB·h count attempts whose request and runtime are known; an
    attempt killed below its request is left out of ``requested_gb_h``, which would have carried it.
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
        """Asked for less allocated; negative if more was spent."""
        return self.requested_gb_h - self.allocated_gb_h


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptPoint:
    """One attempt as the plots draw it. None where nobody said.

    need_bytes: the peak of a success; what was exceeded where ``killed``.
    lifted_to_bytes: of a killed attempt, what the run's next attempt got.
    """

    at_s: float | None
    run: str
    attempt: int
    outcome: Outcome
    request_bytes: int | None
    allocation_bytes: int | None
    need_bytes: int | None
    lifted_to_bytes: int | None = None
    imported: bool = False

    @property
    def killed(self) -> bool:
        """OOM-killed: the need was more than the allocation."""
        return self.outcome is Outcome.OOM_KILLED


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftRow:
    """One lift: what was too small, what followed, and how that ended.

    to_bytes, outcome: None while the next attempt has not ended.
    """

    at_s: float | None
    run: str
    attempt: int
    from_bytes: int | None
    to_bytes: int | None
    outcome: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """The newest model. Shares are 0 to 1, u_score per hundred, times Unix seconds."""

    version: str
    trained_s: float
    observations: int
    classifier: str
    sampler: str
    penalty: float
    u_score: float
    accuracy: float
    u_rate: float
    optimal_improvement: float
    estimated_improvement: float
    confusion: tuple[tuple[int, ...], ...]
    """Row: true bin. Column: predicted bin."""
    ceilings_bytes: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExpertBar:
    """An expert's out-of-time cost, as the task's last training measured it."""

    expert: str
    cost_gb_h: float


@dataclass(frozen=True, slots=True)
class SaidDecision:
    """One decision in words. allocation_bytes: None where the pod was left as it was."""

    at_s: float
    words: str
    request_bytes: int | None = None
    allocation_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetail:
    """What a task's own section shows. points: oldest first; all else newest first.

    experts: None in a store that no controller with experts has served; the out-of-time costs of
        the last training stand in.
    unread: older attempts in the store, in neither the figures nor the plots.
    """

    points: tuple[AttemptPoint, ...] = ()
    lifts: tuple[LiftRow, ...] = ()
    decisions: tuple[SaidDecision, ...] = ()
    model: ModelFigures | None = None
    out_of_time_costs: tuple[ExpertBar, ...] = ()
    experts: StandingFacts | None = None
    training_failure: str | None = None
    trainings: tuple[PastTraining, ...] = ()
    unread: int = 0
    cpu: CpuFigures | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """One task. detail: None for tasks that are only listed."""

    task: TaskId
    figures: Figures
    phase: Phase
    champion: str
    detail: TaskDetail | None = None

    @property
    def would(self) -> Would:
        """What enforcing would have come to on its runs that were only recommended for."""
        experts = self.detail.experts if self.detail else None
        return experts.would if experts else Would()


@dataclass(frozen=True, slots=True)
class GroupsReport:
    """Groups, smallest first, and the rows of the tables about them."""

    groups: tuple[Group, ...]
    by_group: tuple[Saving, ...]
    task_level: tuple[Saving, ...]
    run_level: tuple[Saving, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """All of a report. omitted: tasks there was no room to list. since_s: None shows everything.

    groups: of the listed tasks, over all their runs; None where too few were measured.
    """

    tasks: tuple[TaskReport, ...] = ()
    omitted: int = 0
    since_s: float | None = None
    groups: GroupsReport | None = None

    @property
    def would(self) -> Would:
        """The same of all tasks with a section of their own."""
        found = [report.would for report in self.tasks]
        return Would(
            runs=sum(each.runs for each in found),
            asked_gb_h=sum(each.asked_gb_h for each in found),
            decided_gb_h=sum(each.decided_gb_h for each in found),
            killed=sum(each.killed for each in found),
        )


def total(figures: Sequence[Figures]) -> Figures:
    """The sum of several tasks' figures."""
    return Figures(
        runs=sum(each.runs for each in figures),
        attempts=sum(each.attempts for each in figures),
        imported=sum(each.imported for each in figures),
        oom_kills=sum(each.oom_kills for each in figures),
        retries=sum(each.retries for each in figures),
        requested_gb_h=sum(each.requested_gb_h for each in figures),
        allocated_gb_h=sum(each.allocated_gb_h for each in figures),
        peak_gb_h=sum(each.peak_gb_h for each in figures),
    )
