"""A bare pod's next attempt: whether Plimsoll makes it, and the clean copy it makes."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import format_bytes
from plimsoll_operator.pods.spec import Pod

WRITTEN_BY_THE_CLUSTER = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generateName",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
WRITTEN_BY_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"
"""Says what was applied under the first pod's name; and it is large, where room is limited."""
TOKEN_VOLUME_PREFIX = "kube-api-access-"


def retry_name(pod: Pod, attempt: int) -> str:
    """The next attempt's name: the same for the same killed attempt, whoever computes it.

    >>> retry_name({"metadata": {"name": "train-7", "uid": "u1"}}, 2)
    'train-7-a2-bb82030dbc'
    """
    meta = pod["metadata"]
    digest = hashlib.sha256(str(meta["uid"]).encode()).hexdigest()
    ending = f"-a{attempt}-{digest[:10]}"
    root = str(meta["name"])
    annotations = meta.get("annotations") or {}
    if labels.RETRY_OF in annotations and "-a" in root:
        root = root.rpartition("-a")[0]
    # A longer name is legal for a pod, but it breaks the hostname.
    return root[: labels.MAX_LABEL_CHARS - len(ending)].rstrip("-.") + ending


@dataclass(frozen=True, slots=True)
class NextAttempt:
    """What the copy gets: its name, its allocation, and the decision annotation saying so."""

    name: str
    container: str
    allocation_bytes: int
    note: str


def next_attempt(pod: Pod, following: NextAttempt) -> dict[str, Any]:
    """A clean copy of ``pod`` with a lifted allocation, ready to create.

    Labels, annotations and owner are kept; what the cluster wrote is not. The copy is
    linked to the first pod of its run (RUN_OF) and to the attempt it follows (RETRY_OF).
    """
    meta = copy.deepcopy(dict(pod["metadata"]))
    uid = str(meta["uid"])
    for field in WRITTEN_BY_THE_CLUSTER:
        meta.pop(field, None)
    annotations = dict(meta.get("annotations") or {})
    annotations.pop(WRITTEN_BY_KUBECTL, None)
    annotations[labels.RUN_OF] = annotations.get(labels.RUN_OF, uid)
    annotations[labels.RETRY_OF] = uid
    annotations[labels.DECISION] = following.note
    meta.update(name=following.name, annotations=annotations)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": _clean_spec(pod["spec"], following.container, following.allocation_bytes),
    }


def _clean_spec(spec: Mapping[str, Any], container: str, allocation_bytes: int) -> dict[str, Any]:
    clean: dict[str, Any] = copy.deepcopy(dict(spec))
    for field in ("nodeName", "ephemeralContainers", "priority"):
        clean.pop(field, None)
    clean["volumes"] = [v for v in clean.get("volumes") or [] if not _is_token(v)]
    for each in (*clean["containers"], *(clean.get("initContainers") or [])):
        each["volumeMounts"] = [m for m in each.get("volumeMounts") or [] if not _is_token(m)]
    for each in clean["containers"]:
        if each["name"] == container:
            _give(each, allocation_bytes)
    return clean


def _give(container: dict[str, Any], allocation_bytes: int) -> None:
    size = format_bytes(allocation_bytes)
    resources = container.setdefault("resources", {})
    resources.setdefault("requests", {})["memory"] = size
    resources.setdefault("limits", {})["memory"] = size


def _is_token(named: Mapping[str, Any]) -> bool:
    return str(named.get("name", "")).startswith(TOKEN_VOLUME_PREFIX)
