"""Writes and reads the annotation of a pod that lends: the request that is to be restored.

Anybody who may create or change pods may write it as well, or copy it with a whole pod. What
Plimsoll would not have written on this very pod counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import BadQuantity, parse_bytes
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    annotations_of,
    container_of,
    mapping,
    metadata_of,
    sequence,
    sized_container,
    spec_of,
)

MAX_CHARS: Final = 512
MAX_QUANTITY_CHARS: Final = 32


@dataclass(frozen=True, slots=True)
class Lent:
    """What one pod asked for before it lent.

    request: the container's memory request as it was written, which is restored word by word.
    """

    uid: str
    container: str
    request: str
    request_bytes: int


def lent_by(pod: Pod, container: SizedContainer) -> Lent | None:
    """Return what a pod that is about to lend asks for; None if it asks for nothing readable."""
    resources = mapping(container_of(pod, container.index).get("resources"))
    request = mapping(resources.get("requests")).get("memory")
    if not isinstance(request, str) or len(request) > MAX_QUANTITY_CHARS:
        return None
    uid = str(metadata_of(pod).get("uid") or "")
    try:
        return Lent(uid, container.name, request, parse_bytes(request)) if uid else None
    except BadQuantity:
        return None


def lent_to_json(lent: Lent) -> str:
    """Return the annotation's text."""
    document = {"uid": lent.uid, "container": lent.container, "request": lent.request}
    return orjson.dumps(document).decode()


def read_lent(pod: Pod) -> Lent | None:
    """Return what the pod asked for before it lent; None unless Plimsoll could have written it.

    A request above the container's limit was never valid, and one below its present request is no
    loan. A container without a limit does not lend: nothing would bound what people write here.
    """
    text = annotations_of(pod).get(labels.LENT)
    if not isinstance(text, str) or len(text) > MAX_CHARS:
        return None
    container = sized_container(pod)
    if not isinstance(container, SizedContainer):
        return None
    try:
        written = mapping(orjson.loads(text))
        request = written["request"]
        if not isinstance(request, str) or len(request) > MAX_QUANTITY_CHARS:
            return None
        lent = Lent(str(written["uid"]), str(written["container"]), request, parse_bytes(request))
    except (LookupError, ValueError):
        return None
    own = lent.uid == metadata_of(pod).get("uid") and lent.container == container.name
    fits = (container.request_bytes or 0) <= lent.request_bytes <= (container.limit_bytes or 0)
    return lent if own and fits else None


def as_written(pod: Pod) -> Pod:
    """Return the pod with the request that it had before it lent, and without the annotation.

    All parts but lending see pods like this: what a pod asked for is learned, charged and copied,
    never what it kept while it lent. A pod that does not lend comes back as it is.
    """
    if labels.LENT not in annotations_of(pod):
        return pod
    lent = read_lent(pod)
    meta = metadata_of(pod)
    annotations = {k: v for k, v in annotations_of(pod).items() if k != labels.LENT}
    whole = {**pod, "metadata": {**meta, "annotations": annotations}}
    if lent is None:
        return whole
    spec = spec_of(pod)
    containers = [
        with_request(mapping(each), lent.request)
        if mapping(each).get("name") == lent.container
        else each
        for each in sequence(spec.get("containers"))
    ]
    return {**whole, "spec": {**spec, "containers": containers}}


def with_request(container: Mapping[str, Any], request: str) -> dict[str, Any]:
    """Return a container with another memory request."""
    resources = mapping(container.get("resources"))
    requests = {**mapping(resources.get("requests")), "memory": request}
    return {**container, "resources": {**resources, "requests": requests}}


def resize_body(container: str, request: str) -> dict[str, Any]:
    """Return the strategic merge patch of the ``resize`` subresource; the limit is not in it."""
    resources = {"requests": {"memory": request}}
    return {"spec": {"containers": [{"name": container, "resources": resources}]}}
