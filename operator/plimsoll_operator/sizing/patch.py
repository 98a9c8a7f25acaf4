"""A decision as a JSON Patch (RFC 6902) of the pod, and the pod as it was before.

The patch holds only what the decision changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import format_bytes, format_millicores
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    annotations_of,
    mapping,
    metadata_of,
    sequence,
    spec_of,
)
from plimsoll_predictor.core.cpu import CpuAsk
from plimsoll_predictor.core.policy import Limits

Operation = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Memory:
    """The two fields of a container; None where a field is absent."""

    request_bytes: int | None
    limit_bytes: int | None


def memory_after(was: Memory, allocation_bytes: int, limits: Limits) -> Memory:
    """Request and limit for an allocation; the limit never falls below the request."""
    if limits is Limits.EQUAL:
        return Memory(allocation_bytes, allocation_bytes)
    if was.limit_bytes is None:
        return Memory(allocation_bytes, None)
    return Memory(allocation_bytes, max(was.limit_bytes, allocation_bytes))


def patch_for(
    pod: Pod,
    container: SizedContainer,
    wanted: Memory | None,
    note: str | None,
    cpu_millicores: int | None = None,
) -> list[Operation]:
    """The operations that give the container its memory and CPU, and the pod its annotation.

    wanted: None leaves the memory as it is. note: the annotation's text; None leaves it.
    cpu_millicores: the CPU request; None leaves it.
    """
    operations = [] if wanted is None else _memory_patch(pod, container, wanted)
    if cpu_millicores is not None:
        _add_cpu(operations, pod, container, format_millicores(cpu_millicores))
    if note is not None and annotations_of(pod).get(labels.DECISION) != note:
        if not mapping(metadata_of(pod).get("annotations")):
            operations.append(
                {"op": "add", "path": "/metadata/annotations", "value": {labels.DECISION: note}}
            )
        else:
            path = f"/metadata/annotations/{pointer_part(labels.DECISION)}"
            operations.append({"op": "add", "path": path, "value": note})
    return operations


def pointer_part(text: str) -> str:
    """One part of a JSON pointer, escaped (RFC 6901)."""
    return text.replace("~", "~0").replace("/", "~1")


def _add_cpu(operations: list[Operation], pod: Pod, container: SizedContainer, cpu: str) -> None:
    """Add what sets the CPU request, after the operations that set the container's memory."""
    document = mapping(sequence(spec_of(pod).get("containers"))[container.index])
    resources = mapping(document.get("resources"))
    base = f"/spec/containers/{container.index}/resources"
    requests = mapping(resources.get("requests"))
    if requests:
        if requests.get("cpu") != cpu:
            operations.append({"op": "add", "path": f"{base}/requests/cpu", "value": cpu})
        return
    for operation in operations:
        # The memory's operation makes what the request has to be in: both at once, then.
        if operation["path"] == base:
            operation["value"].setdefault("requests", {})["cpu"] = cpu
            return
        if operation["path"] == f"{base}/requests":
            operation["value"]["cpu"] = cpu
            return
    path, value = (f"{base}/requests", {"cpu": cpu}) if resources else (base, {})
    operations.append({"op": "add", "path": path, "value": value or {"requests": {"cpu": cpu}}})


def _memory_patch(pod: Pod, container: SizedContainer, wanted: Memory) -> list[Operation]:
    document = mapping(sequence(spec_of(pod).get("containers"))[container.index])
    resources = mapping(document.get("resources"))
    now = {"requests": container.request_bytes, "limits": container.limit_bytes}
    then = {"requests": wanted.request_bytes, "limits": wanted.limit_bytes}
    base = f"/spec/containers/{container.index}/resources"
    changed = {kind: then[kind] for kind in now if now[kind] != then[kind]}
    if not resources and changed:
        values = {k: {"memory": format_bytes(v)} for k, v in changed.items() if v is not None}
        return [{"op": "add", "path": base, "value": values}] if values else []
    operations = []
    for kind, size_bytes in changed.items():
        operations += _set_memory(mapping(resources.get(kind)), f"{base}/{kind}", size_bytes)
    return operations


def _set_memory(present: Mapping[str, Any], path: str, size_bytes: int | None) -> list[Operation]:
    if size_bytes is None:
        removal = [{"op": "remove", "path": f"{path}/memory"}]
        return removal if "memory" in present else []
    if not present:
        return [{"op": "add", "path": path, "value": {"memory": format_bytes(size_bytes)}}]
    # "add" on a member that is there replaces it.
    return [{"op": "add", "path": f"{path}/memory", "value": format_bytes(size_bytes)}]


def as_written(pod: Pod, container: SizedContainer, memory: Memory, cpu: CpuAsk | None) -> Pod:
    """The pod with what its author asked in the container. cpu: None leaves its CPU as it is."""
    spec = spec_of(pod)
    containers = list(sequence(spec.get("containers")))
    document = mapping(containers[container.index])
    resources = mapping(document.get("resources"))
    asked = {
        "requests": {"memory": _quantity(memory.request_bytes)},
        "limits": {"memory": _quantity(memory.limit_bytes)},
    }
    if cpu is not None:
        request = cpu.request_millicores
        asked["requests"]["cpu"] = None if request is None else format_millicores(request)
    written = {kind: _with(mapping(resources.get(kind)), asked[kind]) for kind in asked}
    containers[container.index] = {**document, "resources": {**resources, **written}}
    return {**pod, "spec": {**spec, "containers": containers}}


def _with(present: Mapping[str, Any], asked: Mapping[str, str | None]) -> dict[str, Any]:
    others = {key: value for key, value in present.items() if key not in asked}
    return {**others, **{key: value for key, value in asked.items() if value is not None}}


def _quantity(size_bytes: int | None) -> str | None:
    return None if size_bytes is None else format_bytes(size_bytes)
