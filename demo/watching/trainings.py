"""How the tasks' last trainings ended, read from TaskProfiles. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from demo.services.service import TRAINING_BUDGET_S

from plimsoll_operator.names.conditions import ConditionType
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.training.limits import GRACE_S, PATIENCE

LONGEST_TRAINING_S: Final = PATIENCE * TRAINING_BUDGET_S + GRACE_S
"""Plimsoll itself ends a training that lasts longer, and says so in the TaskProfile."""


@dataclass(frozen=True, slots=True)
class Training:
    """The last training of a task. Times are Unix seconds.

    trained_s: when the model in service was trained; None if there is none. failed_s: since when
    trainings fail; None if the last one did not. failure: why, in words.
    """

    trained_s: float | None = None
    failed_s: float | None = None
    failure: str | None = None


def trainings(profiles: Iterable[Mapping[str, Any]]) -> dict[str, Training]:
    """Each task's last training, by its ``namespace/name``."""
    found = {}
    for profile in profiles:
        status = profile.get("status") or {}
        name = status.get("task") or profile["metadata"]["name"]
        found[f"{profile['metadata']['namespace']}/{name}"] = _training(status)
    return found


def _training(status: Mapping[str, Any]) -> Training:
    trained_s = read_time(status.get("trainedTime"))
    for condition in status.get("conditions") or ():
        if (condition["type"], condition["status"]) == (ConditionType.TRAINING_FAILED, "True"):
            failed_s = read_time(condition["lastTransitionTime"])
            return Training(trained_s, failed_s, condition["message"])
    return Training(trained_s)


def failures(now: Mapping[str, Training], since_s: Mapping[str, float]) -> list[str]:
    """Why awaited tasks will not be trained: one sentence each.

    since_s: task -> the time after which it must be trained, Unix seconds.
    """
    return [
        f"{task}: {training.failure}"
        for task, training in now.items()
        if task in since_s and training.failed_s is not None and training.failed_s >= since_s[task]
    ]


def trained(now: Mapping[str, Training], since_s: Mapping[str, float]) -> list[str]:
    """The awaited tasks that have been trained since."""
    found = {task: now.get(task, Training()).trained_s for task in since_s}
    return [task for task, at_s in found.items() if at_s is not None and at_s >= since_s[task]]
