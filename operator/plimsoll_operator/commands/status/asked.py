"""Whether the API server asks admission about new pods. Pure.

Nothing else shows that it does not: admission is ready and hears the controller, and pods start as
their authors wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from plimsoll_operator.commands.status.checks import Check, Level
from plimsoll_operator.commands.status.cluster_state import ClusterState, Object, part
from plimsoll_operator.names import labels
from plimsoll_operator.names.namespaces import NAME_LABEL
from plimsoll_operator.pods.status import has_final_phase, read_time
from plimsoll_predictor.core.units import counted

PART: Final = "asked"
REVIEWS: Final = "plimsoll_admission_seconds_count"
PODS_OF_TASKS: Final[Mapping[str, str]] = {"labelSelector": labels.TASK}
SETTLED_S: Final = 60.0
"""Kubernetes may need so long until it sends questions to a replica that has become ready."""
SURE_FROM: Final = 3
"""Somebody may have labelled a pod or two after they were created; nobody is asked about those."""
_SIZES: Final = {"key": labels.TASK, "operator": "Exists"}
"""The selector of the webhook that sizes pods."""


def is_idle(asked: Mapping[str, float | None]) -> bool:
    """Whether no replica was asked since its start. asked: replica -> about how many pods."""
    return bool(asked) and all(number == 0 for number in asked.values())


def idle_since_s(replicas: Sequence[Object], asked: Mapping[str, float | None]) -> float | None:
    """Unix seconds since when each replica is ready, and none was asked about a pod.

    None if one was asked, is not ready, or does not say about how many pods it was asked.
    """
    present = [each for each in replicas if not has_final_phase(each)]
    names = {str(part(each, "metadata", "name")) for each in present}
    if not is_idle(asked) or names != set(asked):
        return None
    ready_s = [since_s for each in present if (since_s := _ready_since_s(each)) is not None]
    return max(ready_s) if len(ready_s) == len(present) else None


def asked_check(cluster: ClusterState) -> Check | None:
    """Say that admission is not asked about new pods; None if it is, or if nobody can know."""
    since_s, webhooks = cluster.idle_since_s, cluster.webhooks
    excluded = excluded_by(webhooks[0]) if webhooks else None
    if since_s is None or not webhooks or excluded is None:
        return None
    made_s = read_time(part(webhooks[0], "metadata", "creationTimestamp"))
    due_s = max(since_s, made_s or 0.0) + SETTLED_S
    missed = [each for each in cluster.pods_of_tasks if _is_missed(each, due_s, excluded)]
    if not missed:
        return None
    last = max(missed, key=_created_s)
    name = f"{part(last, 'metadata', 'namespace')}/{part(last, 'metadata', 'name')}"
    sure = len(missed) >= SURE_FROM
    said = "does not ask" if sure else "may not ask"
    words = (
        f"the API server {said} admission about new pods: {counted(len(missed), 'pod')} of tasks"
        f" came since admission is ready, the last {name}, and it was asked about none"
    )
    todo = (
        "let the API server reach TCP 9443 of admission's pods: docs/install.md lists what keeps it"
        " away, and the API server's log says `failed calling webhook`"
    )
    return Check(PART, Level.BAD if sure else Level.WARNING, words, todo)


def _is_missed(pod: Object, due_s: float, excluded: frozenset[str]) -> bool:
    """Whether admission should have been asked about this pod, and was not."""
    if part(pod, "metadata", "namespace") in excluded or _created_s(pod) <= due_s:
        return False
    return labels.DECISION not in (part(pod, "metadata", "annotations") or {})


def _created_s(pod: Object) -> float:
    return read_time(part(pod, "metadata", "creationTimestamp")) or 0.0


def _ready_since_s(replica: Object) -> float | None:
    for each in part(replica, "status", "conditions") or []:
        if part(each, "type") == "Ready" and part(each, "status") == "True":
            return read_time(part(each, "lastTransitionTime"))
    return None


def excluded_by(configuration: Object) -> frozenset[str] | None:
    """Return the namespaces about whose pods admission is not asked.

    None if the selectors are not the chart's: a pod may then be one that nobody asks about.
    """
    for hook in part(configuration, "webhooks") or []:
        if _SIZES not in (part(hook, "objectSelector", "matchExpressions") or []):
            continue
        selector = part(hook, "namespaceSelector") or {}
        names: set[str] = set()
        for each in part(selector, "matchExpressions") or []:
            if (part(each, "key"), part(each, "operator")) != (NAME_LABEL, "NotIn"):
                return None
            names.update(str(name) for name in part(each, "values") or [])
        unknown = part(selector, "matchLabels") or part(hook, "matchConditions")
        return None if unknown else frozenset(names)
    return None
