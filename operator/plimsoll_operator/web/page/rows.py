"""One line of the index: a task's figures from the store, with what its profile says. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from plimsoll_operator.names.conditions import cut
from plimsoll_operator.profile.phases import Progress, phase_of
from plimsoll_operator.views.profile_status import ProfileStatus
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import TaskSummary

MAX_WORDS: Final = 200
"""Of a decision's words in the index; the task's own page has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTask:
    """What the controller knows of a task beside the store.

    status: TaskProfile.status, as the API server has it; empty without a profile.
    """

    policy: Policy = field(default_factory=Policy)
    paused: bool = False
    champion: str = "request"
    trained: bool = False
    status: Mapping[str, Any] = field(default_factory=dict)


class Live(Protocol):
    """What the controller knows beside the store. Asked from the page's threads.

    It is safe to ask from another thread than the event loop's, and never waits.
    """

    def task(self, task: TaskId) -> LiveTask:
        """Look at a task; for one never met, its namespace's policy says what holds."""

    @property
    def paused(self) -> bool:
        """Whether people have paused the whole cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task of the index. GB·h over its live attempts.

    would_save_gb_h, would_kill: had every run been sized that was not; None where nothing is
        said of it, as where it is enforced. last_s: Unix seconds; None if none ended.
    runtime: of the next run, p50 and p95 in words; None while nothing is forecast.
    """

    task: TaskId
    name: str
    mode: str
    phase: str
    champion: str
    runs: int
    oom_kills: int
    requested_gb_h: float
    allocated_gb_h: float
    needed_gb_h: float
    would_save_gb_h: float | None = None
    would_save: str | None = None
    would_kill: int | None = None
    decision: str = ""
    last_s: float | None = None
    runtime: str | None = None
    runtime_p50_s: float | None = None

    @property
    def saved_gb_h(self) -> float:
        """Asked for less allocated; negative if more was spent."""
        return self.requested_gb_h - self.allocated_gb_h

    @property
    def would_share(self) -> str | None:
        """Of ``would_save``, the share alone, where a column is narrow."""
        return None if self.would_save is None else self.would_save.partition(" ")[0]


def row_of(summary: TaskSummary, live: LiveTask) -> TaskRow:
    """A task's line. What a status of another version says differently is left out."""
    status, policy = ProfileStatus.read(live.status), live.policy
    recommended = policy.mode is Mode.RECOMMEND
    return TaskRow(
        task=summary.task,
        name=str(summary.task),
        mode=policy.mode.value,
        phase=_phase(summary, live, status.phase),
        champion=_cut(status.champion) or live.champion,
        runs=summary.runs_known,
        oom_kills=summary.oom_kills,
        requested_gb_h=summary.requested_gb_h,
        allocated_gb_h=summary.allocated_gb_h,
        needed_gb_h=summary.peak_gb_h,
        would_save_gb_h=status.would_save_gb_h if recommended else None,
        would_save=_cut(status.would_save) if recommended else None,
        would_kill=status.would_kill if recommended else None,
        decision=_cut(status.last_decision) or "",
        last_s=summary.last_finished_s,
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
