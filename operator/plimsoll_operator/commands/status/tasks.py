"""Tasks, from TaskProfiles and SizingPolicies. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.commands.status.cluster_state import Object, part
from plimsoll_operator.policy.policy_levels import SIZING_POLICY_NAME
from plimsoll_operator.views.profile_status import ProfileStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """One task, as its TaskProfile describes it. mode, phase: of the status, or a stand-in."""

    namespace: str
    name: str
    mode: str
    phase: str
    paused: bool
    status: ProfileStatus

    @property
    def task(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def stake_gb_h(self) -> float:
        """The memory-time to gain, or already gained; it orders the table."""
        return abs(self.status.would_save_gb_h or self.status.saved_gb_h or 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        status = self.status
        return {
            "task": self.task,
            "mode": self.mode,
            "phase": self.phase,
            "paused": self.paused,
            "runs": status.runs,
            "oom_kills": status.oom_kills,
            "causes": status.causes,
            "killed_below_request": status.killed_below_request,
            "saved_gb_h": status.saved_gb_h,
            "held_gb_h": status.held_gb_h,
            "asked_gb_h": status.asked_gb_h,
            "guarded": status.guarded,
            "asks": status.asks,
            "would_runs": status.would_runs,
            "would_save_gb_h": status.would_save_gb_h,
            "would_kill_runs": status.would_kill,
            "would_kill_share": status.would_kill_share,
            "model": status.model,
            "troubles": list(status.troubles),
            "last_decision": status.last_decision,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceState:
    """The tasks of one namespace together. modes: mode -> how many tasks.

    held_gb_h, asked_gb_h: over each task's last few hundred sized runs.
    guarded_tasks: those that follow a simple rule, because their learned sizes were worse for long.
    """

    namespace: str
    tasks: int
    runs: int
    oom_kills: int
    saved_gb_h: float
    held_gb_h: float
    asked_gb_h: float
    would_runs: int
    would_save_gb_h: float
    would_kill_runs: int
    modes: Mapping[str, int]
    paused: bool
    troubled_tasks: int
    guarded_tasks: int = 0


def task_states(profiles: Sequence[Object]) -> list[TaskState]:
    """Each task; those in trouble first, then those with most to gain."""
    states = [_state(profile) for profile in profiles]
    states.sort(key=lambda each: (not each.status.troubles, -each.stake_gb_h, each.task))
    return states


def namespace_states(
    tasks: Sequence[TaskState], policies: Sequence[Object]
) -> list[NamespaceState]:
    """Each namespace that has tasks, those with most tasks first."""
    paused = {
        str(part(each, "metadata", "namespace"))
        for each in policies
        if part(each, "metadata", "name") == SIZING_POLICY_NAME and is_paused(each)
    }
    groups: dict[str, list[TaskState]] = {}
    for task in tasks:
        groups.setdefault(task.namespace, []).append(task)
    states = [_together(name, group, name in paused) for name, group in groups.items()]
    return sorted(states, key=lambda each: (-each.tasks, each.namespace))


def is_paused(policy: Object) -> bool:
    """Whether a SizingPolicy or TaskProfile says that it pauses."""
    return part(policy, "spec", "paused") is True


def _state(profile: Object) -> TaskState:
    written = part(profile, "status")
    status = ProfileStatus.read(written if isinstance(written, Mapping) else {})
    spec_task = part(profile, "spec", "task")
    return TaskState(
        namespace=str(part(profile, "metadata", "namespace")),
        name=str(status.task or spec_task or part(profile, "metadata", "name")),
        mode=str(status.mode or part(profile, "spec", "mode") or "?"),
        phase=status.phase or "Unseen",
        paused=is_paused(profile),
        status=status,
    )


def _together(namespace: str, tasks: Sequence[TaskState], paused: bool) -> NamespaceState:
    return NamespaceState(
        namespace=namespace,
        tasks=len(tasks),
        runs=sum(each.status.runs for each in tasks),
        oom_kills=sum(each.status.oom_kills for each in tasks),
        saved_gb_h=sum(each.status.saved_gb_h or 0.0 for each in tasks),
        held_gb_h=sum(each.status.held_gb_h for each in tasks),
        asked_gb_h=sum(each.status.asked_gb_h for each in tasks),
        would_runs=sum(each.status.would_runs for each in tasks),
        would_save_gb_h=sum(each.status.would_save_gb_h or 0.0 for each in tasks),
        would_kill_runs=sum(each.status.would_kill or 0 for each in tasks),
        modes=dict(Counter(each.mode for each in tasks)),
        paused=paused,
        troubled_tasks=sum(bool(each.status.troubles) for each in tasks),
        guarded_tasks=sum(each.status.guarded is not None for each in tasks),
    )
