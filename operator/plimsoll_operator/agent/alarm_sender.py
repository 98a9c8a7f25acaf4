"""Sends alarms to the controller at once, on a connection and in a thread of their own.

An alarm is worth something for a second or two: it is tried once, and never kept.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import structlog

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
"""Alarms that wait; the oldest goes first. Those that do not fit are said again a second later."""

Send = Callable[[str, object], tuple[int, str]]


class AlarmSender:
    """A thread that posts what it is given, in the order in which it came."""

    def __init__(
        self,
        node: str,
        send: Send,
        pods_used_bytes: Callable[[], int],
        raised: Callable[[Sequence[str], float], object] = lambda *_: None,
    ) -> None:
        """send: posts a body to a path. pods_used_bytes: what all pods of the node use now.

        raised: hears which pods the controller raises, and when it was asked (monotonic seconds).
        """
        self._raised = raised
        self._node = node
        self._send = send
        self._pods_used_bytes = pods_used_bytes
        self._queue: queue.Queue[Alarm | None] = queue.Queue(MOST_QUEUED)
        self._thread = threading.Thread(target=self._run, name="alarms", daemon=True)
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

    def stop(self, wait_s: float) -> None:
        """End the thread after what is queued; wait for that at most ``wait_s``."""
        with contextlib.suppress(queue.Full):
            self._queue.put(None, timeout=wait_s)
        self._thread.join(wait_s)

    def _run(self) -> None:
        while True:
            alarms, following = list[Alarm](), self._queue.get()
            while following is not None:
                alarms.append(following)
                if len(alarms) == MOST_ALARMS or self._queue.empty():
                    break
                following = self._queue.get()
            if alarms:
                self._post(alarms)
            if following is None:
                return

    def _post(self, alarms: Sequence[Alarm]) -> None:
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
    """Read which pods are raised. What cannot be read says nothing."""
    try:
        return from_document(AlarmsAnswered, json.loads(words), "the controller's answer").raised
    except (ValueError, RecursionError):
        return ()
