"""Names a task's TaskProfile, and finds the task of a TaskProfile."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from plimsoll_predictor.core.task import TaskId

MAX_NAME: Final = 253
_HASH_DIGITS: Final = 8
_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_NAME: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
"""A valid name of an object for Kubernetes: a DNS-1123 subdomain."""


def profile_name(task: TaskId) -> str:
    """Return the name of a task's TaskProfile, in the task's namespace.

    It is the task's own name if Kubernetes accepts that. Else it is the nearest valid spelling with
    a hash of the true name, so that ``Train_A`` and ``train-a`` have two profiles. Then
    ``spec.task`` holds the true name.

    >>> profile_name(TaskId("shop", "train-demand"))
    'train-demand'
    >>> profile_name(TaskId("shop", "Train_Demand"))
    'train-demand-892efd52'
    """
    if len(task.name) <= MAX_NAME and _DNS_NAME.fullmatch(task.name):
        return task.name
    digest = hashlib.sha256(task.name.encode()).hexdigest()[:_HASH_DIGITS]
    spelled = re.sub(r"[^a-z0-9]+", "-", task.name.lower())[: MAX_NAME - _HASH_DIGITS - 1]
    return f"{spelled.strip('-') or 'task'}-{digest}"


def task_of_profile(namespace: str, name: str, spec_task: str | None) -> TaskId:
    """Return the task of a TaskProfile: inverse of ``profile_name``, with its ``spec.task``."""
    return TaskId(namespace, spec_task or name)
