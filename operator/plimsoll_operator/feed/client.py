"""Admission's side of the feed: asks the controller for changes for as long as it runs."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
import structlog

from plimsoll_operator.credentials.token_file import read_token
from plimsoll_operator.feed.applying import OF_THE_MOMENT, BadEntry, apply, steps
from plimsoll_operator.feed.wire import (
    FEED_PATH,
    VERSION,
    BadMessage,
    FeedMessage,
    Reader,
    decode_message,
)
from plimsoll_operator.sizing.state import AdmissionState

log = structlog.get_logger()

WAIT_S: Final = 5.0
"""How long the controller may hold a question: it answers this often, even without news. If it
vanishes and no connection ends, as when its node loses power, only an overdue answer shows it."""
ANSWER_WITHIN_S: Final = 15.0
"""A question is given up if nothing of its answer comes for so long after it was due. A large and
slow answer may take longer in all."""
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 5.0
UNANSWERED: Final = "unanswered"
"""The word for a question that the controller did not answer."""


class FeedError(Exception):
    """The controller did not answer as it should; it is asked again after a pause."""


@dataclass(frozen=True, slots=True)
class FeedSource:
    """The feed's address. token_file is read for every question, so that it may be rotated.

    ssl_context: for an https feed; None trusts the system's certificates.
    """

    url: str
    token_file: Path
    ssl_context: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """How far the feed was read; epoch None is the beginning."""

    epoch: str | None = None
    revision: int = 0


@dataclass(slots=True)
class FeedClient:
    """Keeps ``state`` up to date.

    heard: called after each answer, once all that the controller says is in use: in the middle of
    a full answer, ``state`` is still the one before, perhaps that of a controller that is gone.
    failed: called with one word for each failure. asked: called before each question, with the
    seconds within which its answer is due.
    """

    source: FeedSource
    state: AdmissionState
    heard: Callable[[], None]
    failed: Callable[[str], None]
    jitter: random.Random
    asked: Callable[[float], None] = lambda _: None
    reader: Reader = Reader.ADMISSION
    wait_s: float = WAIT_S
    """How long the controller may wait for news: it is heard at least as often."""
    position: Position = Position()
    token: str | None = None
    """The newest token that was read; None before the first question."""
    changes: int = 0
    """How many messages changed the state; the keeper of its copy compares it."""
    _staged: AdmissionState | None = field(default=None, init=False)
    _failures: int = field(default=0, init=False)
    _answered: bool = field(default=False, init=False)
    """Whether the controller has answered since the start or the last failure."""

    @property
    def settled(self) -> bool:
        """Whether ``state`` is at ``position``, and not in the middle of a full answer."""
        return self._staged is None

    async def run(self) -> None:
        """Ask until cancelled. Nothing that the controller answers ends it."""
        timeout = aiohttp.ClientTimeout(
            total=None, connect=ANSWER_WITHIN_S, sock_read=self.wait_s + ANSWER_WITHIN_S
        )
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                try:
                    await self.ask(session)
                except (aiohttp.ClientError, OSError, TimeoutError, FeedError, BadMessage) as error:
                    await self._pause(error)
                else:
                    self._failures = 0

    async def ask(self, session: aiohttp.ClientSession) -> None:
        """Ask one question, and apply its answer."""
        # Until the controller is heard, sizes are not lowered: so it must answer without waiting.
        wait_s = self.wait_s if self._answered else 0.0
        self.asked(wait_s)
        query = {"since": str(self.position.revision), "wait_s": str(wait_s), "v": str(VERSION)}
        if self.reader is not Reader.ADMISSION:
            query["reader"] = self.reader.value
        if self.position.epoch is not None:
            query["epoch"] = self.position.epoch
        token = self.token = await asyncio.to_thread(read_token, self.source.token_file)
        async with session.get(
            f"{self.source.url.rstrip('/')}{FEED_PATH}",
            params=query,
            headers={"Authorization": f"Bearer {token}"},
            allow_redirects=False,
            ssl=self.source.ssl_context or True,
        ) as response:
            if response.status != 200:
                raise FeedError(f"the controller answered {response.status} {response.reason}")
            message = decode_message(await response.read())
        await self.take(message)
        self._answered = True
        if self.settled:
            self.heard()

    async def take(self, message: FeedMessage) -> None:
        """Apply one message.

        A full one goes to a state of its own until it is complete: meanwhile pods are sized by the
        old state, not by half of the new one. What cannot be read of policies is as it was before.
        """
        if message.full:
            self._staged = _with_defaults_of(self.state)
        target = self.state if self._staged is None else self._staged
        changed = message.full
        for kind, name, data in steps(message):
            # These change each second, and are as old in the copy on disk as all the rest of it.
            changed = changed or kind not in OF_THE_MOMENT
            try:
                apply(target, kind, name, data)
            except BadEntry as error:
                self.failed("bad-entry")
                log.warning("feed-entry-ignored", error=str(error))
            # A waiting pod is answered here: decoding a model takes a millisecond.
            await asyncio.sleep(0)
        if self._staged is not None and message.revision == message.head:
            self.state.replace(self._staged)
            self._staged = None
        self.position = Position(message.epoch, message.revision)
        self.changes += changed

    async def _pause(self, error: Exception) -> None:
        if self._staged is not None:
            # Half a state is dropped after a failure: another controller may answer next.
            self._staged = None
            self.position = Position()
        self._answered = False
        self.failed(UNANSWERED)
        self._failures += 1
        longest_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(self._failures - 1, 10))
        pause_s = self.jitter.uniform(longest_s / 2, longest_s)
        log.warning(
            "feed-unanswered", error=f"{error!r:.300}", failures=self._failures, pause_s=pause_s
        )
        await asyncio.sleep(pause_s)


def _with_defaults_of(known: AdmissionState) -> AdmissionState:
    """Return a state that holds nothing but the cluster's defaults, as they are known."""
    return AdmissionState(
        default_policy=known.default_policy,
        nodes=known.nodes,
        paused=known.paused,
        unhealed=known.unhealed,
    )
