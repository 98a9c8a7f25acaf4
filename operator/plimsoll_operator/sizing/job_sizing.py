"""Answers the creation of a Job: its template's notes and size, and which failures it counts.

Kueue, and any other queue that admits suspended Jobs one by one, reads the requests of a Job's
template. The pods get their size when they are made, much later. So the size is written on the
template of a suspended Job when it is created. The decision beside it says what the author asked
for: each pod is decided again from that (docs/adr/0032-jobs.md).

A template outlives what is known: while admission is away, or after Plimsoll was uninstalled, its
pods start as it says. So it must never do harm by itself: only a request is lowered on it, and
every limit stays as its author wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.names.json_patch import Operation
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.job_attempts import (
    has_room,
    is_kept_elsewhere,
    patch_with,
    waiting_note,
)
from plimsoll_operator.pods.recognising import recognise
from plimsoll_operator.pods.spec import (
    EMPTY,
    NotSizable,
    Pod,
    SizedContainer,
    mapping,
    metadata_of,
    qos_of,
    sized_container,
    template_of,
)
from plimsoll_operator.pods.uncounted import (
    ignores_lowered,
    patch_for_failures,
    unread_killed_attempts,
    wants_ignored,
)
from plimsoll_operator.policy.pod_policy import resolve_policy
from plimsoll_operator.sizing.bounds.namespaces import NamespaceBounds
from plimsoll_operator.sizing.decision_note import memory_asked, note_to_json, read_note
from plimsoll_operator.sizing.patch import Memory, patch_for, pod_with
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.sized import Treatment
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Order, Policy
from plimsoll_predictor.core.task import TaskId

_TEMPLATE: Final = "/spec/template"
_OF_EACH_POD: Final = ("batch.kubernetes.io/", "job-name", "controller-uid")
"""Prefixes of labels and annotations that the Job's controller writes on its pods."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What is known when a Job is created; the fields are those of ``size``."""

    state: AdmissionState
    namespace: str | None = None
    unhealed: str | None = None
    now_s: float | None = None


def patch_for_new_job(
    job: Mapping[str, Any], notes: Mapping[str, str], moment: Moment
) -> list[Operation]:
    """Return the operations for a new Job: its notes, its failures, and its size if it waits.

    notes: the annotations for the template of every Job whose pods are Plimsoll's.
    """
    pod = pod_of_job(job, notes)
    _, policy = _task_and_policy(pod, moment)
    if policy.order is not Order.NEVER:
        notes = {**waiting_note(job), **notes}
    uncounted = wants_ignored(job, policy) and not moment.state.paused
    failures = patch_for_failures(job) if uncounted else []
    if failures or ignores_lowered(job):
        notes = {**notes, labels.UNCOUNTED: "true"}
    sized = _sized(job, pod, notes, moment) if may_wait(job) else None
    if sized is None:
        return [*patch_with(job, notes), *failures]
    memory, text = sized
    return [*patch_with(job, {**notes, labels.DECISION: text}), *failures, *memory]


def mistakes_in(job: Mapping[str, Any], notes: Mapping[str, str]) -> list[str]:
    """Say which settings on the Job or its template cannot be read, each in a sentence.

    Of its pods it is said to the Job's controller, which tells nobody. notes: as above.
    """
    pod = pod_of_job(job, notes)
    container = sized_container(pod)
    _, ignored = resolve_policy(pod, Policy())
    said = [ignored, unread_killed_attempts(job)]
    if isinstance(container, NotSizable) and container.is_mistake:
        said.append(container.why)
    return [words for words in said if words]


def task_and_policy_of(
    job: Mapping[str, Any], moment: Moment, notes: Mapping[str, str] = EMPTY
) -> tuple[TaskId | None, Policy]:
    """Return the task of the Job's pods and its policy; without a task, None and mode off.

    notes: annotations that the template gets.
    """
    return _task_and_policy(pod_of_job(job, notes), moment)


def _task_and_policy(pod: Pod, moment: Moment) -> tuple[TaskId | None, Policy]:
    identity = identify(pod, moment.namespace)
    if identity is None:
        return None, Policy(mode=Mode.OFF)
    known = moment.state.knowledge_of(identity.task)
    return identity.task, resolve_policy(pod, known.policy)[0]


def may_wait(job: Mapping[str, Any]) -> bool:
    """Say whether the Job is suspended, and whether its template may be changed without harm."""
    return mapping(job.get("spec")).get("suspend") is True and not is_kept_elsewhere(job)


def _sized(
    job: Mapping[str, Any], pod: Pod, notes: Mapping[str, str], moment: Moment
) -> tuple[list[Operation], str] | None:
    """Return the operations that lower the request, and the annotation's text; None: no change."""
    container = sized_container(pod)
    state = moment.state
    sized = size(pod, state, moment.namespace, moment.unhealed, moment.now_s)
    note, wanted = sized.note, sized.wanted
    if sized.treatment is not Treatment.ENFORCED or sized.identity is None:
        return None
    if note is None or wanted is None or not isinstance(container, SizedContainer):
        return None
    task = sized.identity.task
    if _depends_on_the_pod(state.knowledge_of(task).policy.feature_sources):
        return None
    was = memory_asked(container, read_note(pod))
    memory = _lowered(pod, container, was, wanted, state.namespace(task.namespace).bounds)
    if memory is None:
        return None
    note = replace(note, run=None, cpu=None, template=True)
    text = note_to_json(note)
    if not has_room(job, {**notes, labels.DECISION: text}):
        return None
    operations = patch_for(pod, container, memory, None)
    return [{**each, "path": f"{_TEMPLATE}{each['path']}"} for each in operations], text


def pod_of_job(job: Mapping[str, Any], notes: Mapping[str, str]) -> Pod:
    """Return a pod as the Job's controller would make it, as far as the Job shows it now.

    notes: annotations that the template gets.
    """
    template, its = template_of(job), metadata_of(job)
    metadata = metadata_of(template)
    name = its.get("name") or its.get("generateName")
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": True}
    made = {
        **metadata,
        "namespace": its.get("namespace"),
        "annotations": {**mapping(metadata.get("annotations")), **notes},
        "ownerReferences": [owner],
    }
    pod = {"metadata": made, "spec": template.get("spec")}
    found = recognise(pod)
    if found.why is not None:
        return pod  # its pods have the label already, or get none
    labelled = {**mapping(metadata.get("labels")), labels.TASK: labels.AUTO}
    return {**pod, "metadata": {**made, "labels": labelled}}


def _depends_on_the_pod(sources: Mapping[str, Mapping[str, str]]) -> bool:
    """Say whether a feature comes from a label or annotation that differs between a Job's pods."""
    return any(
        key.startswith(_OF_EACH_POD) for source in sources.values() for key in source.values()
    )


def _lowered(
    pod: Pod, container: SizedContainer, was: Memory, wanted: Memory, bounds: NamespaceBounds
) -> Memory | None:
    """Return the template's memory; None if a lower request alone would not do.

    A raise is left to the pods: it is unknown here how much the Job's queue has, and a Job that
    asks for more would wait for ever.
    """
    if not wanted.request_bytes or not was.request_bytes:
        return None
    if wanted.request_bytes >= was.request_bytes:
        return None
    if bounds.max_ratio is not None or bounds.pod_max_ratio is not None:
        return None  # the limit stays, and limit over request might become too large
    memory = Memory(wanted.request_bytes, container.limit_bytes)
    written = pod_with(pod, container, was)
    return memory if qos_of(pod_with(pod, container, memory)) is qos_of(written) else None
