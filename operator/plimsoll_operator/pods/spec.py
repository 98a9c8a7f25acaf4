"""What a pod's spec says of memory: which container is sized, what it asks, how it is restarted.

Pods come as plain mappings, from an AdmissionReview or from the API; nothing in them is trusted to
have the type it should.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import BadQuantity, parse_bytes

Pod = Mapping[str, Any]

EMPTY: Final[Mapping[str, Any]] = {}


class Qos(StrEnum):
    """Kubernetes' quality-of-service classes."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


class RestartPolicy(StrEnum):
    """What the kubelet does when a container ends."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"


@dataclass(frozen=True, slots=True)
class SizedContainer:
    """The container that Plimsoll sizes, and what its spec asks now.

    index: its place in ``spec.containers``.
    request_bytes: None if it asks for nothing; a limit alone counts as a request of the same size.
    limit_bytes: None if it has none.
    """

    index: int
    name: str
    request_bytes: int | None
    limit_bytes: int | None


@dataclass(frozen=True, slots=True)
class NotSizable:
    """Why no container of a pod can be sized, in words."""

    why: str


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    # The first half answers nearly always, at a tenth of what asking an abstract class costs.
    return value if type(value) is dict or isinstance(value, Mapping) else EMPTY


def sequence(value: object) -> Sequence[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, (list, tuple)) else ()


def metadata_of(pod: Pod) -> Mapping[str, Any]:
    """The pod's metadata; empty if it has none."""
    return mapping(pod.get("metadata"))


def spec_of(pod: Pod) -> Mapping[str, Any]:
    """The pod's spec; empty if it has none."""
    return mapping(pod.get("spec"))


def labels_of(pod: Pod) -> Mapping[str, Any]:
    """The pod's labels; empty if it has none."""
    return mapping(metadata_of(pod).get("labels"))


def annotations_of(pod: Pod) -> Mapping[str, Any]:
    """The pod's annotations; empty if it has none."""
    return mapping(metadata_of(pod).get("annotations"))


def said_of(pod: Pod, key: str) -> str | None:
    """What the pod's annotation says, else its label of that name; None if neither or empty."""
    metadata = metadata_of(pod)
    for source in (mapping(metadata.get("annotations")), mapping(metadata.get("labels"))):
        value = source.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def restart_policy(pod: Pod) -> RestartPolicy:
    """The pod's restart policy; Kubernetes' own default where it says nothing known."""
    try:
        return RestartPolicy(str(spec_of(pod).get("restartPolicy")))
    except ValueError:
        return RestartPolicy.ALWAYS


def sized_container(pod: Pod) -> SizedContainer | NotSizable:
    """The container to size: the one named by annotation, else the only or first one.

    Init containers and sidecars (init containers with restartPolicy Always) are never sized.
    """
    spec = spec_of(pod)
    whole_pod = mapping(spec.get("resources"))
    if whole_pod and any(_asked(whole_pod, kind, "memory") for kind in _KINDS):
        return NotSizable("its memory is set for the whole pod (spec.resources), not per container")
    containers = sequence(spec.get("containers"))
    chosen = _chosen(pod, containers)
    if isinstance(chosen, NotSizable):
        return chosen
    return _read(chosen, mapping(containers[chosen]))


def _chosen(pod: Pod, containers: Sequence[Any]) -> int | NotSizable:
    if not containers:
        return NotSizable("it has no containers")
    annotations = annotations_of(pod)
    wanted = annotations.get(labels.CONTAINER)
    default = annotations.get(labels.DEFAULT_CONTAINER)
    if wanted is None and default is None:
        return 0
    names = [mapping(container).get("name") for container in containers]
    if wanted is None:
        return names.index(default) if default in names else 0
    if wanted in names:
        return names.index(wanted)
    return NotSizable(
        f"{labels.CONTAINER} names {_shown(wanted)}, which is none of its containers"
        " (init containers and sidecars are never sized)"
    )


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
    return SizedContainer(index, str(name), request_bytes, limit_bytes)


def _memory(resources: Mapping[str, Any], kind: str) -> int | None:
    value = mapping(resources.get(kind)).get("memory")
    return None if value is None else parse_bytes(value)


def other_memory_bytes(pod: Pod, sized: SizedContainer) -> tuple[int, int]:
    """Requests and limits of what runs beside the sized container, in bytes.

    A container that cannot be read counts as nothing: the API server will refuse it itself.
    """
    read = [_read(0, container) for container in containers_beside(pod, sized.index)]
    others = [container for container in read if isinstance(container, SizedContainer)]
    return sum(c.request_bytes or 0 for c in others), sum(c.limit_bytes or 0 for c in others)


def containers_beside(pod: Pod, index: int) -> list[Mapping[str, Any]]:
    """Containers and sidecars that run beside ``spec.containers[index]``.

    Ordinary init containers have ended by then.
    """
    spec = spec_of(pod)
    beside = [c for i, c in enumerate(sequence(spec.get("containers"))) if i != index]
    for container in sequence(spec.get("initContainers")):
        if mapping(container).get("restartPolicy") == RestartPolicy.ALWAYS:
            beside.append(container)
    return [mapping(container) for container in beside]


def qos_of(pod: Pod) -> Qos:
    """The pod's class, by Kubernetes' rule over CPU and memory of all its containers."""
    spec = spec_of(pod)
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
    if of == "memory":
        try:
            return parse_bytes(limit) == parse_bytes(request) > 0
        except BadQuantity:
            return False
    # The API server has put both in their shortest form by the time it asks us.
    return bool(limit == request)
