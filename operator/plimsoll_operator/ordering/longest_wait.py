"""How long a pod may wait for its turn: the bound, written on the pod and read from it."""

from __future__ import annotations

from typing import Final

import orjson

from plimsoll_operator.names.labels import HELD
from plimsoll_operator.pods.spec import Pod, annotations_of, mapping, metadata_of
from plimsoll_operator.pods.status import read_time

MOST_WAIT_S: Final = 600.0
"""No pod waits longer for its turn. A cluster autoscaler ignores gated pods, so a new node may
come later by this time."""
WHY: Final = "waits for its turn among tasks that slow each other on a node"
_MOST_CHARS: Final = 512


def note_of_wait(most_s: float = MOST_WAIT_S) -> str:
    """Return the annotation of a held pod."""
    return orjson.dumps({"mostS": round(most_s), "why": WHY}).decode()


def most_wait_s(pod: Pod) -> float:
    """Return how long the pod may be held: the time written on it, MOST_WAIT_S at most."""
    text = annotations_of(pod).get(HELD)
    if not isinstance(text, str) or len(text) > _MOST_CHARS:
        return MOST_WAIT_S
    try:
        most_s = mapping(orjson.loads(text)).get("mostS")
    except ValueError:
        return MOST_WAIT_S
    if isinstance(most_s, bool) or not isinstance(most_s, int | float):
        return MOST_WAIT_S
    return min(MOST_WAIT_S, max(0.0, float(most_s)))


def is_overdue(pod: Pod, now_s: float) -> bool:
    """Say whether the pod was held as long as allowed. now_s: by the API server's clock."""
    created_s = read_time(metadata_of(pod).get("creationTimestamp"))
    return created_s is None or now_s - created_s >= most_wait_s(pod)
