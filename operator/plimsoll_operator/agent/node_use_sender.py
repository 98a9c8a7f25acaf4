"""Sends the newest use of the node to the controller, once peaks have arrived. Nothing is kept.

A controller of an older version answers 404. No answer affects peaks and alarms.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable, Sequence

import structlog

from plimsoll_operator.agent.alarm_sender import Send
from plimsoll_operator.agent.peak_sender import Answer, Post, Reply
from plimsoll_operator.attempts.node_use import NODE_USE_PATH, NodeUse
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_predictor.core.documents import to_document

log = structlog.get_logger()


class NodeUseSender:
    """Holds one use; the sampling thread offers it, the sending thread sends it."""

    def __init__(self, send: Send) -> None:
        """send: posts a body to a path."""
        self._send = send
        self._newest: NodeUse | None = None
        self._taken = True

    def offer(self, use: NodeUse | None) -> None:
        """Send this next, in place of an older one that waits; None is nothing new."""
        if use is not None:
            self._newest = use

    def after(self, post: Post) -> Post:
        """Return a ``post`` that sends the use as well, after reports that were taken."""

        def posted(reports: Sequence[PeakReport]) -> Reply:
            reply = post(reports)
            if reply.answer is Answer.TAKEN:
                self.send_newest()
            return reply

        return posted

    def send_newest(self) -> None:
        """Send the waiting use once: another comes soon. Failures in a row are logged once."""
        use, self._newest = self._newest, None
        if use is None:
            return
        why = _why_not(lambda: self._send(NODE_USE_PATH, to_document(use)))
        if why and self._taken:
            log.info("the controller takes no use of nodes; peaks are not concerned", why=why)
        self._taken = not why


def _why_not(send: Callable[[], tuple[int, str]]) -> str:
    """Return why it was not taken; empty if it was."""
    try:
        status, words = send()
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    return "" if 200 <= status < 300 else f"HTTP {status}: {words.strip()[:300]}"
