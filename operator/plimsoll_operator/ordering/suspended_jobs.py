"""Reads and resumes a Job that Plimsoll created suspended, so that all of it waits for its turn.

A label marks such a Job, and its resumption removes the label: if anybody suspends the Job after
that, it stays suspended. A Job has one flag for all who may hold it. So a Job that a queue manager
has taken since belongs to the queue: Plimsoll removes its label, and never resumes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from plimsoll_operator.names.json_patch import Operation, add, pointer
from plimsoll_operator.names.labels import HELD, HINT, ORDER_GATE, WAITS
from plimsoll_operator.ordering.longest_wait import note_of_wait
from plimsoll_operator.pods.queue_managers import KUEUE
from plimsoll_operator.pods.spec import (
    EMPTY,
    Pod,
    annotations_of,
    count_of,
    labels_of,
    mapping,
    metadata_of,
    sequence,
    spec_of,
)
from plimsoll_operator.sizing.job_sizing import pod_of_job
from plimsoll_operator.sizing.node_hint import PREFERRED, terms_for

Job = Mapping[str, Any]

KIND: Final = "Job"
MARKED: Final = f"{WAITS}=true"
"""Label selector of all Jobs that wait."""
_SUSPEND: Final = "/spec/suspend"
_ITS: Final = (
    *("name", "namespace", "uid", "resourceVersion", "generation"),
    *("creationTimestamp", "deletionTimestamp"),
)


def is_marked(job: Job) -> bool:
    """Say whether Plimsoll's label is on the Job."""
    return labels_of(job).get(WAITS) == "true"


def is_queued(job: Job) -> bool:
    """Say whether a queue manager owns the Job's suspension."""
    return any(str(key).startswith(KUEUE) for key in (*labels_of(job), *annotations_of(job)))


def is_suspended(job: Job) -> bool:
    """Say whether the Job is suspended, and nobody but Plimsoll is known to want that."""
    return mapping(job.get("spec")).get("suspend") is True and not is_queued(job)


def waits_for_turn(job: Job) -> bool:
    """Say whether Plimsoll holds the Job."""
    return is_marked(job) and is_suspended(job)


def suspending(job: Job) -> list[Operation]:
    """Return the JSON Patch that suspends a new Job and marks it."""
    operations = [add(_SUSPEND, True)]
    metadata = metadata_of(job)
    for part, key, value in (("labels", WAITS, "true"), ("annotations", HELD, note_of_wait())):
        path = f"/metadata/{part}"
        if mapping(metadata.get(part)):
            operations.append(add(f"{path}{pointer(key)}", value))
        else:
            operations.append(add(path, {key: value}))
    return operations


def resuming(job: Job) -> list[Operation]:
    """Return the JSON Patch that resumes the Job and changes nothing else; none if it is not ours.

    It fails, and changes nothing, if the Job has changed: it may belong to a queue by now.
    """
    if not waits_for_turn(job):
        return []
    mark = pointer("metadata", "labels", WAITS)
    version = metadata_of(job).get("resourceVersion")
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        {"op": "test", "path": mark, "value": "true"},
        {"op": "test", "path": _SUSPEND, "value": True},
        {"op": "replace", "path": _SUSPEND, "value": False},
        {"op": "remove", "path": mark},
    ]


def resume_to(stand_in: Pod, nodes: Sequence[str]) -> dict[str, Any]:
    """Return the merge patch that resumes a Job and has the scheduler prefer these hosts.

    nodes: the best first; none leaves the choice to the scheduler. Kubernetes allows this change of
    the template of a Job that has never begun. The patch names the version of the Job.
    """
    spec: dict[str, Any] = {"suspend": False}
    if nodes:
        of_nodes = mapping(mapping(spec_of(stand_in).get("affinity")).get("nodeAffinity"))
        preferred = [*sequence(of_nodes.get(PREFERRED)), *terms_for(nodes)]
        spec["template"] = {
            "metadata": {"annotations": {HINT: orjson.dumps({"nodes": list(nodes)}).decode()}},
            "spec": {"affinity": {"nodeAffinity": {PREFERRED: preferred}}},
        }
    return {**unmarking(stand_in), "spec": spec}


def unmarking(job: Job) -> dict[str, Any]:
    """Return the merge patch that removes Plimsoll's label, and leaves the Job as it is."""
    version = metadata_of(job).get("resourceVersion")
    return {"metadata": {"resourceVersion": version, "labels": {WAITS: None}}}


def pods_at_once(job: Job) -> int:
    """Return how many pods the Job has as soon as it is resumed; 0 if none."""
    spec = mapping(job.get("spec"))
    parallelism = count_of(spec.get("parallelism"))
    completions = count_of(spec.get("completions"))
    wanted = 1 if parallelism is None else parallelism
    return wanted if completions is None else min(wanted, completions)


def pods_in_all(job: Job) -> int:
    """Return how many pods the Job makes if none of them fails."""
    completions = count_of(mapping(job.get("spec")).get("completions"))
    return pods_at_once(job) if completions is None else completions


def stand_in_for(job: Job, priority: int | None) -> Pod:
    """Return the Job as a waiting pod, for the queue: any of its pods, with the Job's own names.

    It has Plimsoll's gate as long as the Job waits. kind, podsAtOnce and podsInAll distinguish it
    from a pod.
    priority: of its pods; None if it is not known, or they may not preempt.
    """
    pod = pod_of_job(job, EMPTY)
    its = metadata_of(job)
    note = annotations_of(job).get(HELD)
    metadata = {
        **metadata_of(pod),
        **{key: its[key] for key in _ITS if key in its},
        "annotations": {
            **{key: value for key, value in annotations_of(pod).items() if key != HELD},
            **({} if note is None else {HELD: note}),
        },
    }
    gates = [{"name": ORDER_GATE}] if is_suspended(job) else []
    spec = {**mapping(pod.get("spec")), "schedulingGates": gates, "priority": priority}
    pods = {"podsAtOnce": pods_at_once(job), "podsInAll": pods_in_all(job)}
    return {"kind": KIND, **pods, "metadata": metadata, "spec": spec}
