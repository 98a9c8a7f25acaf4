"""Reads and removes the gate behind which a pod waits for its turn.

Only this gate is removed: gates of others, such as Kueue's, are theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from plimsoll_operator.names.labels import HELD, HINT, ORDER_GATE
from plimsoll_operator.pods.spec import Pod, annotations_of, mapping, metadata_of, sequence, spec_of
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.sizing.node_hint import PREFERRED, terms_for
from plimsoll_operator.sizing.patch import Operation

MOST_WAIT_S: Final = 600.0
"""No pod waits longer for its turn. A cluster autoscaler ignores gated pods, so a new node may
come later by this time."""
WHY: Final = "waits for its turn among tasks that slow each other on a node"
GATES: Final = "/spec/schedulingGates"
WITHOUT_NODE: Final = "spec.nodeName=,status.phase=Pending"
"""Field selector of all pods that may be held."""
_MOST_CHARS: Final = 512


def gates_of(pod: Pod) -> list[object]:
    """Return the names of the pod's scheduling gates."""
    return [mapping(gate).get("name") for gate in sequence(spec_of(pod).get("schedulingGates"))]


def is_held(pod: Pod) -> bool:
    """Say whether Plimsoll's gate holds the pod."""
    return ORDER_GATE in gates_of(pod)


def note_of_wait(most_s: float = MOST_WAIT_S) -> str:
    """Return the annotation of a held pod."""
    return orjson.dumps({"mostS": round(most_s), "why": WHY}).decode()


def most_wait_s(pod: Pod) -> float:
    """Return how long the pod may be held: the time written on it, MOST_WAIT_S at most."""
    text = annotations_of(pod).get(HELD)
    if not isinstance(text, str) or len(text) > _MOST_CHARS:
        return MOST_WAIT_S
    try:
        most_s = mapping(orjson.loads(text)).get("mostS")
    except ValueError:
        return MOST_WAIT_S
    if isinstance(most_s, bool) or not isinstance(most_s, int | float):
        return MOST_WAIT_S
    return min(MOST_WAIT_S, max(0.0, float(most_s)))


def is_overdue(pod: Pod, now_s: float) -> bool:
    """Say whether the pod was held as long as allowed. now_s: by the API server's clock."""
    created_s = read_time(metadata_of(pod).get("creationTimestamp"))
    return created_s is None or now_s - created_s >= most_wait_s(pod)


def opening(pod: Pod) -> list[Operation]:
    """Return the JSON Patch that removes Plimsoll's gate and nothing else; none if it has none.

    It fails, and changes nothing, if the gate is not where it was seen.
    """
    if not is_held(pod):
        return []
    path = f"{GATES}/{gates_of(pod).index(ORDER_GATE)}"
    return [
        {"op": "test", "path": f"{path}/name", "value": ORDER_GATE},
        {"op": "remove", "path": path},
    ]


def release_to(pod: Pod, nodes: Sequence[str]) -> dict[str, Any]:
    """Return the merge patch that removes the gate and has the scheduler prefer these hosts.

    nodes: the best first; none leaves the choice to the scheduler. The patch names the version of
    the pod, so it fails if anybody else has changed the pod since.
    """
    others = [
        gate
        for gate in sequence(spec_of(pod).get("schedulingGates"))
        if mapping(gate).get("name") != ORDER_GATE
    ]
    metadata: dict[str, Any] = {"resourceVersion": metadata_of(pod).get("resourceVersion")}
    spec: dict[str, Any] = {"schedulingGates": others}
    if nodes:
        of_nodes = mapping(mapping(spec_of(pod).get("affinity")).get("nodeAffinity"))
        preferred = [*sequence(of_nodes.get(PREFERRED)), *terms_for(nodes)]
        spec["affinity"] = {"nodeAffinity": {PREFERRED: preferred}}
        metadata["annotations"] = {HINT: orjson.dumps({"nodes": list(nodes)}).decode()}
    return {"metadata": metadata, "spec": spec}
