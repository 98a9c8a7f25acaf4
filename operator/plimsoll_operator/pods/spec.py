"""Reads a pod's spec: its sized container, the requests and limits, the restart policy.

Pods are plain mappings from an AdmissionReview or from the API. Strangers wrote them, so that every
value can have any type.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.names.objects import (
    EMPTY,
    Pod,
    annotations_of,
    conditions_in,
    count_of,
    labels_of,
    mapping,
    metadata_of,
    sequence,
    spec_of,
    template_of,
)
from plimsoll_operator.names.quantity import BadQuantity, parse_bytes, parse_millicores
from plimsoll_predictor.core.bounded_text import MOST_LABEL_BYTES, bounded

__all__ = [
    "EMPTY",
    "Pod",
    "annotations_of",
    "conditions_in",
    "count_of",
    "labels_of",
    "mapping",
    "metadata_of",
    "sequence",
    "spec_of",
    "template_of",
]
"""The readers of ``names.objects``, exported here for code that reads a pod with both."""


class Qos(StrEnum):
    """Kubernetes' quality-of-service classes."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


class RestartPolicy(StrEnum):
    """The kubelet's reaction to the end of a container."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"


_MIRROR: Final = "kubernetes.io/config.mirror"
"""Annotation of the pod that stands for a node's static pod at the API server."""
_RESTARTING: Final = (RestartPolicy.ALWAYS, RestartPolicy.ON_FAILURE)


@dataclass(frozen=True, slots=True)
class SizedContainer:
    """The container that Plimsoll sizes, with the memory in its spec now; None if absent.

    index: in ``spec.containers``. request_bytes: a limit alone counts as an equal request.
    """

    index: int
    name: str
    request_bytes: int | None
    limit_bytes: int | None


@dataclass(frozen=True, slots=True)
class NotSizable:
    """The reason why no container of a pod can be sized, in words.

    is_mistake: whether the pod's author meant one to be sized, and misnamed it.
    """

    why: str
    is_mistake: bool = False


def text_of(pod: Pod, key: str) -> str | None:
    """Return the text of the pod's annotation, else of its label; None if neither has any."""
    metadata = metadata_of(pod)
    for source in (mapping(metadata.get("annotations")), mapping(metadata.get("labels"))):
        value = source.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def restart_policy(pod: Pod) -> RestartPolicy:
    """Return the pod's restart policy; an unknown one counts as Kubernetes' default.

    A container with a policy or rules of its own counts as restarted (KEP-5307).
    """
    spec = spec_of(pod)
    for container in sequence(spec.get("containers")):
        own = mapping(container)
        if own.get("restartPolicyRules") or own.get("restartPolicy") in _RESTARTING:
            return RestartPolicy.ON_FAILURE
    try:
        return RestartPolicy(str(spec.get("restartPolicy")))
    except ValueError:
        return RestartPolicy.ALWAYS


def sized_container(pod: Pod) -> SizedContainer | NotSizable:
    """Return the container to size: the one that an annotation names, else the first one.

    Init containers and sidecars (init containers with restartPolicy Always) are never sized.
    """
    spec = spec_of(pod)
    of_pod = mapping(spec.get("resources"))
    if of_pod and any(_asked(of_pod, kind, "memory") for kind in _KINDS):
        return NotSizable("its memory is set for the whole pod (spec.resources), not per container")
    if mapping(of_pod.get("limits")):
        # Once its containers request memory, the API server requests their sum for the whole pod.
        return NotSizable("it has a limit for the whole pod (spec.resources), not per container")
    if _MIRROR in annotations_of(pod):
        return NotSizable("it is a static pod, which its node runs as a file there says")
    if _is_for_windows(spec):
        return NotSizable("it is for Windows nodes, where no memory is measured")
    containers = sequence(spec.get("containers"))
    index = _chosen(pod, containers)
    return _read(index, mapping(containers[index])) if isinstance(index, int) else index


def _is_for_windows(spec: Mapping[str, Any]) -> bool:
    return "windows" in (
        mapping(spec.get("os")).get("name"),
        mapping(spec.get("nodeSelector")).get("kubernetes.io/os"),
    )


def _chosen(pod: Pod, containers: Sequence[Any]) -> int | NotSizable:
    if not containers:
        return NotSizable("it has no containers")
    annotations = annotations_of(pod)
    wanted = annotations.get(labels.CONTAINER)
    default = annotations.get(labels.DEFAULT_CONTAINER)
    if wanted is None and default is None:
        return 0 if len(containers) == 1 else _first_written(pod, containers)
    names = [mapping(container).get("name") for container in containers]
    if wanted is None:
        return names.index(default) if default in names else 0
    if wanted in names:
        return names.index(wanted)
    return NotSizable(
        f"{labels.CONTAINER} names {_shown(wanted)}, which is none of its containers"
        " (init containers and sidecars are never sized)",
        is_mistake=True,
    )


def _first_written(pod: Pod, containers: Sequence[Any]) -> int:
    """Return the first container that the pod's maker wrote; a webhook may put one before it.

    The API server notes what its maker wrote, as ``managedFields``, before it asks any webhook.
    """
    metadata = metadata_of(pod)
    if "resourceVersion" in metadata:
        return 0  # the pod exists already, and has an annotation if another container is sized
    for entry in sequence(metadata.get("managedFields")):
        fields = mapping(mapping(mapping(entry).get("fieldsV1")).get("f:spec"))
        written = mapping(fields.get("f:containers"))
        for index, container in enumerate(containers if written else ()):
            if f'k:{{"name":"{mapping(container).get("name")}"}}' in written:
                return index
    return 0


def _shown(name: object) -> str:
    return repr(str(name)[: labels.MAX_LABEL_CHARS])


def _read(index: int, container: Mapping[str, Any]) -> SizedContainer | NotSizable:
    name = container.get("name")
    resources = mapping(container.get("resources"))
    try:
        limit_bytes = _memory(resources, "limits")
        request_bytes = _memory(resources, "requests")
    except BadQuantity as error:
        return NotSizable(f"the memory of container {_shown(name)} cannot be read: {error}")
    if request_bytes is None:
        request_bytes = limit_bytes
    name = bounded(str(name), MOST_LABEL_BYTES)
    return SizedContainer(index, name, request_bytes, limit_bytes)


def _memory(resources: Mapping[str, Any], kind: str) -> int | None:
    value = mapping(resources.get(kind)).get("memory")
    return None if value is None else parse_bytes(value)


def other_memory_bytes(pod: Pod, sized: SizedContainer) -> tuple[int, int]:
    """Return the sums of requests and limits beside the sized container, in bytes.

    A container that cannot be read counts as nothing: the API server will refuse it.
    """
    read = [_read(0, container) for container in containers_beside(pod, sized.index)]
    others = [container for container in read if isinstance(container, SizedContainer)]
    return sum(c.request_bytes or 0 for c in others), sum(c.limit_bytes or 0 for c in others)


def init_limit_bytes(pod: Pod) -> int:
    """Return the largest limit of an ordinary init container with all sidecars, in bytes.

    0 if there is none. Where a LimitRange bounds the whole pod, the API server counts this limit or
    that of the containers together, whichever is larger.
    """
    init = [mapping(container) for container in sequence(spec_of(pod).get("initContainers"))]
    ordinary = [container for container in init if not _is_sidecar(container)]
    if not ordinary:
        return 0
    sidecars = sum(_limit_bytes(container) for container in init if _is_sidecar(container))
    return max(map(_limit_bytes, ordinary)) + sidecars


def _limit_bytes(container: Mapping[str, Any]) -> int:
    read = _read(0, container)
    return (read.limit_bytes or 0) if isinstance(read, SizedContainer) else 0


def millicores_asked(container: Mapping[str, Any], kind: str) -> int | None:
    """Return a container's CPU or None, or raise BadQuantity. kind: "requests" or "limits"."""
    value = mapping(mapping(container.get("resources")).get(kind)).get("cpu")
    return None if value is None else parse_millicores(value)


def other_millicores(pod: Pod, index: int) -> int:
    """Return the sum of CPU requests beside ``spec.containers[index]``."""
    total = 0
    for container in containers_beside(pod, index):
        with contextlib.suppress(BadQuantity):
            asked = millicores_asked(container, "requests")
            total += (millicores_asked(container, "limits") if asked is None else asked) or 0
    return total


def reads_request(pod: Pod, container: SizedContainer, resource: str) -> bool:
    """Say whether the pod is told the container's request of a resource, such as ``memory``.

    Any of its containers may be told it in a variable; a volume may have it in a file.
    """
    wanted = f"requests.{resource}"
    return any(
        told.get("resource") == wanted and (told.get("containerName") or own) == container.name
        for own, told in _told_resources(spec_of(pod))
    )


def _told_resources(spec: Mapping[str, Any]) -> Iterator[tuple[object, Mapping[str, Any]]]:
    """Yield each ``resourceFieldRef``, with the container that it is about if it names none."""
    for kind in ("containers", "initContainers"):
        for container in map(mapping, sequence(spec.get(kind))):
            for variable in map(mapping, sequence(container.get("env"))):
                if "valueFrom" in variable:
                    source = mapping(variable["valueFrom"])
                    yield container.get("name"), mapping(source.get("resourceFieldRef"))
    for volume in map(mapping, sequence(spec.get("volumes"))):
        projected = sequence(mapping(volume.get("projected")).get("sources"))
        for source in (volume, *map(mapping, projected)):
            for item in sequence(mapping(source.get("downwardAPI")).get("items")):
                yield None, mapping(mapping(item).get("resourceFieldRef"))


def overhead_of(pod: Pod) -> Mapping[str, Any]:
    """Return what the pod's RuntimeClass adds to its containers; empty in nearly all pods.

    The API server writes it before any webhook sees the pod. Quotas, the scheduler and the limit of
    the pod's cgroup count it; LimitRanges do not.
    """
    return mapping(spec_of(pod).get("overhead"))


def container_of(pod: Pod, index: int) -> Mapping[str, Any]:
    """Return ``spec.containers[index]`` as it is written."""
    return mapping(sequence(spec_of(pod).get("containers"))[index])


def containers_beside(pod: Pod, index: int) -> list[Mapping[str, Any]]:
    """Return the containers and sidecars that run beside ``spec.containers[index]``.

    Ordinary init containers have ended by then.
    """
    spec = spec_of(pod)
    beside = [mapping(c) for i, c in enumerate(sequence(spec.get("containers"))) if i != index]
    init = map(mapping, sequence(spec.get("initContainers")))
    return beside + [container for container in init if _is_sidecar(container)]


def _is_sidecar(init_container: Mapping[str, Any]) -> bool:
    return init_container.get("restartPolicy") == RestartPolicy.ALWAYS


def qos_of(pod: Pod) -> Qos:
    """Return the pod's class by Kubernetes' rule, from CPU and memory of all its containers.

    Where resources are set for the whole pod, these alone decide.
    """
    spec = spec_of(pod)
    of_pod = mapping(spec.get("resources"))
    if any(mapping(of_pod.get(kind)) for kind in _KINDS):
        resources = [of_pod]
    else:
        containers = [*sequence(spec.get("containers")), *sequence(spec.get("initContainers"))]
        resources = [mapping(mapping(c).get("resources")) for c in containers]
    if not any(_asked(r, kind, of) for r in resources for kind in _KINDS for of in _COMPUTE):
        return Qos.BEST_EFFORT
    if all(_is_guaranteed(r, of) for r in resources for of in _COMPUTE):
        return Qos.GUARANTEED
    return Qos.BURSTABLE


_COMPUTE: Final = ("cpu", "memory")
_KINDS: Final = ("requests", "limits")


def _asked(resources: Mapping[str, Any], kind: str, of: str) -> bool:
    return mapping(resources.get(kind)).get(of) not in {None, "", "0", 0}


def _is_guaranteed(resources: Mapping[str, Any], of: str) -> bool:
    limit = mapping(resources.get("limits")).get(of)
    request = mapping(resources.get("requests")).get(of, limit)
    if limit is None:
        return False
    try:
        if of == "memory":
            return parse_bytes(limit) == parse_bytes(request) > 0
        return parse_millicores(limit) == parse_millicores(request) > 0
    except BadQuantity:
        return False


def whole_number(text: object, most: int) -> int | None:
    """Return a whole number from 1 to ``most`` that somebody wrote; None for other texts."""
    if not isinstance(text, str) or not text.isascii() or not text.isdecimal():
        return None
    return int(text) if len(text) <= len(str(most)) and 0 < int(text) <= most else None
