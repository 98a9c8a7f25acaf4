"""Finds the recurring name in the name of a pod or of its owner.

An ending is removed only if the pod shows who generated it, or if the text itself shows that nobody
wrote it (``names.generated``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names.generated import recurring_name
from plimsoll_operator.names.labels import JOB_NAME, MAX_NAME_CHARS
from plimsoll_operator.pods.owners import LONGEST_PREFIX, cronjob_of, is_job
from plimsoll_operator.pods.spec import Pod, annotations_of, labels_of, metadata_of

TEMPLATE_HASH: Final = "pod-template-hash"
"""Label of a ReplicaSet's pods: the ending that the Deployment gave to the ReplicaSet's name."""
_NAMED_BY_PEOPLE: Final = frozenset({"DaemonSet", "StatefulSet"})
"""Kinds of owners that live as long as their task, so that their names recur as they are."""


def name_by_owner(pod: Pod, owner: Mapping[str, Any]) -> str | None:
    """Return the recurring part of the controller's name; None if all of it was generated."""
    name, kind = str(owner.get("name", "")), str(owner.get("kind"))
    if len(name) > MAX_NAME_CHARS:
        return None
    if kind in _NAMED_BY_PEOPLE:
        return name or None
    if is_job(owner):
        prefix = annotations_of(pod).get(JOB_NAME)
        if isinstance(prefix, str) and prefix and name.startswith(prefix[:LONGEST_PREFIX]):
            return recurring_name(prefix)
        if cronjob := cronjob_of(owner):
            return cronjob
    if kind == "ReplicaSet":
        ending = f"-{labels_of(pod).get(TEMPLATE_HASH)}"
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending)
    return recurring_name(name)


def name_by_itself(pod: Pod) -> str | None:
    """Return the recurring part of a bare pod's name; None if all of it was generated."""
    metadata = metadata_of(pod)
    return recurring_name(str(metadata.get("generateName") or metadata.get("name") or ""))
