"""Reads VerticalPodAutoscalers, and finds the one that sets a pod's memory or CPU.

An autoscaler names one object by kind and name, and sizes the pods that this object makes. It
writes its changes to a pod in the pod's annotation ``vpaUpdates``.

https://github.com/kubernetes/autoscaler: vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1,
pkg/admission-controller/resource/pod/patch/resource_updates.go
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names.labels import MAX_LABEL_CHARS, MAX_NAME_CHARS
from plimsoll_operator.names.objects import labels_of
from plimsoll_operator.pods.creation import wrote_annotation
from plimsoll_operator.pods.owners import controller_of, cronjob_of, is_job
from plimsoll_operator.pods.spec import Pod, annotations_of, mapping, metadata_of, sequence, spec_of

MEMORY: Final = "memory"
CPU: Final = "cpu"
MOST_IN_NAMESPACE: Final = 256
"""The most autoscalers of a namespace that are read, in the order of their names."""
_MOST_CONTAINERS: Final = 16

_UPDATES: Final = "vpaUpdates"
_UPDATED_BY: Final = re.compile(r"Pod resources updated by ([^\s:]{1,253}): ")
_MOST_UPDATES_CHARS: Final = 4096
_OFF: Final = "Off"
_EVERY: Final = "*"
_BOTH: Final = frozenset({CPU, MEMORY})
_TEMPLATE_HASH: Final = "pod-template-hash"


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """One VerticalPodAutoscaler that changes pods.

    kind, target: of the object whose pods it sizes.
    controls: container -> the controlled resources, CPU or MEMORY; "*" is every other container.
    """

    name: str
    kind: str
    target: str
    controls: Mapping[str, frozenset[str]]

    def sets(self, resource: str, container: str) -> bool:
        """Say whether it sets this resource of a container of the pods that it sizes."""
        return resource in self.controls.get(container, self.controls.get(_EVERY, _BOTH))

    def to_document(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        controls = {name: sorted(resources) for name, resources in self.controls.items()}
        return {"name": self.name, "kind": self.kind, "target": self.target, "controls": controls}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Autoscaler:
        """Inverse of ``to_document``; LookupError or TypeError if it is foreign."""
        controls = {str(name): frozenset(of) for name, of in document["controls"].items()}
        return cls(str(document["name"]), str(document["kind"]), str(document["target"]), controls)


Autoscalers = Mapping[tuple[str, str], Autoscaler]
"""The autoscalers of a namespace, by kind and name of the object whose pods they size."""


def by_target(autoscalers: Iterable[Autoscaler]) -> Autoscalers:
    """Return a namespace's autoscalers by their targets; the first one if a target has two."""
    found: dict[tuple[str, str], Autoscaler] = {}
    for each in autoscalers:
        found.setdefault((each.kind, each.target), each)
    return found


def read_autoscaler(document: Mapping[str, Any]) -> Autoscaler | None:
    """Read a VerticalPodAutoscaler; None if it changes no pods or cannot be read."""
    spec = spec_of(document)
    if mapping(spec.get("updatePolicy")).get("updateMode") == _OFF:
        return None
    target = mapping(spec.get("targetRef"))
    name, kind, named = metadata_of(document).get("name"), target.get("kind"), target.get("name")
    if not (_is_name(name) and _is_name(kind) and _is_name(named)):
        return None
    policies = sequence(mapping(spec.get("resourcePolicy")).get("containerPolicies"))
    controls = _controls(policies)
    if not any(controls.values()) and _EVERY in controls:
        return None
    return Autoscaler(str(name), str(kind), str(named), controls)


def _is_name(name: object, most_chars: int = MAX_NAME_CHARS) -> bool:
    return isinstance(name, str) and 0 < len(name) <= most_chars and name.isascii()


def _controls(policies: Sequence[Any]) -> dict[str, frozenset[str]]:
    controls = {}
    for written in policies[:_MOST_CONTAINERS]:
        policy = mapping(written)
        name, resources = policy.get("containerName"), policy.get("controlledResources")
        if not _is_name(name, MAX_LABEL_CHARS):
            continue
        if policy.get("mode") == _OFF:
            controls[str(name)] = frozenset[str]()
        elif isinstance(resources, (list, tuple)):
            controls[str(name)] = _BOTH & {str(each) for each in resources}
        else:
            controls[str(name)] = _BOTH
    return controls


def autoscaler_of(pod: Pod, autoscalers: Autoscalers) -> Autoscaler | None:
    """Return the autoscaler of the object that made the pod, or of that object's maker."""
    if not autoscalers:
        return None
    for key in _made_by(pod):
        found = autoscalers.get(key)
        if found is not None:
            return found
    return None


def _made_by(pod: Pod) -> Iterator[tuple[str, str]]:
    """Yield kind and name of the pod's controller, and of the controller's maker, by its name."""
    owner = controller_of(pod)
    if owner is None:
        return
    kind, name = str(owner.get("kind")), str(owner.get("name"))
    yield kind, name
    if is_job(owner):
        cronjob = cronjob_of(owner)
        if cronjob is not None:
            yield "CronJob", cronjob
    elif kind == "ReplicaSet":
        suffix = f"-{labels_of(pod).get(_TEMPLATE_HASH)}"
        if name.endswith(suffix):
            yield "Deployment", name.removesuffix(suffix)


@dataclass(frozen=True, slots=True)
class Updates:
    """What an autoscaler wrote on a pod that it has changed. name: its own."""

    name: str
    text: str

    def sets(self, resource: str, index: int) -> bool:
        """Say whether it has set this resource of ``spec.containers[index]``."""
        found = re.search(rf"(?:^|; )container {index}: ([^;]*)", self.text)
        return found is not None and resource in found[1]


def updates_on(pod: Pod) -> Updates | None:
    """Return what an autoscaler wrote on the pod while it was created; None almost always."""
    text = annotations_of(pod).get(_UPDATES)
    if not isinstance(text, str) or len(text) > _MOST_UPDATES_CHARS:
        return None
    by = _UPDATED_BY.match(text)
    if by is None or wrote_annotation(pod, _UPDATES):
        return None
    return Updates(by[1], text[by.end() :])
