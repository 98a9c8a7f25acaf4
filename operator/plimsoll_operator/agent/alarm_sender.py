"""Sends alarms to the controller at once, on a connection and in a thread of their own.

An alarm is useful for a second or two: it is tried once, and never kept. If the agent may raise a
pod by itself, it does so here, and reports that to the controller instead.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from plimsoll_operator.agent.own_raises import OwnRaises, handled
from plimsoll_operator.attempts.alarms import (
    ALARMS_PATH,
    MOST_ALARMS,
    Alarm,
    Alarms,
    AlarmsAnswered,
)
from plimsoll_predictor.core.documents import from_document, to_document

log = structlog.get_logger()

MOST_QUEUED: Final = 256
"""Alarms that wait. While it is full, new ones are dropped; their pods raise the alarm again."""

Send = Callable[[str, object], tuple[int, str]]


@dataclass(frozen=True, slots=True)
class _Rising:
    """The pods that rise now."""

    pods: tuple[str, ...]


class AlarmSender:
    """A thread that posts what it is given, in the order in which it came."""

    def __init__(
        self,
        node: str,
        send: Send,
        pods_used_bytes: Callable[[], int],
        raised: Callable[[Sequence[str], float], object] = lambda *_: None,
        own: OwnRaises | None = None,
    ) -> None:
        """send: posts a body to a path. pods_used_bytes: what all pods of the node use now.

        raised: hears which pods are being raised, and when that was asked (monotonic seconds).
        own: what the agent may raise by itself; None always asks the controller.
        """
        self.own = own
        self._raised = raised
        self._node = node
        self._send = send
        self._pods_used_bytes = pods_used_bytes
        self._queue: queue.Queue[Alarm | _Rising | None] = queue.Queue(MOST_QUEUED)
        self._thread = threading.Thread(target=self._run, name="alarms", daemon=True)
        self._rising: tuple[str, ...] = ()
        self.sent = 0
        self.failed = 0

    def start(self) -> None:
        """Begin sending."""
        self._thread.start()

    def offer(self, alarms: Sequence[Alarm]) -> None:
        """Send these as soon as possible; it does not wait."""
        for alarm in alarms:
            try:
                self._queue.put_nowait(alarm)
            except queue.Full:
                self.failed += 1

    def want(self, rising: Sequence[str]) -> None:
        """Ask in advance for what these pods may be given; it does not wait."""
        if self.own is not None and rising:
            with contextlib.suppress(queue.Full):
                self._queue.put_nowait(_Rising(tuple(rising)))

    def stop(self, wait_s: float) -> None:
        """End the thread after what is queued; wait for that at most ``wait_s``."""
        with contextlib.suppress(queue.Full):
            self._queue.put(None, timeout=wait_s)
        self._thread.join(wait_s)

    def _run(self) -> None:
        while True:
            alarms, following = list[Alarm](), self._queue.get()
            while following is not None:
                if isinstance(following, Alarm):
                    alarms.append(following)
                else:
                    self._rising = following.pods
                if len(alarms) == MOST_ALARMS or self._queue.empty():
                    break
                following = self._queue.get()
            try:
                self._handle(alarms)
            except Exception:
                # The thread must live: without it, no pod of the node is rescued.
                log.exception("alarms not handled", alarms=len(alarms))
            if following is None:
                return

    def _handle(self, alarms: Sequence[Alarm]) -> None:
        left, began_s = alarms, time.monotonic()
        if self.own is None:
            self._post(left)
            return
        raised, left = handled(self.own, alarms, self._pods_used_bytes)
        self._raised(raised, began_s)
        self.sent += len(raised)
        if left and not self.own.has_untold:
            self._post(left)
            self.own.forget()
            left = ()
        self.own.renew(self._rising)
        if self.own.has_untold:
            # A controller that does not know what was raised would count on too much room.
            self.failed += len(left)
        elif left:
            self._post(left)
            self.own.forget()

    def _post(self, alarms: Sequence[Alarm]) -> None:
        if not alarms:
            return
        began_s = time.monotonic()
        try:
            body = Alarms(
                node=self._node, pods_used_bytes=self._pods_used_bytes(), alarms=tuple(alarms)
            )
            status, words = self._send(ALARMS_PATH, to_document(body))
        except (OSError, http.client.HTTPException) as error:
            status, words = 0, str(error) or type(error).__name__
        if 200 <= status < 300:
            self.sent += len(alarms)
            self._raised(_raised_by(words), began_s)
            return
        self.failed += len(alarms)
        log.warning("alarms not taken", status=status, why=words.strip()[:300], alarms=len(alarms))


def _raised_by(words: str) -> Sequence[str]:
    """Read which pods are raised. Unreadable words count as none."""
    try:
        return from_document(AlarmsAnswered, json.loads(words), "the controller's answer").raised
    except (ValueError, RecursionError):
        return ()
