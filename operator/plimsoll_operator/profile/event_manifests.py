"""Makes the manifests of Events.

An Event's name depends on what happened and not on the time. So a second creation, after a restart
or by a second controller, is an AlreadyExists at the API server and no second Event.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Any, Final

from plimsoll_operator.names.profile_names import MAX_NAME
from plimsoll_operator.wording.event_words import EventReason, Happening, Regarding

CONTROLLER: Final = "plimsoll.dev/controller"
MAX_NOTE: Final = 1024
"""The limit of events.k8s.io/v1, whose "characters" are bytes of UTF-8."""
MAX_INSTANCE: Final = 128
_HASH_DIGITS: Final = 16
_ACTIONS: Final = {
    EventReason.SIZED: "Size",
    EventReason.STEPPED_BACK: "Observe",
    EventReason.LIFTED: "Lift",
    EventReason.RETRIED: "Retry",
    EventReason.NOT_RETRIED: "Observe",
    EventReason.NOT_REPLACED: "Observe",
    EventReason.NOT_LIFTED: "Observe",
    EventReason.LEAKING: "GiveUp",
    EventReason.RESIZED: "Resize",
    EventReason.DRIFTING: "Forget",
    EventReason.CROWDED: "Ignore",
    EventReason.RUNNING_LONG: "Observe",
    EventReason.MENDED: "Mend",
    EventReason.LENT: "Resize",
    EventReason.TAKEN_BACK: "Resize",
    EventReason.RESCUED: "Resize",
    EventReason.NOT_RESCUED: "Observe",
    EventReason.SMALLER_CHUNKS: "Split",
    EventReason.SMALLER_PARTITIONS: "Split",
    EventReason.HELD: "Hold",
    EventReason.RELEASED: "Release",
    EventReason.NOT_RELEASED: "Hold",
    EventReason.LEASED: "Observe",
}
_WARNINGS: Final = frozenset(
    {
        EventReason.LIFTED,
        EventReason.NOT_RETRIED,
        EventReason.NOT_REPLACED,
        EventReason.NOT_LIFTED,
        EventReason.LEAKING,
        EventReason.CROWDED,
        EventReason.RUNNING_LONG,
        EventReason.MENDED,
        EventReason.NOT_RESCUED,
        EventReason.NOT_RELEASED,
        EventReason.SMALLER_CHUNKS,
    }
)
"""Somebody should look at a kill, at a run that was given up and at a run that may hang."""


def event_for(
    happening: Happening, regarding: Regarding, *, at_s: float, instance: str
) -> dict[str, Any]:
    """Return an events.k8s.io/v1 Event.

    at_s: Unix seconds. instance: the name of the pod of the controller that reports it.
    """
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": event_name(happening, regarding),
            "namespace": regarding.namespace,
            "labels": {"app.kubernetes.io/managed-by": "plimsoll"},
        },
        "eventTime": datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": CONTROLLER,
        "reportingInstance": instance[:MAX_INSTANCE] or "plimsoll",
        "action": _ACTIONS[happening.reason],
        "reason": happening.reason.value,
        "type": "Warning" if happening.reason in _WARNINGS else "Normal",
        "note": _cut_to_bytes(happening.note, MAX_NOTE),
        "regarding": {
            "apiVersion": regarding.api_version,
            "kind": regarding.kind,
            "namespace": regarding.namespace,
            "name": regarding.name,
            "uid": regarding.uid,
        },
    }


def event_name(happening: Happening, regarding: Regarding) -> str:
    """Return the object's name and a hash of the happening, as a valid name."""
    identity = "\0".join((regarding.uid, happening.reason.value, happening.key))
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_HASH_DIGITS]
    spelled = re.sub(r"[^a-z0-9.-]+", "-", regarding.name.lower())
    return f"{spelled[: MAX_NAME - _HASH_DIGITS - 1].strip('-.') or 'plimsoll'}.{digest}"


def _cut_to_bytes(text: str, limit: int) -> str:
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    return encoded[: limit - len("…".encode())].decode(errors="ignore") + "…"
