"""Makes a bare pod's next attempt: a clean copy with more memory, and the CPU that was written."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import format_bytes, format_millicores, millicores_or_none
from plimsoll_operator.pods.creation import author_chose_node, written_for_this_pod
from plimsoll_operator.pods.identity import AUTO
from plimsoll_operator.pods.queue_managers import OF_ONE_ADMISSION
from plimsoll_operator.pods.spec import Pod, mapping, qos_of
from plimsoll_operator.sizing.cpu_sizing import is_by, is_enforced
from plimsoll_operator.sizing.decision_note import (
    DecisionNote,
    note_from_json,
    note_to_json,
    read_note,
)
from plimsoll_operator.sizing.node_hint import without_hint
from plimsoll_operator.sizing.patch import Memory
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.documents import from_document
from plimsoll_predictor.core.units import MIB

WRITTEN_BY_THE_CLUSTER = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    # The owner of a finalizer on the first pod waits for the end of that pod, and of no other.
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
SET_AT_CREATION = ("ephemeralContainers", "overhead", "preemptionPolicy", "priority")
"""The API server fills in the last three from the pod's RuntimeClass and PriorityClass.

It refuses a pod with other values than its classes have now.
"""
WRITTEN_BY_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"
"""It holds the first pod's manifest, and annotations have little room."""
_OWN = "plimsoll.dev/"
"""A part of each name of a label or annotation of Plimsoll's."""
TOKEN_VOLUME_PREFIX = "kube-api-access-"
_LABEL = re.compile(rf"[A-Za-z0-9](?:[-_.A-Za-z0-9]{{0,{labels.MAX_LABEL_CHARS - 2}}}[A-Za-z0-9])?")
"""What the API server takes as a label's value."""


def retry_name(pod: Pod, attempt: int) -> str:
    """Return the next attempt's name; everybody computes the same name for the same killed attempt.

    >>> retry_name({"metadata": {"name": "train-7", "uid": "u1"}}, 2)
    'train-7-a2-bb82030dbc'
    """
    meta = pod["metadata"]
    digest = hashlib.sha256(str(meta["uid"]).encode()).hexdigest()
    ending = f"-a{attempt}-{digest[:10]}"
    root = str(meta["name"])
    annotations = meta.get("annotations") or {}
    if labels.RETRY_OF in annotations and "-a" in root:
        root = root.rpartition("-a")[0]
    # A longer name is legal for a pod, but it breaks the hostname.
    return root[: labels.MAX_LABEL_CHARS - len(ending)].rstrip("-.") + ending


@dataclass(frozen=True, slots=True)
class NextAttempt:
    """The copy's name, its allocation, its decision annotation and its task's name.

    task: written on the copy if the first pod has it from its own name. "" leaves the label.
    written: the request and limit that the copy gets instead, as its author wrote them.
    """

    name: str
    container: str
    allocation_bytes: int
    note: str
    task: str = ""
    written: Memory | None = None

    def to_json(self) -> str:
        """Return what is stored of a planned retry: all that the killed pod does not contain."""
        return json.dumps(asdict(self))


def planned_as_written(plan: Mapping[str, Any], written: Memory) -> Mapping[str, Any] | None:
    """Return a plan for what was written, made from the output of ``NextAttempt.to_json``.

    None for an older version's plan, whose pod is fixed. written: of the killed pod.
    """
    if "spec" in plan:
        return None
    planned = from_document(NextAttempt, plan, "a planned retry")
    if planned.written is not None:
        return plan
    return asdict(replace(planned, written=written, note=_as_written(planned.note)))


def _as_written(text: str) -> str:
    note = note_from_json(text)
    if note is None:
        return text
    why = f"attempt {note.attempt}: it has what was written, as nothing else is allowed now"
    given = replace(
        note, allocation_bytes=note.was_request_bytes, reason=Reason.NOT_LOWERED, why=why
    )
    return note_to_json(given)


def planned_note(plan: Mapping[str, Any]) -> DecisionNote | None:
    """Return the decision that the retry will have; None if the plan does not say.

    plan: the output of ``NextAttempt.to_json``, or an older version's whole pod.
    """
    return note_from_json(str(plan["note"])) if "note" in plan else read_note(plan)


def planned_manifest(plan: Mapping[str, Any], killed: Pod) -> dict[str, Any]:
    """Return the pod to create, from the output of ``NextAttempt.to_json``.

    An older version wrote the whole pod, which may be a megabyte; it is returned as it is.
    """
    if "spec" in plan:
        return dict(plan)
    return next_attempt(killed, from_document(NextAttempt, plan, "a planned retry"))


def next_attempt(pod: Pod, following: NextAttempt) -> dict[str, Any]:
    """Return a clean copy of ``pod`` with a lifted allocation, ready to create.

    It has the pod's labels, annotations and owner, and all that its author wrote about its place.
    It has nothing that the cluster wrote, then or later. RUN_OF links it to the first pod of its
    run, RETRY_OF to the attempt that it follows.
    """
    # The copy's neighbours are not the first pod's; admission hints anew.
    pod = without_hint(pod)
    meta = copy.deepcopy(dict(pod["metadata"]))
    uid = str(meta["uid"])
    for field in WRITTEN_BY_THE_CLUSTER:
        meta.pop(field, None)
    annotations = dict(meta.get("annotations") or {})
    annotations.pop(WRITTEN_BY_KUBECTL, None)
    annotations[labels.RUN_OF] = annotations.get(labels.RUN_OF, uid)
    annotations[labels.RETRY_OF] = uid
    annotations[labels.DECISION] = following.note
    annotations.pop(labels.RETRIED_AS, None)
    annotations.pop(labels.RESCUED, None)
    annotations.pop(labels.HELD, None)
    of_the_first = _of_the_first_pod(pod)
    meta.update(name=following.name, annotations=_without(annotations, of_the_first))
    if "labels" in meta:
        meta["labels"] = _without(mapping(meta["labels"]), of_the_first)
    if mapping(meta.get("labels")).get(labels.TASK) == AUTO and _LABEL.fullmatch(following.task):
        # The copy has another name, which would be read as another task.
        meta["labels"] = {**meta["labels"], labels.TASK: following.task}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": _sized_spec(pod, following),
    }


def _of_the_first_pod(pod: Pod) -> frozenset[str]:
    """Return the labels and annotations that a queue, a network or a device's scheduler wrote.

    They write others on the copy, and some refuse a pod that has any already. What anybody wrote
    for Plimsoll, however late, is for the whole run.
    """
    others = {name for name in written_for_this_pod(pod) if _OWN not in name}
    return OF_ONE_ADMISSION | others


def _without(values: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def _sized_spec(pod: Pod, following: NextAttempt) -> dict[str, Any]:
    allocation_bytes = following.allocation_bytes
    memory = following.written or Memory(allocation_bytes, allocation_bytes)
    spec = _clean_spec(pod)
    _write_cpu_back(spec, following.container, read_note(pod))
    _set_memory(spec, following.container, memory)
    if following.written is None and qos_of({"spec": spec}) is not qos_of(pod):
        # Admission finds the nearest size that keeps the class. This holds while admission is away.
        _set_memory(spec, following.container, Memory(allocation_bytes, allocation_bytes + MIB))
    return spec


def _clean_spec(pod: Pod) -> dict[str, Any]:
    clean: dict[str, Any] = copy.deepcopy(dict(pod["spec"]))
    for field in SET_AT_CREATION:
        clean.pop(field, None)
    if not author_chose_node(pod):
        clean.pop("nodeName", None)
    clean["volumes"] = [v for v in clean.get("volumes") or [] if not _is_token(v)]
    for part in (*clean["containers"], *(clean.get("initContainers") or [])):
        part["volumeMounts"] = [m for m in part.get("volumeMounts") or [] if not _is_token(m)]
    return clean


def _set_memory(spec: Mapping[str, Any], container: str, memory: Memory) -> None:
    sizes = {"requests": memory.request_bytes, "limits": memory.limit_bytes}
    for part in spec["containers"]:
        if part["name"] == container:
            resources = part.setdefault("resources", {})
            for kind, size_bytes in sizes.items():
                _set_kind(resources, kind, size_bytes)


def _set_kind(resources: dict[str, Any], kind: str, size_bytes: int | None) -> None:
    if size_bytes is not None:
        resources.setdefault(kind, {})["memory"] = format_bytes(size_bytes)
    elif kind in resources:
        resources[kind].pop("memory", None)


def _write_cpu_back(spec: Mapping[str, Any], container: str, note: DecisionNote | None) -> None:
    """Undo the decision on the CPU request of the pod that is copied; admission decides anew."""
    cpu = note.cpu if note is not None and note.container == container else None
    if cpu is None or not is_enforced(cpu):
        return
    for part in spec["containers"]:
        requests = mapping(mapping(part.get("resources")).get("requests"))
        has = millicores_or_none(requests.get("cpu"))
        if part["name"] != container or has is None or not is_by(cpu, has):
            continue
        others = {name: amount for name, amount in requests.items() if name != "cpu"}
        if cpu.was_millicores is not None:
            others["cpu"] = format_millicores(cpu.was_millicores)
        part["resources"]["requests"] = others


def _is_token(named: Mapping[str, Any]) -> bool:
    return str(named.get("name", "")).startswith(TOKEN_VOLUME_PREFIX)
