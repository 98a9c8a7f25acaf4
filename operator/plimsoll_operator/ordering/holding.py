"""Decides whether a new pod waits for its turn, and makes the patch that holds it.

A held pod starts later than it would. So only pods that lose little by this are held: bare pods and
pods of plain Jobs, whose nodes any pod may use. A pod that somebody waits for, that belongs to a
group, or that others may overtake without Plimsoll, starts as it would without an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from plimsoll_operator.names.json_patch import Operation, add, annotation_path
from plimsoll_operator.names.labels import HELD, MAY_WAIT, ORDER_GATE
from plimsoll_operator.ordering.gate import GATES, gates_of, is_held
from plimsoll_operator.ordering.longest_wait import note_of_wait
from plimsoll_operator.pods.owners import controller_of, is_job
from plimsoll_operator.pods.polled import is_awaited
from plimsoll_operator.pods.queue_managers import KUEUE
from plimsoll_operator.pods.spec import (
    Pod,
    annotations_of,
    labels_of,
    mapping,
    sequence,
    spec_of,
)
from plimsoll_operator.sizing.bounds.selecting import REQUIRED
from plimsoll_operator.sizing.node_hint import has_room_for_note, says_where
from plimsoll_operator.sizing.sized import Sized
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Order

MOST_UNHEARD_S: Final = 10.0
"""Where pods may be held, the feed answers within 5 s: one of two questions was answered."""
_USUAL_SCHEDULERS: Final = (None, "", "default-scheduler")
_OF_ALL_PODS: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Taints that the API server has every pod tolerate for a while."""
_GROUPS: Final = (
    "batch.volcano.sh/",
    "jobset.sigs.k8s.io/",
    KUEUE,
    "leaderworkerset.sigs.k8s.io/",
    "pod-group.scheduling.sigs.k8s.io",
    "ray.io/",
    "scheduling.k8s.io/group-name",
    "scheduling.x-k8s.io/pod-group",
    "training.kubeflow.org/",
    "volcano.sh/",
    "yunikorn.apache.org/",
)
"""Prefixes of labels and annotations of pods that queue elsewhere, or start together."""


class HoldOutcome(StrEnum):
    """The result for one pod or Job whose policy has an order, for counting."""

    HELD = "held"
    UNKNOWN = "unknown"
    """The controller does not order its task: too little is known, or its runs are too short."""
    SILENT = "silent"
    """The controller was not heard from lately."""
    UNWATCHED = "unwatched"
    """This replica could not release it if the controller were away."""
    CHOSEN = "chosen"
    """It says where it belongs, or when it may start."""
    GROUPED = "grouped"
    """It belongs to a group, or queues elsewhere."""
    MADE = "made"
    """Its maker waits for its start, or may fail it if it starts late."""
    LATER = "later"
    """It is a later attempt of its run."""
    NO_ROOM = "no-room"
    """Its annotations leave no room for the note."""
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Holding:
    """The answer for one pod. patch: JSON Patch operations that follow those of its size."""

    outcome: HoldOutcome
    patch: Sequence[Operation] = ()


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a gate that is made now is surely removed again.

    age_s: since the controller was heard from; None if it never was. watched: whether this replica
    sees the leader, and could release pods itself.
    """

    age_s: float | None
    watched: bool

    @property
    def trouble(self) -> HoldOutcome | None:
        """Say why no pod is held; None if pods may be held."""
        if not self.watched:
            return HoldOutcome.UNWATCHED
        heard = self.age_s is not None and self.age_s <= MOST_UNHEARD_S
        return None if heard else HoldOutcome.SILENT


def hold_for(pod: Pod, sized: Sized, state: AdmissionState, readiness: Readiness) -> Holding | None:
    """Say whether a new pod is held; None if nobody asked for it.

    sized: the answer about the pod's size. Its annotation with the decision comes first.
    """
    if sized.identity is None or sized.note is None:
        return None
    if state.knowledge_of(sized.identity.task).policy.order is not Order.ENFORCE:
        return None
    if is_held(pod):  # it is asked for again, because another webhook changed it
        return None
    outcome = _why_not(pod, sized, state) or readiness.trouble
    if outcome is not None:
        return Holding(outcome)
    return Holding(HoldOutcome.HELD, _patch())


def _why_not(pod: Pod, sized: Sized, state: AdmissionState) -> HoldOutcome | None:
    assert sized.identity is not None
    assert sized.note is not None
    if says_when_or_where(pod):
        return HoldOutcome.CHOSEN
    if is_grouped(pod):
        return HoldOutcome.GROUPED
    if not _bears_to_wait(pod):
        return HoldOutcome.MADE
    if max(sized.note.attempt, sized.identity.attempt) > 1:
        return HoldOutcome.LATER
    if str(sized.identity.task) not in state.ordered:
        return HoldOutcome.UNKNOWN
    return None if has_room_for_note(pod) else HoldOutcome.NO_ROOM


def says_when_or_where(pod: Pod) -> bool:
    """Say whether somebody else holds the pod, or it may not run on every node with room."""
    return bool(gates_of(pod)) or says_where(pod) or _says_more(pod)


def is_grouped(pod: Pod) -> bool:
    """Say whether the pod belongs to a group that starts together, or to another queue."""
    spec = spec_of(pod)
    if spec.get("workloadRef") or spec.get("schedulingGroup"):
        return True
    keys = (*labels_of(pod), *annotations_of(pod))
    return any(key.startswith(_GROUPS) for key in keys if isinstance(key, str))


def _bears_to_wait(pod: Pod) -> bool:
    """Say whether nobody fails the pod because it starts late.

    Its maker may fail it, or the installer whose hook it is, or a Job with a deadline. The pod does
    not show the deadline: admission notes on a Job's template, at its creation, that it has none.
    """
    if is_awaited(pod):
        return False
    owner = controller_of(pod)
    return owner is None or (is_job(owner) and annotations_of(pod).get(MAY_WAIT) == "true")


def _says_more(pod: Pod) -> bool:
    """Say whether what nodes have left for any pod does not show the room for this one.

    This is also so for a pod that may not preempt: pods that are not held could take its room.
    """
    spec = spec_of(pod)
    if spec.get("schedulerName") not in _USUAL_SCHEDULERS or spec.get("resourceClaims"):
        return True
    if spec.get("preemptionPolicy") == "Never":
        return True
    tolerated = (mapping(each).get("key") for each in sequence(spec.get("tolerations")))
    if any(key not in _OF_ALL_PODS for key in tolerated):
        return True
    affinity = mapping(spec.get("affinity"))
    if any(
        mapping(affinity.get(kind)).get(REQUIRED) for kind in ("podAffinity", "podAntiAffinity")
    ):
        return True
    spreads = map(mapping, sequence(spec.get("topologySpreadConstraints")))
    return any(each.get("whenUnsatisfiable") != "ScheduleAnyway" for each in spreads)


def _patch() -> list[Operation]:
    return [
        add(GATES, [{"name": ORDER_GATE}]),
        add(annotation_path(HELD), note_of_wait()),
    ]
