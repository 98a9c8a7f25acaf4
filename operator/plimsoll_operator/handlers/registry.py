"""All handlers in one registry, made for one controller.

``on.event`` only: create, update, index, timer and daemon handlers write annotations on the
objects they watch or cost O(n²) on pods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import kopf

from plimsoll_operator.handlers.no_state import NoDiffBase, NoProgress
from plimsoll_operator.names import labels

Raw = Mapping[str, Any]

LIST_CHUNK = 500
"""Objects per page of the first listing: 5,000 pods never stand in memory at once."""
API_BACKOFFS_S = (1, 1, 2, 3, 5, 8, 13, *(20 for _ in range(40)))
"""An API server that goes away for minutes is waited for, not given up."""


class Sees(Protocol):
    """What the handlers need of the controller."""

    async def see_pod(self, pod: Raw, *, gone: bool) -> None:
        """A labelled pod."""

    async def see_profile(self, profile: Raw, *, gone: bool) -> None:
        """A TaskProfile."""

    async def see_policy(self, policy: Raw, *, gone: bool) -> None:
        """A SizingPolicy."""

    async def see_bounds(self, document: Raw, *, gone: bool) -> None:
        """A LimitRange or ResourceQuota."""

    async def see_node(self, node: Raw, *, gone: bool) -> None:
        """A node."""


def registry_for(controller: Sees) -> kopf.OperatorRegistry:
    """Handlers that hand every event to ``controller``."""
    registry = kopf.OperatorRegistry()

    def seen_by(see: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def handler(event: Raw, **_: Any) -> None:
            await see(event["object"], gone=event["type"] == "DELETED")

        return handler

    on_pod = kopf.on.event(
        "v1", "pods", labels={labels.TASK: kopf.PRESENT}, registry=registry, id="pods"
    )
    on_pod(seen_by(controller.see_pod))
    for resource, see in (
        (("plimsoll.dev", "v1alpha1", "taskprofiles"), controller.see_profile),
        (("plimsoll.dev", "v1alpha1", "sizingpolicies"), controller.see_policy),
        (("v1", "limitranges"), controller.see_bounds),
        (("v1", "resourcequotas"), controller.see_bounds),
        (("v1", "nodes"), controller.see_node),
    ):
        kopf.on.event(*resource, registry=registry, id=resource[-1])(seen_by(see))
    return registry


def configure(settings: kopf.OperatorSettings) -> None:
    """Set kopf up as a watcher of many short-lived pods."""
    settings.posting.enabled = False
    settings.persistence.diffbase_storage = NoDiffBase()
    settings.persistence.progress_storage = NoProgress()
    settings.peering.standalone = True
    settings.scanning.disabled = True
    # Server-side, so that a cluster's other pods never reach us.
    settings.watching.label_selectors["v1", "pods"] = labels.TASK
    settings.watching.chunk_size = LIST_CHUNK
    settings.watching.server_timeout = 300
    settings.watching.reconnect_backoff = 1.0
    settings.queueing.idle_timeout = 1.0
    settings.networking.error_backoffs = API_BACKOFFS_S
