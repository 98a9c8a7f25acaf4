"""The Event on a Secret that was mended. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from plimsoll_operator.profile.events import CONTROLLER

MENDED: Final = "Mended"
MOST_CHARACTERS: Final = 300


def mended(secret: Mapping[str, Any], why: str, now_s: float, instance: str) -> dict[str, Any]:
    """An events.k8s.io/v1 Event. secret: as it was before, which names its Event: one for each.

    why: what was wrong with it, as a sentence without its subject.
    """
    meta = secret["metadata"]
    told = f"{meta.get('uid')}/{meta.get('resourceVersion')}"
    digest = hashlib.sha256(told.encode()).hexdigest()[:16]
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": f"{meta['name'][:200]}.{digest}",
            "namespace": meta["namespace"],
            "labels": {"app.kubernetes.io/managed-by": "plimsoll"},
        },
        "eventTime": datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": CONTROLLER,
        "reportingInstance": instance[:128],
        "action": "Mend",
        "reason": MENDED,
        "type": "Warning",
        "note": f"Plimsoll wrote this Secret anew: {why}"[:MOST_CHARACTERS],
        "regarding": {
            "apiVersion": "v1",
            "kind": "Secret",
            "namespace": meta["namespace"],
            "name": meta["name"],
            "uid": meta.get("uid", ""),
        },
    }
