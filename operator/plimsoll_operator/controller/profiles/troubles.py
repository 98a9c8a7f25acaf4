"""Finds what prevents the controller's work, for the conditions of profiles.

A trouble concerns the whole controller, the cluster's definition of a TaskProfile, or a namespace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import structlog

from plimsoll_operator.controller.hub.hub import Hub, ProfileOutdated
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.permissions import lacking
from plimsoll_operator.profile.facts import Ailment, Degradation
from plimsoll_predictor.store import Writer

log = structlog.get_logger()

LOOK_EVERY_S: Final = 2.0
ASK_EVERY_S: Final = 20.0
UNHEARD_S: Final = 90.0
"""A replica waits less than this for news: after this, none is there, or no news gets through."""
TELL_EVERY_S: Final = 30.0
"""A change of troubles writes every profile; a store that comes and goes must not do it often."""


class Troubles:
    """Looks every few seconds, and publishes when the troubles have changed."""

    def __init__(
        self, kube: Kube, writer: Writer, board: FeedBoard, book: TaskBook, hub: Hub
    ) -> None:
        self._kube = kube
        self._writer = writer
        self._board = board
        self._book = book
        self._hub = hub
        self._dropped: tuple[str, ...] = ()
        """Fields of a status that the API server dropped and has not kept since."""
        self._heard_s: float | None = None
        self._lacking: list[str] = []
        self._unheard = False

    def now(self) -> tuple[Degradation, ...]:
        """List what is wrong everywhere, as far as it is known; the worst comes first."""
        troubles = []
        if self._writer.trouble is not None:
            troubles.append(Degradation(Ailment.STORE, self._writer.trouble))
        troubles += [Degradation(Ailment.FORBIDDEN, words) for words in self._lacking]
        if self._unheard:
            words = (
                "no admission replica asks for news: pods are sized by what each knew last, or not"
                " at all; are they running, and may they reach the controller?"
            )
            troubles.append(Degradation(Ailment.FEED, words))
        return tuple(troubles)

    async def run(self) -> None:
        """Look until cancelled."""
        loop = asyncio.get_running_loop()
        published: tuple[Degradation, ...] = ()
        asked_s = published_s = -ASK_EVERY_S
        self._heard_s = loop.time()
        while True:
            now_s = loop.time()
            if now_s - asked_s >= ASK_EVERY_S:
                asked_s = now_s
                self._lacking = await lacking(self._kube)
            self.listen(now_s)
            troubles = self.now()
            if troubles != published and now_s - published_s >= TELL_EVERY_S:
                published, published_s = troubles, now_s
                log.warning("trouble", found=[f"{each.ailment}: {each.words}" for each in troubles])
                self._hub.publish(ProfileOutdated(None))
            await asyncio.sleep(LOOK_EVERY_S)

    def listen(self, now_s: float) -> None:
        """Note whether a replica waits for news of the feed, or when one did so last."""
        if self._board.readers or self._heard_s is None:
            self._heard_s = now_s
        self._unheard = now_s - self._heard_s > UNHEARD_S

    def compare(self, sent: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
        """Compare a status that was written with the API server's answer.

        Return whether the dropped fields have changed. Only top-level fields are compared, because
        the definition has a schema for each.
        """
        lost = {name for name, value in sent.items() if value is not None and name not in stored}
        before, self._dropped = self._dropped, tuple(sorted({*self._dropped, *lost} - set(stored)))
        if self._dropped == before:
            return False
        if self._dropped:
            log.warning("the definition of TaskProfile is of an older version", lost=self._dropped)
        else:
            log.info("the definition of TaskProfile knows all that is written")
        return True

    def of(self, namespace: str) -> tuple[Degradation, ...]:
        """List all that a profile of the namespace shows, the controller's troubles first."""
        troubles = [*self.now()]
        if self._dropped:
            names = ", ".join(f"status.{name}" for name in self._dropped)
            words = (
                f"the cluster's TaskProfile definition is of an older version and drops {names}:"
                " upgrade it with the chart, or kubectl apply -f deploy/crds"
            )
            troubles.append(Degradation(Ailment.DEFINITIONS, words))
        crowding = self._book.crowding
        if crowding.is_full(namespace):
            words = (
                f"the namespace has {crowding.most_tasks} tasks or more: no new ones are learned;"
                " give runs of one task the same plimsoll.dev/task, and have `plimsoll forget`"
                " forget what is not needed"
            )
            troubles.append(Degradation(Ailment.CROWDED, words))
        return tuple(troubles)
