"""Finds pods that are being deleted and do not go: their kubelet is away, and reports no end.

Kubernetes makes the next pod of an index as soon as one is being deleted. The old pod keeps its
leases for its grace period, because it may still work.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from plimsoll_operator.pods.spec import Pod, metadata_of

MARGIN_S: Final = 30.0
"""Added to the grace period: by then, a working kubelet has killed the pod and reported it."""
_USUAL_GRACE_S: Final = 30.0


class LeavingPods:
    """The pods of one Job that are being deleted, by UID, and since when that was seen.

    All times are by the caller's clock, so no two clocks are compared.
    """

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}
        self._given_up: set[str] = set()

    def overdue(self, pods: Iterable[Pod], now_s: float) -> list[Pod]:
        """Return the pods that should have gone long ago, each once.

        pods: all of the Job's.
        """
        leaving = {
            str(metadata.get("uid")): pod
            for pod in pods
            if (metadata := metadata_of(pod)).get("deletionTimestamp") is not None
        }
        self._since_s = {uid: self._since_s.get(uid, now_s) for uid in leaving}
        self._given_up &= leaving.keys()
        late = {
            uid: pod
            for uid, pod in leaving.items()
            if uid not in self._given_up and now_s - self._since_s[uid] >= _grace_s(pod) + MARGIN_S
        }
        self._given_up |= late.keys()
        return list(late.values())


def _grace_s(pod: Pod) -> float:
    told = metadata_of(pod).get("deletionGracePeriodSeconds")
    return float(told) if isinstance(told, int) and told >= 0 else _USUAL_GRACE_S
