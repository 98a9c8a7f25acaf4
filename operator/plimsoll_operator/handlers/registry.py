"""All handlers in one registry, made for one controller.

``on.event`` only: create, update, index, timer and daemon handlers write annotations on the
objects they watch or cost O(n²) on pods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import kopf

from plimsoll_operator.controller.watching import ClusterWatch
from plimsoll_operator.names import labels

LIST_CHUNK = 500
"""Objects per page of the first listing: 5,000 pods never stand in memory at once."""
API_BACKOFFS_S = (1, 1, 2, 3, 5, 8, 13, *(20 for _ in range(40)))
"""The operator waits for an API server that goes away for minutes."""


class NoDiffBase(kopf.MultiDiffBaseStorage):
    """Stores nothing about an object, and makes no copy to compare it with."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        """Return nothing, because nothing of an object matters."""
        return kopf.BodyEssence()


def registry_for(watch: ClusterWatch) -> kopf.OperatorRegistry:
    """Return handlers that hand every event to ``watch``."""
    registry = kopf.OperatorRegistry()

    def seen_by(see: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def handler(event: Mapping[str, Any], **_: Any) -> None:
            await see(event["object"], gone=event["type"] == "DELETED")

        return handler

    async def see_pod(event: Mapping[str, Any], **_: Any) -> None:
        gone, listed = event["type"] == "DELETED", event["type"] is None
        await watch.see_pod(event["object"], gone=gone, listed=listed)

    on_pod = kopf.on.event(
        "v1", "pods", labels={labels.TASK: kopf.PRESENT}, registry=registry, id="pods"
    )
    on_pod(see_pod)
    for resource, see in (
        (("plimsoll.dev", "v1alpha1", "taskprofiles"), watch.see_profile),
        (("plimsoll.dev", "v1alpha1", "sizingpolicies"), watch.see_policy),
        (("v1", "limitranges"), watch.see_bounds),
        (("v1", "resourcequotas"), watch.see_bounds),
        (("v1", "nodes"), watch.see_node),
    ):
        kopf.on.event(*resource, registry=registry, id=resource[-1])(seen_by(see))
    return registry


def configure(settings: kopf.OperatorSettings) -> None:
    """Set kopf up as a watcher of many short-lived pods."""
    settings.posting.enabled = False
    # Nothing is stored on the objects: they are not ours.
    settings.persistence.diffbase_storage = NoDiffBase([])
    settings.persistence.progress_storage = kopf.MultiProgressStorage([])
    settings.peering.standalone = True
    settings.scanning.disabled = True
    # The API server selects, so that a cluster's other pods never reach us.
    settings.watching.label_selectors["v1", "pods"] = labels.TASK
    settings.watching.chunk_size = LIST_CHUNK
    settings.watching.server_timeout = 300
    settings.watching.reconnect_backoff = 1.0
    settings.queueing.idle_timeout = 1.0
    settings.networking.error_backoffs = API_BACKOFFS_S
