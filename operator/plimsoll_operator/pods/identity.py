"""Finds a pod's task and run, and who makes its next attempt.

A run key is text, unique within its task, and the same for every attempt of one run:
``run:<run>/<item>``, ``airflow:...``, ``job:<uid>[:<index>]`` or ``pod:<uid>``. A long one is cut,
and ends in a hash of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.pods.engines import EngineRun, engine_run, recurring_name
from plimsoll_operator.pods.spec import (
    Pod,
    RestartPolicy,
    mapping,
    metadata_of,
    restart_policy,
    sequence,
)
from plimsoll_operator.pods.workflow_items import UNKNOWN_WORK, Work, written_work
from plimsoll_predictor.core.bounded_text import MOST_RUN_BYTES, bounded
from plimsoll_predictor.core.task import TaskId

AUTO: Final = "auto"
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"

_LONGEST_TASK_NAME: Final = 253
"""In bytes, as the name of an object."""


class Retrier(StrEnum):
    """The maker of the next attempt after an OOM kill."""

    JOB = "job"
    """The Job's controller; with restartPolicy OnFailure only after the pod is deleted."""
    ENGINE = "engine"
    """A workflow engine watches its pod; a copy would do the work twice."""
    PLIMSOLL = "plimsoll"
    """Plimsoll: the pod is bare and never restarted. A policy may forbid it."""
    OWNER = "owner"
    """Another controller owns the pod."""
    KUBELET = "kubelet"
    """The kubelet restarts a bare pod's container in place, with too little memory again."""


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """The task and run of a pod.

    run: the run's key, which groups attempts; None for a bare pod that has no UID yet.
    work: the workflow's run and the item, by which features are looked up.
    attempts: how many its engine makes of the run, in all; None if the pod does not say it.
    attempt: which of them the pod is by its engine; 1 where it does not say it.
    """

    task: TaskId
    run: str | None
    retrier: Retrier
    work: Work = UNKNOWN_WORK
    attempts: int | None = None
    attempt: int = 1


def identify(pod: Pod, namespace: str | None = None) -> RunIdentity | None:
    """Return the pod's task and run; None if it is not Plimsoll's, or has only generated names.

    namespace: by the API server, which wins over the pod's own.
    """
    metadata = metadata_of(pod)
    pod_labels = mapping(metadata.get("labels"))
    label = pod_labels.get(labels.TASK)
    if not isinstance(label, str) or not label:
        return None
    engine = engine_run(pod, pod_labels)
    owner = controller_of(pod)
    name = _recurring(pod, engine, owner) if label == AUTO else label
    space = namespace or metadata.get("namespace")
    if not name or not isinstance(space, str) or not _can_be_task(name):
        return None
    written = written_work(mapping(metadata.get("annotations")), pod_labels)
    return RunIdentity(
        TaskId(space, name),
        _bounded_key(_run_key(pod, written, engine, owner)),
        _retrier(pod, engine, owner),
        _work(written, engine),
        attempts=engine.attempts if engine is not None else None,
        attempt=engine.attempt if engine is not None else 1,
    )


def controller_of(pod: Pod) -> Mapping[str, Any] | None:
    """Return the owner reference of the pod's controller; None for a bare pod."""
    for reference in sequence(metadata_of(pod).get("ownerReferences")):
        if mapping(reference).get("controller") is True:
            return mapping(reference)
    return None


def _can_be_task(name: str) -> bool:
    # Labels are short and plain; only engines and owners give other names.
    if len(name) > _LONGEST_TASK_NAME or "/" in name or not name.isprintable():
        return False
    return name.isascii() or len(name.encode()) <= _LONGEST_TASK_NAME


def _bounded_key(key: str | None) -> str | None:
    return None if key is None else bounded(key, MOST_RUN_BYTES)


def _recurring(pod: Pod, engine: EngineRun | None, owner: Mapping[str, Any] | None) -> str | None:
    if engine is not None:
        return engine.task
    if owner is not None:
        name = str(owner.get("name", ""))
    else:
        metadata = metadata_of(pod)
        name = str(metadata.get("generateName") or metadata.get("name") or "")
    # The API server bounds a pod's name, but not its owner's: reading megabytes would take minutes.
    return None if len(name) > _LONGEST_TASK_NAME else recurring_name(name)


def _work(written: Work, engine: EngineRun | None) -> Work:
    """Return the work that is written on the pod, else its engine's."""
    if engine is None:
        return written
    return Work(written.run or engine.work.run, written.item or engine.work.item)


def _run_key(
    pod: Pod, written: Work, engine: EngineRun | None, owner: Mapping[str, Any] | None
) -> str | None:
    metadata = metadata_of(pod)
    annotations, pod_labels = mapping(metadata.get("annotations")), mapping(metadata.get("labels"))
    run, item = written.run, written.item
    if run and item:
        return f"run:{run}/{item}"
    if engine is not None or _is_job(owner):
        made = f"{engine.engine}:{engine.run}" if engine else f"job:{mapping(owner).get('uid')}"
        index = annotations.get(COMPLETION_INDEX) or pod_labels.get(COMPLETION_INDEX)
        return f"{made}:{index}" if index else made
    # A run without an item would merge the pods of a Job or an engine, so it comes last.
    if run:
        return f"run:{run}"
    first = annotations.get(labels.RUN_OF) or metadata.get("uid")
    return f"pod:{first}" if first else None


def _retrier(pod: Pod, engine: EngineRun | None, owner: Mapping[str, Any] | None) -> Retrier:
    if _is_job(owner):
        return Retrier.JOB
    if engine is not None:
        return Retrier.ENGINE
    if owner is not None:
        return Retrier.OWNER
    return Retrier.PLIMSOLL if restart_policy(pod) is RestartPolicy.NEVER else Retrier.KUBELET


def _is_job(owner: Mapping[str, Any] | None) -> bool:
    return owner is not None and owner.get("kind") == "Job"
