"""Makes the grant by which an agent may raise a pod by itself, once."""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll_operator.attempts.grants import Grant
from plimsoll_operator.attempts.peaks import MAX_MEMORY_BYTES
from plimsoll_operator.controller.rescue.rescuable_pods import Rescuable
from plimsoll_operator.pods.spec import metadata_of
from plimsoll_predictor.rescue.deciding import Room


def grant(rescuable: Rescuable, needs_bytes: Sequence[float], room: Room) -> Grant | None:
    """Return a grant; None if the node is not known enough, or the container does not run yet.

    Neither does a container get one that still has what it was to give back.

    room: as if the node's pods used nothing, because the agent knows what they use.
    """
    container, container_id = rescuable.container, rescuable.watched.status.container_id
    if room.free_bytes is None or room.allocatable_bytes is None or container_id is None:
        return None
    if rescuable.enforced_bytes > rescuable.limit_bytes:
        return None
    if rescuable.limit_bytes > MAX_MEMORY_BYTES:
        return None  # it would make the whole answer unreadable for the agent
    meta = metadata_of(rescuable.pod)
    return Grant(
        pod_uid=rescuable.uid,
        container_id=container_id,
        namespace=str(meta.get("namespace")),
        name=str(meta.get("name")),
        container=container.name,
        request_bytes=container.request_bytes or 0,
        limit_bytes=rescuable.limit_bytes,
        first_bytes=rescuable.first.limit_bytes or 0,
        raises=rescuable.raises,
        needs_bytes=tuple(needs_bytes),
        most_bytes=room.most_bytes,
        free_bytes=room.free_bytes,
        allocatable_bytes=room.allocatable_bytes,
        added_bytes=room.on_node_bytes,
        in_namespace_bytes=room.in_namespace_bytes,
    )
