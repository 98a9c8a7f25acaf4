"""Makes the JSON Patch (RFC 6902) that applies a decision; it holds only what changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.names.json_patch import Operation, add, annotation_path
from plimsoll_operator.names.quantity import format_bytes, format_millicores, quantity_or_none
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    annotations_of,
    container_of,
    mapping,
    sequence,
    spec_of,
)
from plimsoll_predictor.core.policy import Limits
from plimsoll_predictor.deciding.cpu import CpuAsk

DECISION_PATH: Final = annotation_path(labels.DECISION)
_CONTAINER_PATH: Final = annotation_path(labels.CONTAINER)
_NAMES: Final = frozenset({labels.CONTAINER, labels.DEFAULT_CONTAINER})


@dataclass(frozen=True, slots=True)
class Memory:
    """A container's memory request and limit; None if absent."""

    request_bytes: int | None
    limit_bytes: int | None


def memory_after(was: Memory, allocation_bytes: int, limits: Limits) -> Memory:
    """Return the request and limit for an allocation; the limit is never below the request.

    An allocation of zero, where a LimitRange leaves nothing, makes no limit: the kubelet takes a
    limit of zero for none, but the API server refuses a request above it.
    """
    sets_limit = limits is Limits.EQUAL and bool(allocation_bytes or was.limit_bytes)
    limit_bytes = allocation_bytes if sets_limit else was.limit_bytes
    return Memory(
        allocation_bytes, None if limit_bytes is None else max(limit_bytes, allocation_bytes)
    )


def is_lowered(was: Memory, wanted: Memory) -> bool:
    """Say whether a run may be killed with ``wanted`` that would live with ``was``.

    Its limit decides; a container without a limit may take all memory of its node. If the limit
    stays above the request, the request decides: a node short of memory first ends pods above it.
    """
    request_is_lower = (wanted.request_bytes or 0) < (was.request_bytes or 0)
    # The kubelet treats a limit of zero as no limit.
    if not wanted.limit_bytes:
        return not was.limit_bytes and request_is_lower
    if not was.limit_bytes or wanted.limit_bytes < was.limit_bytes:
        return True
    return request_is_lower and wanted.limit_bytes > (wanted.request_bytes or 0)


def patch_for(
    pod: Pod,
    container: SizedContainer,
    wanted: Memory | None,
    note: str | None,
    cpu_millicores: int | None = None,
) -> list[Operation]:
    """Return the operations that give the container its memory and CPU, and the pod its annotation.

    wanted: None leaves the memory as it is. note: the annotation's text; None leaves it.
    cpu_millicores: the CPU request; None leaves it.
    """
    operations = [] if wanted is None else _memory_patch(pod, container, wanted)
    if cpu_millicores is not None:
        _add_cpu(operations, pod, container, format_millicores(cpu_millicores))
    annotations = annotations_of(pod)
    if note is not None and container.index and _NAMES.isdisjoint(annotations):
        # A webhook put another container before it: later readers of the pod must find this one.
        if not annotations:
            operations.append(add("/metadata/annotations", {}))
            annotations = {labels.CONTAINER: container.name}
        operations.append(add(_CONTAINER_PATH, container.name))
    if note is not None and not annotations:
        operations.append(add("/metadata/annotations", {labels.DECISION: note}))
    elif note is not None and annotations.get(labels.DECISION) != note:
        operations.append(add(DECISION_PATH, note))
    return operations


def _add_cpu(operations: list[Operation], pod: Pod, container: SizedContainer, cpu: str) -> None:
    """Append the CPU request to the operations that set the container's memory."""
    resources = mapping(container_of(pod, container.index).get("resources"))
    base = f"/spec/containers/{container.index}/resources"
    requests = mapping(resources.get("requests"))
    if requests:
        if requests.get("cpu") != cpu:
            operations.append(add(f"{base}/requests/cpu", cpu))
        return
    for operation in operations:
        # The memory's operation makes the map that also holds the CPU.
        if operation["path"] == base:
            operation["value"].setdefault("requests", {})["cpu"] = cpu
            return
        if operation["path"] == f"{base}/requests":
            operation["value"]["cpu"] = cpu
            return
    if resources:
        operations.append(add(f"{base}/requests", {"cpu": cpu}))
    else:
        operations.append(add(base, {"requests": {"cpu": cpu}}))


def _memory_patch(pod: Pod, container: SizedContainer, wanted: Memory) -> list[Operation]:
    resources = mapping(container_of(pod, container.index).get("resources"))
    now = {"requests": container.request_bytes, "limits": container.limit_bytes}
    then = {"requests": wanted.request_bytes, "limits": wanted.limit_bytes}
    base = f"/spec/containers/{container.index}/resources"
    changed = {kind: then[kind] for kind in now if now[kind] != then[kind]}
    if not resources and changed:
        values = {k: {"memory": format_bytes(v)} for k, v in changed.items() if v is not None}
        return [add(base, values)] if values else []
    operations = []
    for kind, size_bytes in changed.items():
        operations += _set_memory(mapping(resources.get(kind)), f"{base}/{kind}", size_bytes)
    return operations


def _set_memory(present: Mapping[str, Any], path: str, size_bytes: int | None) -> list[Operation]:
    if size_bytes is None:
        removal = [{"op": "remove", "path": f"{path}/memory"}]
        return removal if "memory" in present else []
    if not present:
        return [add(path, {"memory": format_bytes(size_bytes)})]
    return [add(f"{path}/memory", format_bytes(size_bytes))]


def pod_with(pod: Pod, container: SizedContainer, memory: Memory, cpu: CpuAsk | None = None) -> Pod:
    """Return the pod with other amounts in one container. cpu: None leaves its CPU request."""
    spec = spec_of(pod)
    containers = list(sequence(spec.get("containers")))
    document = mapping(containers[container.index])
    resources = mapping(document.get("resources"))
    asked = {
        "requests": {"memory": quantity_or_none(memory.request_bytes, format_bytes)},
        "limits": {"memory": quantity_or_none(memory.limit_bytes, format_bytes)},
    }
    if cpu is not None:
        asked["requests"]["cpu"] = quantity_or_none(cpu.request_millicores, format_millicores)
    written = {kind: _with(mapping(resources.get(kind)), asked[kind]) for kind in asked}
    containers[container.index] = {**document, "resources": {**resources, **written}}
    return {**pod, "spec": {**spec, "containers": containers}}


def _with(present: Mapping[str, Any], asked: Mapping[str, str | None]) -> dict[str, Any]:
    others = {key: value for key, value in present.items() if key not in asked}
    return {**others, **{key: value for key, value in asked.items() if value is not None}}
