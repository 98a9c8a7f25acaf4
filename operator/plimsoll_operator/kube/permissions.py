"""Asks RBAC from time to time what the controller may do, because roles can change."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import ApiError


@dataclass(frozen=True, slots=True)
class Permission:
    """One permission that the controller needs.

    resource: with its subresource, such as "pods/resize". without: the loss without it, in words.
    """

    verb: str
    group: str
    resource: str
    without: str


NEEDED: Final = (
    Permission("watch", "", "pods", "no pod is seen"),
    Permission("create", "", "pods", "killed bare pods are not run again"),
    Permission(
        "delete",
        "",
        "pods",
        "killed pods that restart in place, or whose other containers go on, are not replaced: they"
        " are killed again at the same size",
    ),
    Permission(
        "patch",
        "",
        "pods",
        "waiting pods are not decided again, and what was retried, lent or given is not written on"
        " pods",
    ),
    Permission(
        "patch",
        "",
        "pods/resize",
        "no pod is resized: waiting pods keep their size, and none lends or is rescued",
    ),
    Permission(
        "patch",
        "",
        "pods/status",
        "Jobs that ask not to count kills at lowered limits count them",
    ),
    Permission("watch", "", "limitranges", "sizes may be outside what a namespace allows"),
    Permission("watch", "", "resourcequotas", "pods may be raised where a quota counts them"),
    Permission("watch", "", "nodes", "pods may be raised above the largest node"),
    Permission("watch", "plimsoll.dev", "sizingpolicies", "no policy or pause is seen"),
    Permission("watch", "plimsoll.dev", "taskprofiles", "no profile's spec is seen"),
    Permission("create", "plimsoll.dev", "taskprofiles", "no profile of a new task is made"),
    Permission("patch", "plimsoll.dev", "taskprofiles/status", "no status is written"),
    Permission("create", "events.k8s.io", "events", "no Event is written"),
)


async def lacking(kube: Kube) -> list[str]:
    """Return the permissions that the controller's role lacks, in words; one small call for each.

    A permission that cannot be asked counts as given.
    """
    lacks = []
    for needed in NEEDED:
        with contextlib.suppress(ApiError):
            if not await kube.may(needed.verb, needed.group, needed.resource):
                kind = f"{needed.resource}.{needed.group}" if needed.group else needed.resource
                lacks.append(f'its role lacks the verb "{needed.verb}" on {kind}: {needed.without}')
    return lacks
