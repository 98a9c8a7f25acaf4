"""Sends reports to the controller over HTTP, in batches, and again until they are acknowledged.

Runs in a thread of its own, so that a controller that hangs does not stop the sampling.
"""

from __future__ import annotations

import http.client
import json
import random
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

import structlog

from plimsoll_operator.agent.outbox import Outbox
from plimsoll_operator.agent.settings import AgentSettings
from plimsoll_operator.attempts.peaks import PEAKS_PATH, PeakReport
from plimsoll_operator.credentials.token_file import read_token
from plimsoll_predictor.core.documents import to_document

log = structlog.get_logger()

BATCH: Final = 1_000
"""Reports in one request: about 350 kB, a third of what the controller takes."""
TIMEOUT_S: Final = 10.0
LONGEST_PAUSE_S: Final = 5.0


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


Post = Callable[[Sequence[PeakReport]], Reply]


class Controller:
    """The controller's address, reached over one kept-alive connection."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._url = urlsplit(settings.controller_url)
        self._connection: http.client.HTTPConnection | None = None

    def post(self, reports: Sequence[PeakReport]) -> Reply:
        """Send one batch and wait for the answer. A network that fails raises nothing."""
        try:
            status, words = self._request_on_living_connection(reports)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return Reply(Answer.UNREACHED, str(error) or type(error).__name__)
        if 200 <= status < 300:
            return Reply(Answer.TAKEN, words)
        # 401 and 403 are not the reports' fault: the token may be rotated at this moment.
        refused = status in (400, 413, 422)
        return Reply(Answer.REFUSED if refused else Answer.UNREACHED, f"HTTP {status}: {words}")

    def close(self) -> None:
        """Drop the connection; the next request makes a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _request_on_living_connection(self, reports: Sequence[PeakReport]) -> tuple[int, str]:
        reused = self._connection is not None
        try:
            return self._request(reports)
        except (ConnectionError, http.client.RemoteDisconnected):
            if not reused:
                raise
        # A kept-alive connection that the other side closed meanwhile says nothing about it.
        self.close()
        return self._request(reports)

    def _request(self, reports: Sequence[PeakReport]) -> tuple[int, str]:
        token = read_token(self._settings.token_file)
        body = {"node": self._settings.node_name, "reports": to_document(reports)}
        if self._connection is None:
            self._connection = self._connect()
        self._connection.request(
            "POST",
            self._url.path.rstrip("/") + PEAKS_PATH,
            json.dumps(body, separators=(",", ":")).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        response = self._connection.getresponse()
        return response.status, response.read(65_536).decode(errors="replace").strip()[:300]

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme != "https":
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        # Made anew for each connection, so that a renewed CA file is seen.
        trust = ssl.create_default_context(cafile=self._settings.ca_file)
        return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=trust)


def deliver(outbox: Outbox, batch: Sequence[PeakReport], post: Post) -> bool:
    """Send ``batch``; True if every report is settled. A bad report costs no others."""
    reply = post(batch)
    if reply.answer is Answer.UNREACHED:
        log.warning("controller not reached; reports are kept", why=reply.why, kept=len(outbox))
        return False
    if reply.answer is Answer.REFUSED and len(batch) > 1:
        middle = len(batch) // 2
        return all(deliver(outbox, half, post) for half in (batch[:middle], batch[middle:]))
    if reply.answer is Answer.REFUSED:
        log.error(
            "controller refused a report; dropped", why=reply.why, report=to_document(batch[0])
        )
    outbox.acknowledge(batch)
    return True


class Sender:
    """Empties an outbox for as long as it runs."""

    def __init__(self, outbox: Outbox, post: Post, seed: int) -> None:
        """seed: for the jitter, which keeps a cluster's agents from coming back all at once."""
        self._outbox = outbox
        self._post = post
        self._random = random.Random(seed)
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sender", daemon=True)

    def start(self) -> None:
        """Begin sending."""
        self._thread.start()

    def wake(self) -> None:
        """Say that there is something to send."""
        self._news.set()

    def stop(self, wait_s: float) -> None:
        """Try once more to send what is left, then end; wait for that at most ``wait_s``."""
        self._stopping.set()
        self._news.set()
        self._thread.join(wait_s)

    def _run(self) -> None:
        failures = 0
        while True:
            self._news.wait()
            self._news.clear()
            failures = 0 if self._empty_outbox() else failures + 1
            if self._stopping.is_set():
                return
            if failures:
                self._news.set()
                longest_s = min(LONGEST_PAUSE_S, 2.0 ** min(failures - 1, 10))
                self._stopping.wait(longest_s * self._random.uniform(0.5, 1.0))

    def _empty_outbox(self) -> bool:
        while batch := self._outbox.batch(BATCH):
            if not deliver(self._outbox, batch, self._post):
                return False
        return True
