"""The summary that `plimsoll status` prints, with what to do next. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Final

from plimsoll_operator.commands.status.asked import asked_check
from plimsoll_operator.commands.status.benefit import benefit_of
from plimsoll_operator.commands.status.checks import PROCESSES, Check, Level, checks_of
from plimsoll_operator.commands.status.cluster_state import ClusterState
from plimsoll_operator.commands.status.lending import PART, lending_check
from plimsoll_operator.commands.status.tasks import (
    NamespaceState,
    TaskState,
    namespace_states,
    task_states,
)
from plimsoll_operator.commands.status.trainings import PART as TRAININGS
from plimsoll_operator.commands.status.trainings import trainings_check
from plimsoll_operator.wording.figure_words import words_for_gb_h
from plimsoll_predictor.core.policy import Mode

FEW_KILLS: Final = 0.05
"""Enforcing is advised if it would have killed a lower share of a namespace's runs."""
MOST_ADVICE: Final = 6
_NO_PART: Final = ("sizing", "benefit", PART, TRAININGS)
"""Checks that are not about a running part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Everything that is said about a cluster. tasks: those in trouble first."""

    cluster: ClusterState
    checks: Sequence[Check]
    tasks: Sequence[TaskState]
    namespaces: Sequence[NamespaceState]

    @property
    def healthy(self) -> bool | None:
        """Whether pods are admitted, sized and learned from, as far as the reader may see.

        None if the reader may see nothing of that.
        """
        if self.hidden:
            return None
        return all(check.level is not Level.BAD for check in self.checks)

    @property
    def hidden(self) -> bool:
        """Whether the reader may see none of the running parts.

        Outside of the cluster they are one part, beside a webhook that outlives them.
        """
        running = [each for each in self.checks if each.name not in _NO_PART]
        unseen = [each.name for each in running if each.level is Level.UNSEEN]
        broken = any(each.level is Level.BAD for each in running)
        return len(unseen) == len(running) or (PROCESSES in unseen and not broken)

    @property
    def next_steps(self) -> list[str]:
        """What to do next, the most urgent first."""
        steps = [f"{each.name}: {each.todo}" for each in self.checks if each.todo]
        troubled = [task for task in self.tasks if task.status.troubles]
        steps += [f"look at {task.task}: plimsoll explain {task.task}" for task in troubled[:2]]
        steps += [_advice(each) for each in self.namespaces if _worth_enforcing(each)]
        if not self.tasks and not any(each.what == "tasks" for each in self.cluster.unseen):
            steps.append(
                "no task is known yet: label a pod template plimsoll.dev/task: NAME, or bring in"
                " past runs with `plimsoll import`"
            )
        return steps[:MOST_ADVICE]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "healthy": self.healthy,
            "version": version("plimsoll"),
            "installed_in": self.cluster.installed_in,
            "checks": [asdict(each) for each in self.checks],
            "namespaces": [asdict(each) for each in self.namespaces],
            "tasks": [each.to_dict() for each in self.tasks],
            "next_steps": self.next_steps,
            "lending": asdict(self.cluster.lending) if self.cluster.lending else None,
            "trainings": asdict(self.cluster.trainings) if self.cluster.trainings else None,
            "unseen": [asdict(each) for each in self.cluster.unseen],
        }


def summary_of(cluster: ClusterState, now_s: float) -> Summary:
    """Judge what was seen. now_s: Unix seconds."""
    tasks = task_states(cluster.profiles or ())
    namespaces = namespace_states(tasks, cluster.policies or ())
    checks = checks_of(cluster, now_s)
    broken = any(each.name == "webhook" and each.level is Level.BAD for each in checks)
    said = (
        # A broken webhook says already why nobody is asked.
        None if broken else asked_check(cluster),
        benefit_of(namespaces),
        lending_check(cluster),
        trainings_check(cluster),
    )
    told = [each for each in said if each is not None]
    return Summary(
        cluster=cluster,
        checks=[*checks, *told],
        tasks=tasks,
        namespaces=namespaces,
    )


def _worth_enforcing(each: NamespaceState) -> bool:
    recommended = each.modes.get(Mode.RECOMMEND.value, 0)
    return bool(
        recommended
        and not each.paused
        and each.would_save_gb_h > 0
        and each.would_kill_runs <= FEW_KILLS * each.would_runs
    )


def _advice(each: NamespaceState) -> str:
    saved = words_for_gb_h(each.would_save_gb_h)
    runs = f"{each.would_kill_runs:,} of {each.would_runs:,} runs"
    return (
        f"enforcing in {each.namespace} would have saved {saved} and killed {runs} at first:"
        f" plimsoll enforce -n {each.namespace}"
    )
