"""Keeps the parts of a running pod that rescue and lending read, and says what they take.

Anybody who may create pods decides how large they are, up to a megabyte and a half. What makes them
large (scripts, variables, volumes, other people's annotations) is not kept.
"""

from __future__ import annotations

import json
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
from plimsoll_operator.pods.other_namespaces import REQUIRED, reaches_other_namespaces

MOST_CHARS: Final = 4096
"""A longer text in an annotation or a condition is not kept; Plimsoll writes none."""
EACH_BYTES: Final = 4096
"""What is held of any pod beside its parts."""
WIDE: Final = 4
"""So many times its bytes a text takes with one wide character, which makes all others wide."""
_TAKEN_BYTES: Final = {b"{": 112, b"[": 96, b'"': 28, b":": 40, b",": 32}
"""What Python's objects take, at most, for each of JSON's signs: half a text for a quote, say."""
_META: Final = frozenset(
    {
        *("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
        *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "ownerReferences"),
        "finalizers",
    }
)
_UNREAD_SPEC: Final = frozenset(
    {
        *("volumes", "topologySpreadConstraints", "tolerations", "hostAliases"),
        *("imagePullSecrets", "affinity", "ephemeralContainers"),
    }
)
_REACHING: Final[Mapping[str, Any]] = {"podAffinity": {REQUIRED: [{"namespaceSelector": {}}]}}
"""Stands for any affinity that reaches other namespaces: quotas ask for no more."""
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
            **({"affinity": _REACHING} if reaches_other_namespaces(spec) else {}),
            **{kind: _each(spec[kind], _CONTAINER) for kind in _CONTAINERS if kind in spec},
        },
        "status": {
            "phase": status.get("phase"),
            "conditions": [_short(mapping(each)) for each in sequence(status.get("conditions"))],
            **{kind: _each(status[kind], _STATUS) for kind in _STATUSES if kind in status},
        },
    }


def held_bytes(parts: Pod) -> int:
    """Return how much memory it takes at most, or nearly so, to hold the parts of a pod."""
    try:
        text = orjson.dumps(parts)
    except TypeError:
        text = json.dumps(parts, default=str).encode()  # half a character, say
    signs = text.replace(b'\\"', b"")  # a text may hold JSON, as most annotations do
    signs_bytes = sum(each * signs.count(sign) for sign, each in _TAKEN_BYTES.items())
    return EACH_BYTES + len(text) * (1 if text.isascii() else WIDE) + signs_bytes


def _only(document: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key in keys}


def _each(documents: object, keys: frozenset[str]) -> list[dict[str, Any]]:
    return [_only(mapping(each), keys) for each in sequence(documents)]


def _short(texts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: text for key, text in texts.items() if not _is_long(text)}


def _is_long(text: object) -> bool:
    return isinstance(text, str) and len(text) > MOST_CHARS
