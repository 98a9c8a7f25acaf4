"""Tells admission while a killed run would not be lifted.

A kill teaches the next attempt's size in three steps: the observation is committed, then the lift,
then the feed brings it. While the store cannot be written, the first two wait. After the start, the
controller may not have seen the kill yet; after the end of its watch, it sees none. So no size is
lowered meanwhile, neither by admission nor here while pods wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_predictor.store import Writer

log = structlog.get_logger()

LOOK_EVERY_S: Final = 1.0
UNSEEN_EVERY_S: Final = 0.1
"""Until all pods were seen, it looks more often: sizes are lowered as soon as they were."""
HANGS_AFTER_S: Final = 30.0
"""A write that takes longer hangs, as on a disk or a connection that is gone without an error."""
STORE: Final = "the controller's store cannot be written"
"""It leaves out the store's own words: they change, and the feed would tell each change."""
UNSEEN: Final = "the controller has not seen all pods since its start"
ENDING: Final = "the controller is about to end, and sees no pods any more"


def is_stuck(writer: Writer) -> bool:
    """Say whether the store cannot be written."""
    return writer.trouble is not None or writer.busy_s > HANGS_AFTER_S


class HealingWatch:
    """Looks now and then at what a lift needs, and publishes each change."""

    def __init__(
        self, writer: Writer, bounds: ClusterBounds, has_seen_all: Callable[[], bool]
    ) -> None:
        """has_seen_all: whether the pods that there were at the start were handled."""
        self._writer = writer
        self._bounds = bounds
        self._has_seen_all = has_seen_all
        self._ended = False
        self.begun = asyncio.Event()
        """Set once all pods were seen."""

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_EVERY_S if self.begun.is_set() else UNSEEN_EVERY_S)

    def end(self) -> None:
        """Say that nobody heals any more: the watch has ended."""
        self._ended = True
        self.look()

    def look(self) -> None:
        """Look once."""
        if self._has_seen_all():
            self.begun.set()
        why = self._why()
        if why == self._bounds.unhealed:
            return
        self._bounds.set_unhealed(why)
        if why is None:
            log.info("sizes are lowered again")
        elif why == STORE:
            log.warning("sizes are raised only, not lowered", why=why, store=self._writer.trouble)
        else:
            log.info("sizes are raised only, not lowered", why=why)

    def _why(self) -> str | None:
        if self._ended:
            return ENDING
        if is_stuck(self._writer):
            return STORE
        return None if self.begun.is_set() else UNSEEN
