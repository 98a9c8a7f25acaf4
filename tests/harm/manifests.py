"""The objects that authors write: pods and Jobs of the task, with the program they run."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll_operator.names import labels
from tests.harm.scenario import ASKED_MIB, NEEDS_MIB, TASK, Manifest
from tests.harm.watching import MAIN
from tests.rigs.images.eater import IMAGE


def eats(mib: int = NEEDS_MIB, *, for_s: int = 1, after_s: int = 0) -> list[str]:
    """A program that waits, takes memory and holds it."""
    return ["/task", "eat", str(mib), str(for_s), str(after_s)]


def memory(request_mib: int | None, limit_mib: int | None) -> dict[str, Any]:
    """A container's resources; None where its author wrote none."""
    asked = {"requests": request_mib, "limits": limit_mib}
    return {kind: {"memory": f"{mib}Mi"} for kind, mib in asked.items() if mib is not None}


ASKED = memory(ASKED_MIB, ASKED_MIB)


def a_container(
    command: Sequence[str], resources: Mapping[str, Any] = ASKED, *, image: str = IMAGE
) -> dict[str, Any]:
    """The container that does the work."""
    return {
        "name": MAIN,
        "image": image,
        "imagePullPolicy": "Never",
        "command": list(command),
        "resources": copy.deepcopy(dict(resources)),
    }


def a_template(container: Mapping[str, Any] | None = None, **spec: Any) -> Manifest:
    """A labelled pod's template. spec: more fields of the pod's spec."""
    return {
        "metadata": {"labels": {labels.TASK: TASK}, "annotations": {}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [dict(container or a_container(eats()))],
            **spec,
        },
    }


def a_pod(name: str, container: Mapping[str, Any] | None = None, **spec: Any) -> Manifest:
    """A labelled bare pod."""
    pod = a_template(container, **spec)
    pod["metadata"]["name"] = name
    return {"apiVersion": "v1", "kind": "Pod", **pod}


def a_job(name: str, template: Manifest | None = None, **spec: Any) -> Manifest:
    """A Job. spec: more fields of its spec."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template or a_template(), **spec},
    }
