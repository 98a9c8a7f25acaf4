"""A pod as its author wrote it: what Plimsoll changed at an earlier look is taken back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll_operator.names.quantity import format_bytes, format_millicores
from plimsoll_operator.pods.spec import Pod, SizedContainer, mapping, sequence, spec_of
from plimsoll_operator.sizing.patch import Memory
from plimsoll_predictor.core.cpu import CpuAsk


def as_written(pod: Pod, container: SizedContainer, memory: Memory, cpu: CpuAsk | None) -> Pod:
    """The pod with what its author asked in the container. cpu: None leaves its CPU as it is."""
    spec = spec_of(pod)
    containers = list(sequence(spec.get("containers")))
    document = mapping(containers[container.index])
    resources = mapping(document.get("resources"))
    asked = {
        "requests": {"memory": _memory(memory.request_bytes)},
        "limits": {"memory": _memory(memory.limit_bytes)},
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


def _memory(size_bytes: int | None) -> str | None:
    return None if size_bytes is None else format_bytes(size_bytes)
