"""Writes on a new pod the nodes on which its task gets along, as a preference for its scheduler.

The scheduler weighs it beside all else, so a pod whose nodes are full starts on others. What the
pod's author wrote stays: a pod whose author selects nodes by labels gets no hint.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import orjson

from plimsoll_operator.names.json_patch import Operation, add, annotation_path
from plimsoll_operator.names.labels import HINT, MAX_ALL_ANNOTATIONS_BYTES
from plimsoll_operator.names.quantity import BadQuantity
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    annotations_of,
    mapping,
    metadata_of,
    millicores_asked,
    sequence,
    sized_container,
    spec_of,
)
from plimsoll_operator.sizing.decision_note import MAX_ANNOTATION_CHARS, DecisionNote
from plimsoll_operator.sizing.sized import Sized
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Placing
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.placing.hinting import MOST_NAMED, Hint, NoHint
from plimsoll_predictor.placing.loads import UNKNOWN_NEED, Need

HOST_NAME: Final = "kubernetes.io/hostname"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
BEST: Final = 60
NAMED: Final = 40
"""Weights: all named nodes have the second, the best has both. Kubernetes allows 1 to 100."""
KARPENTER: Final = "karpenter.sh/"
MOST_SILENCE_S: Final = 30.0
"""The feed answers a question within 5 s, even without news."""
_SAYS_NOTHING: Final = frozenset({"kubernetes.io/os"})
"""Labels that nearly all nodes share."""
_MOST_CHARS: Final = 512
_MOST_BYTES_A_CHAR: Final = 4


class HintOutcome(StrEnum):
    """The result for one pod whose policy has hints, for counting."""

    GIVEN = "given"
    RECOMMENDED = "recommended"
    """The policy only recommends; the pod is as it was."""
    CHOSEN = "chosen"
    """Its author, or its maker, says on which nodes it belongs."""
    LATER = "later"
    """It is a later attempt of its run: a descheduler may have ended the one before for its hint,
    and would end this one for the next."""
    KARPENTER = "karpenter"
    """Karpenter makes nodes here: older ones make none for a pod that prefers hosts by name."""
    SILENT = "silent"
    """The controller was not heard from lately."""
    NO_ROOM = "no-room"
    """Its annotations leave no room for the hint."""
    UNKNOWN = NoHint.UNKNOWN.value
    ALIKE = NoHint.ALIKE.value
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Hinted:
    """The hint of one pod.

    patch: JSON Patch operations that follow those of its size. best: the node where it is likely
        to start; None without a hint. need: what it will use there.
    """

    outcome: HintOutcome
    patch: Sequence[Operation] = ()
    best: str | None = None
    need: Need = field(default=UNKNOWN_NEED, compare=False)


@dataclass(frozen=True, slots=True)
class Heard:
    """When the question is asked, on a clock that cannot jump, and the age of what is known.

    age_s: None if the controller was not heard from yet.
    """

    now_s: float
    age_s: float | None

    @property
    def lately(self) -> bool:
        """Whether it is known which pods run where, now or some seconds ago."""
        return self.age_s is not None and self.age_s <= MOST_SILENCE_S


def hint_for(pod: Pod, sized: Sized, state: AdmissionState, heard: Heard) -> Hinted | None:
    """Return a new pod's hint; None if it may have none.

    sized: the answer about the pod's size. Its annotation with the decision comes first.
    """
    if sized.identity is None or sized.note is None:
        return None
    placing = state.knowledge_of(sized.identity.task).policy.placing
    # A pod that has a hint is asked for again, because another webhook changed it.
    if placing is Placing.NEVER or HINT in annotations_of(pod):
        return None
    attempt = max(sized.note.attempt, sized.identity.attempt)
    without = _why_without(pod, attempt, state, heard)
    if without is not None:
        return Hinted(without)
    need = need_of(pod, state, sized.identity.task, sized.note)
    hint = state.placing.hint(str(sized.identity.task), heard.now_s, need)
    if isinstance(hint, NoHint):
        return Hinted(HintOutcome(hint.value))
    if placing is Placing.RECOMMEND:
        return Hinted(HintOutcome.RECOMMENDED)
    if not has_room_for_note(pod):
        return Hinted(HintOutcome.NO_ROOM)
    return Hinted(HintOutcome.GIVEN, _patch(pod, hint), hint.nodes[0], need)


def _why_without(pod: Pod, attempt: int, state: AdmissionState, heard: Heard) -> HintOutcome | None:
    """Say why no node is chosen for a pod, whatever runs where; None if one may be."""
    if says_where(pod):
        return HintOutcome.CHOSEN
    if attempt > 1:
        return HintOutcome.LATER
    if state.nodes.karpenter:
        return HintOutcome.KARPENTER
    return None if heard.lately else HintOutcome.SILENT


def need_of(
    pod: Pod, state: AdmissionState, task: TaskId, decided: DecisionNote | None = None
) -> Need:
    """Return what a new pod will use of its node; UNKNOWN_NEED if no node's load is known.

    Memory: the decided size, else what it asks for. CPU: what its task's runs used, else what it
    asks for.
    """
    if not state.placing.has_loads:
        return UNKNOWN_NEED
    name = None if decided is None else decided.container
    memory_bytes = None if decided is None else decided.allocation_bytes
    if memory_bytes is None:  # only then: to find it takes ten microseconds
        container = sized_container(pod)
        if not isinstance(container, SizedContainer):
            return UNKNOWN_NEED
        name, memory_bytes = container.name, container.request_bytes
    cpu = state.knowledge_of(task).cpu
    millicores = _millicores(pod, name) if cpu is None else 1000 * cpu.high_cores
    return Need(None if memory_bytes is None else memory_bytes / MIB, millicores)


def _millicores(pod: Pod, name: str | None) -> float | None:
    """Return what a container asks for; None if it asks for nothing readable."""
    for container in map(mapping, sequence(spec_of(pod).get("containers"))):
        if container.get("name") == name:
            with contextlib.suppress(BadQuantity):
                return millicores_asked(container, "requests")
    return None


def says_where(pod: Pod) -> bool:
    """Say whether the pod names its node, or selects nodes by their labels."""
    spec = spec_of(pod)
    if spec.get("nodeName") or mapping(spec.get("affinity")).get("nodeAffinity"):
        return True
    return not mapping(spec.get("nodeSelector")).keys() <= _SAYS_NOTHING


def is_of_karpenter(labels: Mapping[str, Any]) -> bool:
    """Say whether Karpenter made the node with these labels.

    Before release 1.5 or so, Karpenter ignores a pending pod whose preferences name hosts, and the
    preferences of a pod without a gate cannot be changed: it would wait for ever.
    """
    return any(str(key).startswith(KARPENTER) for key in labels)


def without_hint(pod: Pod) -> Pod:
    """Return the pod without the parts of its hint that it still has; without a hint, the pod."""
    text = annotations_of(pod).get(HINT)
    nodes = None if text is None else _nodes_in(text)
    if nodes is None:
        return pod
    spec = spec_of(pod)
    affinity = mapping(spec.get("affinity"))
    of_nodes = mapping(affinity.get("nodeAffinity"))
    own = terms_for(nodes)
    preferred = [term for term in sequence(of_nodes.get(PREFERRED)) if term not in own]
    of_nodes = _with(of_nodes, PREFERRED, preferred)
    affinity = _with(affinity, "nodeAffinity", of_nodes)
    annotations = {key: value for key, value in annotations_of(pod).items() if key != HINT}
    return {
        **pod,
        "metadata": {**metadata_of(pod), "annotations": annotations},
        "spec": _with(spec, "affinity", affinity),
    }


def _with(document: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Return the document with another value; an empty one is left out."""
    others = {name: part for name, part in document.items() if name != key}
    return {**others, key: value} if value else others


def _nodes_in(text: object) -> list[str] | None:
    if not isinstance(text, str) or len(text) > _MOST_CHARS:
        return None
    try:
        nodes = sequence(mapping(orjson.loads(text)).get("nodes"))
    except ValueError:
        return None
    return [str(node) for node in nodes[:MOST_NAMED]] or None


def has_room_for_note(pod: Pod) -> bool:
    """Say whether a short annotation fits beside the decision's; nearly always so."""
    annotations = annotations_of(pod)
    chars = sum(map(len, annotations)) + sum(len(str(value)) for value in annotations.values())
    most = MAX_ALL_ANNOTATIONS_BYTES // _MOST_BYTES_A_CHAR
    return chars + MAX_ANNOTATION_CHARS + _MOST_CHARS <= most


def _patch(pod: Pod, hint: Hint) -> list[Operation]:
    of_nodes = {PREFERRED: terms_for(hint.nodes)}
    text = orjson.dumps({"nodes": hint.nodes, "gain": round(hint.gain, 2)}).decode()
    affinity = add("/spec/affinity/nodeAffinity", of_nodes)
    if not mapping(spec_of(pod).get("affinity")):
        affinity = add("/spec/affinity", {"nodeAffinity": of_nodes})
    return [
        affinity,
        add(annotation_path(HINT), text),
    ]


def terms_for(nodes: Sequence[str]) -> list[dict[str, Any]]:
    """Return the preferences of a pod for these hosts, the best first."""
    weighed = ((BEST, nodes[:1]), (NAMED, nodes))
    return [
        {
            "weight": weight,
            "preference": {
                "matchExpressions": [{"key": HOST_NAME, "operator": "In", "values": [*values]}]
            },
        }
        for weight, values in weighed
    ]
