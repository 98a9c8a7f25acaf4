"""Writes and reads the annotation of a rescued pod: what it had before the first raise.

Anybody who may create or change pods may write it, too, or copy it with a whole pod. A text that
Plimsoll would not have written on this very pod counts as absent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import orjson

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import BadQuantity, format_bytes, parse_bytes
from plimsoll_operator.pods.resizes import granted_memory, is_running
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    annotations_of,
    mapping,
    metadata_of,
)

MAX_CHARS: Final = 512
MAX_RAISES: Final = 1000


@dataclass(frozen=True, slots=True)
class Rescued:
    """What one pod's container had before it was rescued, and how often it was rescued.

    request_bytes, limit_bytes: before the first raise.
    """

    uid: str
    container: str
    request_bytes: int
    limit_bytes: int
    raises: int


def rescued_to_json(rescued: Rescued) -> str:
    """Return the annotation's text."""
    document = {
        "uid": rescued.uid,
        "container": rescued.container,
        "request": format_bytes(rescued.request_bytes),
        "limit": format_bytes(rescued.limit_bytes),
        "raises": rescued.raises,
    }
    return orjson.dumps(document).decode()


def read_rescued(pod: Pod, container: SizedContainer) -> Rescued | None:
    """Return what the pod had before; None unless Plimsoll could have written it.

    container: as it is now. A rescue only ever adds.
    """
    text = annotations_of(pod).get(labels.RESCUED)
    if not isinstance(text, str) or len(text) > MAX_CHARS:
        return None
    try:
        written = mapping(orjson.loads(text))
        raises = written["raises"]
        rescued = Rescued(
            uid=str(written["uid"]),
            container=str(written["container"]),
            request_bytes=parse_bytes(written["request"]),
            limit_bytes=parse_bytes(written["limit"]),
            raises=raises if type(raises) is int else -1,
        )
    except (LookupError, ValueError, BadQuantity):
        return None
    own = rescued.uid == metadata_of(pod).get("uid") and rescued.container == container.name
    fits = (
        0 < rescued.request_bytes <= (container.request_bytes or 0)
        and 0 < rescued.limit_bytes <= (container.limit_bytes or 0)
        and 1 <= rescued.raises <= MAX_RAISES
    )
    return rescued if own and fits else None


def before_rescue(pod: Pod, container: SizedContainer) -> SizedContainer:
    """Return the container as it was before it was rescued; as it is if it was not."""
    rescued = read_rescued(pod, container)
    if rescued is None:
        return container
    return replace(container, request_bytes=rescued.request_bytes, limit_bytes=rescued.limit_bytes)


def enforced_limit(pod: Pod, container: SizedContainer) -> int | None:
    """Return the limit that the kernel enforces on a container, or surely enforced at its end.

    A raise may have been asked for but not granted (yet): then the pod's status has the real limit.
    Only a rescued pod's status is read, because older kubelets write none. Of a container that does
    not run, a kubelet writes what it has set aside for it, with raises that came too late. So such
    a container counts as never raised; ``WatchedPod.as_it_ran`` knows more.
    """
    if labels.RESCUED not in annotations_of(pod):
        return container.limit_bytes
    if not is_running(pod, container.name):
        return before_rescue(pod, container).limit_bytes
    granted = granted_memory(pod, container.name, "limits")
    return container.limit_bytes if granted is None else granted
