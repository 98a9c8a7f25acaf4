"""Keeps the parts of a running pod that rescue and lending read, and says what they take.

Anybody who may create pods decides how large they are, up to a megabyte and a half. What makes them
large (scripts, variables, volumes, other people's annotations) is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from plimsoll_operator.names.objects import (
    Pod,
    annotations_of,
    mapping,
    metadata_of,
    sequence,
    spec_of,
)

MOST_CHARS: Final = 4096
"""A longer text in an annotation or a condition is not kept; Plimsoll writes none."""
EACH_BYTES: Final = 4096
"""What is held of any pod beside its parts."""
TIMES: Final = 6
"""So many times the bytes of its JSON a document takes as Python's objects."""
_META: Final = frozenset(
    {
        *("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
        *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "ownerReferences"),
        "finalizers",
    }
)
_UNREAD_SPEC: Final = frozenset(
    {"volumes", "topologySpreadConstraints", "tolerations", "hostAliases", "imagePullSecrets"}
)
_CONTAINERS: Final = ("containers", "initContainers")
_CONTAINER: Final = frozenset({"name", "resources", "resizePolicy", "restartPolicy"})
_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_STATUS: Final = frozenset({"name", "containerID", "resources", "restartCount", "state"})


def running_parts(pod: Pod) -> Pod:
    """Return the pod without what is not read of a running one.

    Its task and its run may not be found in it any more: they can be in a variable.
    """
    meta, spec, status = metadata_of(pod), spec_of(pod), mapping(pod.get("status"))
    return {
        "metadata": {**_only(meta, _META), "annotations": _short(annotations_of(pod))},
        "spec": {
            **{key: value for key, value in spec.items() if key not in _UNREAD_SPEC},
            **{kind: _each(spec[kind], _CONTAINER) for kind in _CONTAINERS if kind in spec},
        },
        "status": {
            "phase": status.get("phase"),
            "conditions": [_short(mapping(each)) for each in sequence(status.get("conditions"))],
            **{kind: _each(status[kind], _STATUS) for kind in _STATUSES if kind in status},
        },
    }


def held_bytes(parts: Pod) -> int:
    """Return about how much memory it takes to hold the parts of a pod."""
    try:
        return EACH_BYTES + TIMES * len(orjson.dumps(parts))
    except TypeError:
        return EACH_BYTES + TIMES * len(str(parts))  # half a character, say


def _only(document: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key in keys}


def _each(documents: object, keys: frozenset[str]) -> list[dict[str, Any]]:
    return [_only(mapping(each), keys) for each in sequence(documents)]


def _short(texts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: text for key, text in texts.items() if not _is_long(text)}


def _is_long(text: object) -> bool:
    return isinstance(text, str) and len(text) > MOST_CHARS
