"""Reads and removes the gate behind which a pod waits for its turn.

Only this gate is removed: gates of others, such as Kueue's, are theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from plimsoll_operator.names.json_patch import Operation
from plimsoll_operator.names.labels import HINT, ORDER_GATE
from plimsoll_operator.pods.spec import Pod, mapping, metadata_of, sequence, spec_of
from plimsoll_operator.sizing.node_hint import PREFERRED, terms_for

GATES: Final = "/spec/schedulingGates"
WITHOUT_NODE: Final = "spec.nodeName=,status.phase=Pending"
"""Field selector of all pods that may be held."""


def gates_of(pod: Pod) -> list[object]:
    """Return the names of the pod's scheduling gates."""
    return [mapping(gate).get("name") for gate in sequence(spec_of(pod).get("schedulingGates"))]


def is_held(pod: Pod) -> bool:
    """Say whether Plimsoll's gate holds the pod."""
    return ORDER_GATE in gates_of(pod)


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
