"""Finds a pod's task and run, and who makes its next attempt.

A run key is text, unique within its task, and the same for every attempt of one run:
``run:<run>/<item>[@<uid>][:<index>]``, ``airflow:...``, ``job:<uid>[:<index>]``,
``owner:<uid>:<name>`` or ``pod:<uid>``. A long one is cut, and ends with a hash of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.names.generated import recurring_name
from plimsoll_operator.pods.engines.row import EngineRun, Executions, count, joined
from plimsoll_operator.pods.engines.table import JOB_NAMES, engine_run
from plimsoll_operator.pods.owners import (
    controller_of,
    cronjob_of,
    given_name,
    is_job,
    remakes_by_name,
)
from plimsoll_operator.pods.polled import is_polled
from plimsoll_operator.pods.recurring_names import name_by_itself, name_by_owner
from plimsoll_operator.pods.spec import (
    Pod,
    RestartPolicy,
    annotations_of,
    labels_of,
    mapping,
    metadata_of,
    restart_policy,
)
from plimsoll_operator.pods.workflow_items import UNKNOWN_WORK, Work, bounded_name, written_work
from plimsoll_predictor.core.bounded_text import MOST_RUN_BYTES, bounded
from plimsoll_predictor.core.task import TaskId

AUTO: Final = labels.AUTO
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
_LONGEST_TASK_NAME: Final = 253
"""In bytes, as the name of an object."""


class Retrier(StrEnum):
    """The maker of the next attempt after an OOM kill."""

    JOB = "job"
    """The Job's controller; with restartPolicy OnFailure only after the pod is deleted."""
    REMAKER = "remaker"
    """A controller that makes a missing pod again; the lift is found by the pod's name."""
    ENGINE = "engine"
    """A workflow engine watches its pod; a copy would do the work twice."""
    MAKER = "maker"
    """Nobody, or the bare pod's maker, which polls its name; a copy would do the work twice."""
    PLIMSOLL = "plimsoll"
    """Plimsoll: the pod is bare and never restarted. A policy may forbid it."""
    OWNER = "owner"
    """Another controller owns the pod. Nobody knows what it does when the pod is gone."""
    KUBELET = "kubelet"
    """The kubelet restarts the container in place, with too little memory again.

    No controller is known that would make a deleted pod again.
    """


class Reach(StrEnum):
    """Which attempts of a run surely have its key."""

    POD = "pod"
    """The pod's, and those that Plimsoll makes of it; another maker's next pod may have another."""
    JOB = "job"
    """Those that one Job makes; whoever makes another Job makes another key."""
    RUN = "run"
    """All."""


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """The task and run of a pod.

    run: the run's key, which groups attempts; None for a bare pod that has no UID yet.
    reach: which of the run's attempts have this key.
    shares_work: whether the work of a lost pod goes to other pods of its run, which run already.
    executions: how many executions of the task may have the run's key.
    work: the workflow's run and the item; features are looked up by them.
    attempts: how many in all its engine makes of the run; None if the pod does not say it.
    attempt: which of them the pod is by its engine or Job; 1 if neither says it.
    """

    task: TaskId
    run: str | None
    retrier: Retrier
    work: Work = UNKNOWN_WORK
    attempts: int | None = None
    attempt: int = 1
    reach: Reach = Reach.RUN
    shares_work: bool = False
    executions: Executions = Executions.ONE


def identify(pod: Pod, namespace: str | None = None) -> RunIdentity | None:
    """Return the pod's task and run; None if it is not Plimsoll's, or has only generated names.

    namespace: by the API server; it wins over the pod's own.
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
    if not name or not isinstance(space, str) or not can_be_task(name):
        return None
    written = written_work(mapping(metadata.get("annotations")), pod_labels)
    key, reach = _run_key(pod, written, engine, owner)
    return RunIdentity(
        TaskId(space, name),
        _bounded_key(key),
        _retrier(pod, engine, owner),
        _work(written, engine),
        attempts=engine.attempts if engine is not None else None,
        attempt=max(engine.attempt if engine is not None else 1, _of_its_index(pod, owner)),
        reach=reach,
        shares_work=engine is not None and engine.shares_work,
        executions=_executions(written, engine),
    )


def can_be_task(name: str) -> bool:
    """Say whether a name is short and plain enough for a task."""
    # Labels are short and plain; only engines and owners give other names.
    if len(name) > _LONGEST_TASK_NAME or "/" in name or not name.isprintable():
        return False
    return name.isascii() or len(name.encode()) <= _LONGEST_TASK_NAME


def _bounded_key(key: str | None) -> str | None:
    return None if key is None else bounded(key, MOST_RUN_BYTES)


def _recurring(pod: Pod, engine: EngineRun | None, owner: Mapping[str, Any] | None) -> str | None:
    if engine is not None:
        return engine.task
    if owner is None:
        return name_by_itself(pod)
    return name_of_job(pod, owner) if is_job(owner) else name_by_owner(pod, owner)


def name_of_job(pod: Pod, owner: Mapping[str, Any]) -> str | None:
    """Return the task's name of a Job's pod; None if all of the Job's name was generated."""
    name = name_by_owner(pod, owner)
    # A name with a dot could be an engine's name of another task.
    return joined(JOB_NAMES, name) if name and "." in name else name


def _work(written: Work, engine: EngineRun | None) -> Work:
    """Return the work that is written on the pod, else its engine's."""
    if engine is None:
        return written
    return Work(
        written.run or bounded_name(engine.workflow), written.item or bounded_name(engine.item)
    )


def _run_key(
    pod: Pod, written: Work, engine: EngineRun | None, owner: Mapping[str, Any] | None
) -> tuple[str | None, Reach]:
    run, item = written.run, written.item
    by_job = is_job(owner)
    its_makers = Reach.JOB if by_job else Reach.POD
    if run and item:
        night = _night(owner) if by_job else ""
        return _of_index(pod, f"run:{run}/{item}{night}"), Reach.JOB if night else Reach.RUN
    if engine is not None and engine.run is not None:
        reach = Reach.RUN if engine.outlives_pod else its_makers
        return _of_index(pod, f"{engine.engine}:{engine.run}"), reach
    if by_job:
        return _of_index(pod, f"job:{mapping(owner).get('uid')}"), Reach.JOB
    if owner is not None and (name := _own_name(pod)):
        return f"owner:{owner.get('uid')}:{name}", Reach.RUN
    # A run without an item would merge the pods of an owner or an engine, so it comes last.
    if run:
        return f"run:{run}", Reach.POD
    first = annotations_of(pod).get(labels.RUN_OF) or metadata_of(pod).get("uid")
    return f"pod:{first}" if first else None, Reach.POD


def _executions(written: Work, engine: EngineRun | None) -> Executions:
    """Return how many executions may have the key, which is its author's or else its engine's."""
    by_author = written.run and written.item
    return Executions.ONE if by_author or engine is None else engine.executions


def _night(job: Mapping[str, Any] | None) -> str:
    """Return what distinguishes the Jobs of one CronJob.

    Its template is the same every night, and so are the run and item in it. Other Jobs may well be
    attempts of one run: a workflow that makes a new Job after a failed one writes the same run.
    """
    return f"@{job.get('uid')}" if job is not None and cronjob_of(job) else ""


def _of_index(pod: Pod, run: str) -> str:
    """Return the run's key; the pods of an Indexed Job share all of it except the index."""
    annotated = annotations_of(pod).get(COMPLETION_INDEX)
    index = annotated or labels_of(pod).get(COMPLETION_INDEX)
    return f"{run}:{index}" if index else run


def _of_its_index(pod: Pod, owner: Mapping[str, Any] | None) -> int:
    """Return which attempt of its index the pod is, by the Job's own count of failures.

    A Job with a ``backoffLimitPerIndex`` writes the count on its pods, whatever the failures were.
    """
    failures = count(annotations_of(pod).get(INDEX_FAILURES)) if is_job(owner) else None
    return 1 + (failures or 0)


def _retrier(pod: Pod, engine: EngineRun | None, owner: Mapping[str, Any] | None) -> Retrier:
    if is_job(owner):
        return Retrier.JOB
    if remakes_by_name(owner) and _own_name(pod):
        return Retrier.REMAKER
    if restart_policy(pod) is not RestartPolicy.NEVER:
        return Retrier.KUBELET
    if engine is not None:
        return Retrier.ENGINE
    if owner is not None:
        return Retrier.OWNER
    return Retrier.MAKER if is_polled(pod) else Retrier.PLIMSOLL


def is_bare(pod: Pod) -> bool:
    """Say whether nobody is known to make another pod if this one never starts."""
    engine = engine_run(pod, labels_of(pod))
    return engine is None and controller_of(pod) is None and not is_polled(pod)


def _own_name(pod: Pod) -> str | None:
    """Return the name that the owner's next pod has, too; None if it is a generated one."""
    name = given_name(pod)
    return name if name and recurring_name(name) == name else None
