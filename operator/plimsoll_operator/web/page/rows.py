"""Makes a line of the index from a task's figures in the store and from its profile. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from plimsoll_operator.names.conditions import cut
from plimsoll_operator.profile.phases import Progress, phase_of
from plimsoll_operator.views.profile_status import ProfileStatus
from plimsoll_operator.wording.lending_words import LendingNow
from plimsoll_operator.wording.training_words import TrainingsNow
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import TaskSummary

MAX_WORDS: Final = 200
"""The most characters of a decision's words in the index; the task's own page has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTask:
    """The controller's knowledge of a task that the store does not have.

    status: TaskProfile.status, as the API server has it; empty without a profile.
    """

    policy: Policy = field(default_factory=Policy)
    paused: bool = False
    champion: str = "request"
    trained: bool = False
    status: Mapping[str, Any] = field(default_factory=dict)


class Live(Protocol):
    """The controller's knowledge that the store does not have.

    The page's threads ask for it; that is safe and never waits.
    """

    def task(self, task: TaskId) -> LiveTask:
        """Return a task; an unknown task has its namespace's policy."""

    @property
    def paused(self) -> bool:
        """Whether people have paused the whole cluster."""

    @property
    def lending(self) -> LendingNow | None:
        """What running pods lend; None if no pod may lend."""

    @property
    def trainings(self) -> TrainingsNow | None:
        """What waits for a training; None if the controller trains by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task of the index.

    asks: says that the task asks for too little; None if it asks for enough.
    would_save_gb_h, would_kill: the effect if all recommended sizes had been enforced; None if the
        profile does not have it, for instance if the task is enforced.
    would_asked_gb_h: of the runs of ``would_save_gb_h``; an older controller did not write it.
    runtime: of the next run, p50 and p95 in words; None while nothing is forecast.
    """

    summary: TaskSummary
    name: str
    mode: str
    phase: str
    champion: str
    asks: str | None = None
    would_save_gb_h: float | None = None
    would_asked_gb_h: float | None = None
    would_save: str | None = None
    would_kill: int | None = None
    decision: str = ""
    runtime: str | None = None
    runtime_p50_s: float | None = None

    @property
    def saved_gb_h(self) -> float:
        """Requested minus allocated; negative if more was allocated."""
        return self.summary.requested_gb_h - self.summary.allocated_gb_h

    @property
    def would_share(self) -> str | None:
        """The share in ``would_save``, for a narrow column."""
        return None if self.would_save is None else self.would_save.partition(" ")[0]


def row_of(summary: TaskSummary, live: LiveTask) -> TaskRow:
    """A task's line, without fields of the status that another version wrote differently."""
    status, policy = ProfileStatus.read(live.status), live.policy
    recommended = policy.mode is Mode.RECOMMEND
    return TaskRow(
        summary=summary,
        name=str(summary.task),
        mode=policy.mode.value,
        phase=_phase(summary, live, status.phase),
        champion=_cut(status.champion) or live.champion,
        asks=_cut(status.asks),
        would_save_gb_h=status.would_save_gb_h if recommended else None,
        would_asked_gb_h=status.would_asked_gb_h if recommended else None,
        would_save=_cut(status.would_save) if recommended else None,
        would_kill=status.would_kill if recommended else None,
        decision=_cut(status.last_decision) or "",
        runtime=_cut(status.runtime),
        runtime_p50_s=status.runtime_p50_s,
    )


def _phase(summary: TaskSummary, live: LiveTask, written: str | None) -> str:
    if written is not None and not live.paused:
        return cut(written, MAX_WORDS)
    progress = Progress(
        runs=summary.runs_known,
        min_runs=live.policy.min_runs,
        champion=live.champion,
        trained=live.trained,
        paused=live.paused or live.policy.mode is Mode.OFF,
    )
    return phase_of(progress).value


def _cut(words: str | None) -> str | None:
    return None if words is None else cut(words, MAX_WORDS)
