"""What keeps the whole controller from its work, gathered for every profile's conditions."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from plimsoll_operator.controller.hub.hub import Hub, TroublesChanged
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.permissions import lacking
from plimsoll_operator.profile.facts import Ailment, Trouble
from plimsoll_predictor.store import Writer

log = structlog.get_logger()

LOOK_EVERY_S: Final = 2.0
ASK_EVERY_S: Final = 20.0
UNHEARD_S: Final = 90.0
"""Longer than a replica waits for news: then none is there, or none gets through."""
TELL_EVERY_S: Final = 30.0
"""Every profile is written when this changes: a store that comes and goes must not do it often."""


class Troubles:
    """Looks every few seconds, and publishes when other trouble is found."""

    def __init__(self, kube: Kube, writer: Writer, board: FeedBoard, hub: Hub) -> None:
        self._kube = kube
        self._writer = writer
        self._board = board
        self._hub = hub
        self._heard_s: float | None = None
        self._lacking: list[str] = []
        self._unheard = False

    def now(self) -> tuple[Trouble, ...]:
        """What is wrong, as far as it is known; the worst first."""
        found = []
        if self._writer.trouble is not None:
            found.append(Trouble(Ailment.STORE, self._writer.trouble))
        found += [Trouble(Ailment.FORBIDDEN, words) for words in self._lacking]
        if self._unheard:
            words = (
                "no admission replica asks for news: pods are sized by what each knew last, or not"
                " at all; are they running, and may they reach the controller?"
            )
            found.append(Trouble(Ailment.FEED, words))
        return tuple(found)

    async def run(self) -> None:
        """Look until cancelled."""
        loop = asyncio.get_running_loop()
        published: tuple[Trouble, ...] = ()
        asked_s = published_s = -ASK_EVERY_S
        self._heard_s = loop.time()
        while True:
            now_s = loop.time()
            if now_s - asked_s >= ASK_EVERY_S:
                asked_s = now_s
                self._lacking = await lacking(self._kube)
            self._listen(now_s)
            found = self.now()
            if found != published and now_s - published_s >= TELL_EVERY_S:
                published, published_s = found, now_s
                log.warning("trouble", found=[f"{each.ailment}: {each.words}" for each in found])
                self._hub.publish(TroublesChanged())
            await asyncio.sleep(LOOK_EVERY_S)

    def _listen(self, now_s: float) -> None:
        if self._board.readers or self._heard_s is None:
            self._heard_s = now_s
        self._unheard = now_s - self._heard_s > UNHEARD_S
