"""Tasks, from TaskProfiles and SizingPolicies. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.commands.status.seen import Object, part
from plimsoll_operator.names.conditions import is_trouble, read_conditions
from plimsoll_operator.policy.policy_levels import SIZING_POLICY_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """One task, as its TaskProfile tells. Figures are None where none is known.

    saved, would_save: in words. would_runs: that recommend mode decided, and whose need is known;
    would_kill: those of them that the first size would have killed.
    troubles: sentences, each with the condition's reason.
    """

    namespace: str
    name: str
    mode: str
    phase: str
    runs: int
    oom_kills: int
    saved: str | None
    saved_gb_h: float | None
    would_runs: int
    would_save: str | None
    would_save_gb_h: float | None
    would_kill: int | None
    would_kill_share: float | None
    model: str | None
    paused: bool
    troubles: tuple[str, ...]
    last_decision: str | None

    @property
    def task(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def stake_gb_h(self) -> float:
        """What there is to gain or what was gained: the order of the table."""
        return abs(self.would_save_gb_h or self.saved_gb_h or 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "task": self.task,
            "mode": self.mode,
            "phase": self.phase,
            "paused": self.paused,
            "runs": self.runs,
            "oom_kills": self.oom_kills,
            "saved_gb_h": self.saved_gb_h,
            "would_runs": self.would_runs,
            "would_save_gb_h": self.would_save_gb_h,
            "would_kill_runs": self.would_kill,
            "would_kill_share": self.would_kill_share,
            "model": self.model,
            "troubles": list(self.troubles),
            "last_decision": self.last_decision,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceState:
    """The tasks of one namespace together. modes: mode -> how many tasks."""

    namespace: str
    tasks: int
    runs: int
    oom_kills: int
    saved_gb_h: float
    would_runs: int
    would_save_gb_h: float
    would_kill: int
    modes: Mapping[str, int]
    paused: bool
    troubled: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "namespace": self.namespace,
            "tasks": self.tasks,
            "runs": self.runs,
            "oom_kills": self.oom_kills,
            "saved_gb_h": self.saved_gb_h,
            "would_runs": self.would_runs,
            "would_save_gb_h": self.would_save_gb_h,
            "would_kill_runs": self.would_kill,
            "modes": dict(self.modes),
            "paused": self.paused,
            "troubled_tasks": self.troubled,
        }


def task_states(profiles: Sequence[Object]) -> list[TaskState]:
    """Each task; those in trouble first, then those with most to gain."""
    states = [_state(profile) for profile in profiles]
    states.sort(key=lambda each: (not each.troubles, -each.stake_gb_h, each.task))
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
    found = [_together(name, group, name in paused) for name, group in groups.items()]
    return sorted(found, key=lambda each: (-each.tasks, each.namespace))


def is_paused(policy: Object) -> bool:
    """Whether a SizingPolicy or TaskProfile says that it pauses."""
    return part(policy, "spec", "paused") is True


def _state(profile: Object) -> TaskState:
    status = part(profile, "status") or {}
    spec_task = part(profile, "spec", "task")
    decisions = status.get("lastDecisions")
    return TaskState(
        namespace=str(part(profile, "metadata", "namespace")),
        name=str(status.get("task") or spec_task or part(profile, "metadata", "name")),
        mode=str(status.get("mode") or part(profile, "spec", "mode") or "?"),
        phase=str(status.get("phase") or "Unseen"),
        runs=_whole(status.get("runs")) or 0,
        oom_kills=_whole(status.get("oomKills")) or 0,
        saved=_text(status.get("saved")),
        saved_gb_h=_number(status.get("savedGbH")),
        would_runs=_whole(status.get("wouldRuns")) or 0,
        would_save=_text(status.get("wouldSave")),
        would_save_gb_h=_number(status.get("wouldSaveGbH")),
        would_kill=_whole(status.get("wouldKill")),
        would_kill_share=_number(status.get("wouldKillShare")),
        model=_text(status.get("model")),
        paused=is_paused(profile),
        troubles=tuple(_troubles(status.get("conditions"))),
        last_decision=_text(decisions[0]) if isinstance(decisions, list) and decisions else None,
    )


def _troubles(conditions: object) -> list[str]:
    return [
        f"{each.get('reason') or each['type']}: {each.get('message')}"
        for each in read_conditions(conditions)
        if is_trouble(each)
    ]


def _together(namespace: str, tasks: Sequence[TaskState], paused: bool) -> NamespaceState:
    return NamespaceState(
        namespace=namespace,
        tasks=len(tasks),
        runs=sum(each.runs for each in tasks),
        oom_kills=sum(each.oom_kills for each in tasks),
        saved_gb_h=sum(each.saved_gb_h or 0.0 for each in tasks),
        would_runs=sum(each.would_runs for each in tasks),
        would_save_gb_h=sum(each.would_save_gb_h or 0.0 for each in tasks),
        would_kill=sum(each.would_kill or 0 for each in tasks),
        modes=Counter(each.mode for each in tasks),
        paused=paused,
        troubled=sum(bool(each.troubles) for each in tasks),
    )


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]  # checked just above


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
