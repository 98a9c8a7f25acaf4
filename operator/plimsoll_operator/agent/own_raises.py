"""Raises pods of its node within the controller's grants, and tells the controller at once.

    reads ─► decides by the grant ─► PATCH pods/resize ─► tells what it raised, asks for new grants

All of it is in the thread that sends alarms, one thing after another. So the controller always
knows this node's raises before it decides what no grant allows.
"""

from __future__ import annotations

import http.client
import json
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import structlog

from plimsoll_operator.attempts.alarms import Alarm
from plimsoll_operator.attempts.grants import (
    GRANTS_PATH,
    MOST_ASKED,
    MOST_TOLD,
    AskedGrants,
    Grant,
    Granted,
    OwnRaise,
)
from plimsoll_operator.pods.spec import SizedContainer
from plimsoll_operator.rescue.allowance import Allowance, Spent
from plimsoll_operator.rescue.raising import resize_body_by_uid, with_limit
from plimsoll_predictor.core.documents import from_document, to_document

log = structlog.get_logger()

RENEW_S: Final = 5.0
"""Time between two requests for a grant while its pod rises."""
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"

Send = Callable[[str, object], tuple[int, str]]
Resize = Callable[[str, object], tuple[int, str]]


class OwnRaises:
    """What an agent may raise by itself. Belongs to the thread that sends alarms."""

    def __init__(
        self,
        node: str,
        send: Send,
        resize: Resize,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """send: posts a body to the controller. resize: patches a path of the API server."""
        self._node = node
        self._send = send
        self._resize = resize
        self._now_s = monotonic_s
        self._allowance = Allowance()
        self._untold: deque[OwnRaise] = deque(maxlen=MOST_TOLD)
        self._asked_s: dict[str, float] = {}
        self.results = {"asked": 0, "refused": 0, "failed": 0}
        """How many raises the API server took, refused, and did not answer."""

    @property
    def granted(self) -> frozenset[str]:
        """The pods for which the newest answer had grants that are not used up. Any thread."""
        return self._allowance.pods

    @property
    def has_untold(self) -> bool:
        """Whether the controller does not know of a raise; it must decide nothing until it does."""
        return bool(self._untold)

    def forget(self) -> None:
        """Use no grant that was given before now: the controller may have spent its room."""
        self._allowance.renew((), self._now_s())
        self._asked_s.clear()

    def spend(self, alarm: Alarm, pods_used_bytes: int) -> bool:
        """Raise a pod if it is granted; False if the controller has to decide."""
        spent = self._allowance.spend(alarm, pods_used_bytes, self._now_s())
        if spent is None or not self._is_taken(spent):
            return False
        self._asked_s.pop(alarm.pod_uid, None)
        self._untold.append(
            OwnRaise(
                alarm=alarm,
                limit_bytes=spent.raised.limit_bytes,
                probability=spent.raised.probability,
                raises=spent.grant.raises + 1,
            )
        )
        return True

    def renew(self, rising: Collection[str]) -> None:
        """Report raises, and ask for what rising pods may be given; once, when it is due."""
        now_s = self._now_s()
        self._asked_s = {uid: s for uid, s in self._asked_s.items() if now_s - s < RENEW_S}
        pods = tuple(rising)[:MOST_ASKED]
        if not self._untold and all(uid in self._asked_s for uid in pods):
            return
        asked = AskedGrants(node=self._node, raised=tuple(self._untold), pods=pods)
        answer = self._say(asked)
        self._asked_s = dict.fromkeys(pods, now_s)
        if answer is not None:
            self._allowance.renew(answer.grants, now_s)

    def _say(self, asked: AskedGrants) -> Granted | None:
        try:
            status, words = self._send(GRANTS_PATH, to_document(asked))
        except (OSError, http.client.HTTPException) as error:
            log.info("no grants from the controller", why=str(error) or type(error).__name__)
            return None
        if 200 <= status < 300:
            self._untold.clear()
            return _granted(words)
        if status in (400, 404, 413):
            # Repeating it does not help; an older controller learns of it from the pod's limit.
            self._untold.clear()
        log.info("no grants from the controller", status=status, why=words.strip()[:300])
        return None

    def _is_taken(self, spent: Spent) -> bool:
        """Patch a pod; False if that failed, as far as is known."""
        grant = spent.grant
        path = f"/api/v1/namespaces/{grant.namespace}/pods/{grant.name}/resize"
        try:
            status, words = self._resize(path, _body(grant, spent.raised.limit_bytes))
        except (OSError, http.client.HTTPException) as error:
            # The patch may have worked all the same; the controller then sees the larger limit.
            status, words = 0, str(error) or type(error).__name__
        if 200 <= status < 300:
            self.results["asked"] += 1
            log.info(
                "raised", pod=f"{grant.namespace}/{grant.name}", bytes=spent.raised.limit_bytes
            )
            return True
        self.results["failed" if status in (0, 404, 409, 429) or status >= 500 else "refused"] += 1
        log.warning(
            "raise not taken; the controller is asked",
            pod=f"{grant.namespace}/{grant.name}",
            status=status,
            why=words.strip()[:300],
        )
        return False


def _body(grant: Grant, limit_bytes: int) -> dict[str, Any]:
    container = SizedContainer(0, grant.container, grant.request_bytes, grant.limit_bytes)
    pod = {"metadata": {"uid": grant.pod_uid}}
    return resize_body_by_uid(pod, grant.container, with_limit(container, limit_bytes))


def _granted(words: str) -> Granted:
    """Read an answer. An unreadable one grants nothing."""
    try:
        return from_document(Granted, json.loads(words), "the controller's answer")
    except (ValueError, RecursionError):
        return Granted()


def handled(
    own: OwnRaises, alarms: Sequence[Alarm], pods_used_bytes: Callable[[], int]
) -> tuple[list[str], list[Alarm]]:
    """Return the pods that the agent raised itself, and the alarms that are left to decide."""
    raised, left = list[str](), list[Alarm]()
    for alarm in alarms:
        try:
            used_bytes = pods_used_bytes()
        except OSError:
            left.append(alarm)  # the room is unknown here; the controller may know it
            continue
        if own.spend(alarm, used_bytes):
            raised.append(alarm.pod_uid)
        else:
            left.append(alarm)
    return raised, left
