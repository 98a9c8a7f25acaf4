"""Asks RBAC now and then what the controller may do: a role can be taken away while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import ApiError


@dataclass(frozen=True, slots=True)
class Permission:
    """One thing that is needed.

    resource: with its subresource, such as "pods/resize". without: what stops without it.
    """

    verb: str
    group: str
    resource: str
    without: str


NEEDED: Final = (
    Permission("watch", "", "pods", "no pod is seen"),
    Permission("create", "", "pods", "killed bare pods are not run again"),
    Permission("delete", "", "pods", "a copy of a retry that lost a race is left"),
    Permission("patch", "", "pods", "waiting pods are not decided again"),
    Permission("watch", "", "limitranges", "sizes may be outside what a namespace allows"),
    Permission("watch", "", "resourcequotas", "sizes may be more than a quota has"),
    Permission("watch", "", "nodes", "sizes may be more than the largest node has"),
    Permission("watch", "plimsoll.dev", "sizingpolicies", "no policy or pause is heard"),
    Permission("watch", "plimsoll.dev", "taskprofiles", "no profile's spec is heard"),
    Permission("create", "plimsoll.dev", "taskprofiles", "no profile of a new task is made"),
    Permission("patch", "plimsoll.dev", "taskprofiles/status", "no status is written"),
    Permission("create", "events.k8s.io", "events", "no Event is told"),
)


async def lacking(kube: Kube) -> list[str]:
    """Say what the controller's role lacks; a permission that cannot be asked counts as given.

    Cost: one small call for each that is needed.
    """
    return [words for needed in NEEDED if (words := await _lacks(kube, needed)) is not None]


async def _lacks(kube: Kube, needed: Permission) -> str | None:
    try:
        if await kube.may(needed.verb, needed.group, needed.resource):
            return None
    except ApiError:
        return None
    what = f"{needed.resource}.{needed.group}" if needed.group else needed.resource
    return f'its role lacks the verb "{needed.verb}" on {what}: {needed.without}'
