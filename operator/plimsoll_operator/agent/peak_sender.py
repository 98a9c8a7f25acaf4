"""Sends reports to the controller over HTTP, in batches, and again until they are acknowledged.

Runs in a thread of its own, so that a controller that hangs does not stop the sampling.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import structlog

from plimsoll_operator.agent.connection import Connection, Server
from plimsoll_operator.agent.outbox import Outbox
from plimsoll_operator.agent.settings import AgentSettings
from plimsoll_operator.attempts.peaks import PEAKS_PATH, Answered, PeakReport
from plimsoll_predictor.core.documents import from_document, to_document

log = structlog.get_logger()

BATCH: Final = 1_000
"""Reports in one request: about 420 kB, two fifths of what the controller takes."""
TIMEOUT_S: Final = 10.0
EVERY_S: Final = 1.0
"""Batches follow each other sooner only where more than one is waiting, as after an outage."""
LONGEST_PAUSE_S: Final = 5.0
BEAT_S: Final = 5.0
"""An agent with nothing to report says this often that it lives; 150 bytes."""


class Answer(StrEnum):
    """The controller's answer to a batch."""

    TAKEN = "taken"
    REFUSED = "refused"
    """It says that the reports themselves are wrong: sending them again will not help."""
    UNREACHED = "unreached"
    """It did not answer, or not now: keep them."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with its reason in words."""

    answer: Answer
    why: str
    answered: Answered = field(default_factory=Answered)


Post = Callable[[Sequence[PeakReport]], Reply]


class Controller:
    """The controller's address, reached over one kept-alive connection."""

    def __init__(self, settings: AgentSettings) -> None:
        self._node = settings.node_name
        self._connection = Connection(
            Server(settings.controller_url, settings.token_file, settings.ca_file, TIMEOUT_S)
        )

    def post(self, reports: Sequence[PeakReport]) -> Reply:
        """Send one batch and wait for the answer. A network that fails raises nothing."""
        body = {"node": self._node, "reports": to_document(reports)}
        try:
            status, words = self.send(PEAKS_PATH, body)
        except (OSError, http.client.HTTPException) as error:
            return Reply(Answer.UNREACHED, str(error) or type(error).__name__)
        if 200 <= status < 300:
            return Reply(Answer.TAKEN, "", _answered(words))
        # 401 and 403 are not the reports' fault: the token may be rotated at this moment.
        answer = Answer.REFUSED if status in (400, 413, 422) else Answer.UNREACHED
        return Reply(answer, f"HTTP {status}: {words.strip()[:300]}")

    def send(self, path: str, body: object) -> tuple[int, str]:
        """Post one JSON body and return the status and the words of the answer.

        Raises:
            OSError, http.client.HTTPException: if the network fails.

        """
        return self._connection.send("POST", path, body)

    def close(self) -> None:
        """Drop the connection; the next request makes a new one."""
        self._connection.close()


def _answered(words: str) -> Answered:
    """Read an answer. An unreadable one says nothing, like that of an older controller."""
    if not words:
        return Answered()
    try:
        return from_document(Answered, json.loads(words), "the controller's answer")
    except (ValueError, RecursionError):
        return Answered()


def deliver(
    outbox: Outbox,
    batch: Sequence[PeakReport],
    post: Post,
    learn: Callable[[Answered], None] = lambda _: None,
) -> bool:
    """Send ``batch``; True if every report is settled. A bad report costs no others.

    learn: hears what the controller knows.
    """
    reply = post(batch)
    if reply.answer is Answer.UNREACHED:
        log.warning("controller not reached; reports are kept", why=reply.why, kept=len(outbox))
        return False
    if reply.answer is Answer.REFUSED and len(batch) > 1:
        middle = len(batch) // 2
        halves = (batch[:middle], batch[middle:])
        return all(deliver(outbox, half, post, learn) for half in halves)
    if reply.answer is Answer.REFUSED:
        log.error(
            "controller refused a report; dropped", why=reply.why, report=to_document(batch[0])
        )
        outbox.drop(batch[0])
        return True
    if reply.answered.controller:
        learn(reply.answered)
    outbox.acknowledge(batch)
    return True


class Sender:
    """Empties an outbox for as long as it runs."""

    def __init__(
        self, outbox: Outbox, post: Post, seed: int, learn: Callable[[Answered], None] | None = None
    ) -> None:
        """seed: for the jitter, which keeps a cluster's agents from coming back all at once.

        learn: hears what the controller knows.
        """
        self._learn = learn or (lambda _: None)
        self._outbox = outbox
        self._post = post
        self._random = random.Random(seed)
        self._news = threading.Event()
        self._beat = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sender", daemon=True)

    def start(self) -> None:
        """Begin sending."""
        self._thread.start()

    def wake(self) -> None:
        """Say that there is something to send."""
        self._news.set()

    def beat(self) -> None:
        """Say that the node is measured, even if there is nothing to report."""
        self._beat.set()
        self._news.set()

    def stop(self, wait_s: float) -> None:
        """Try once more to send what is left, then end; wait for that at most ``wait_s``."""
        self._stopping.set()
        self._news.set()
        self._thread.join(wait_s)

    def _run(self) -> None:
        failures, due_s = 0, time.monotonic()
        while True:
            self._news.wait()
            self._news.clear()
            failures = 0 if self._sent_all() else failures + 1
            if self._stopping.is_set():
                return
            if failures:
                self._news.set()
                longest_s = min(LONGEST_PAUSE_S, 2.0 ** min(failures - 1, 10))
                self._stopping.wait(longest_s * self._random.uniform(0.5, 1.0))
            else:
                # Counted from the time that was due, to keep step with the readings.
                due_s = max(due_s + EVERY_S, time.monotonic())
                self._stopping.wait(due_s - time.monotonic())

    def _sent_all(self) -> bool:
        try:
            return self._empty_outbox()
        except Exception:
            # The thread must live: without it, no run of the node teaches a need.
            log.exception("reports not sent; they are kept", kept=len(self._outbox))
            return False

    def _empty_outbox(self) -> bool:
        beats = self._beat.is_set()
        self._beat.clear()
        while batch := self._outbox.batch(BATCH):
            if not deliver(self._outbox, batch, self._post, self._learn):
                return False
            beats = False
        if beats:
            # An older controller accepts a body without reports, too. If it cannot be reached
            # now, the next beat may reach it.
            reply = self._post([])
            if reply.answered.controller:
                self._learn(reply.answered)
        return True
