"""Tells admission while a killed run would not be lifted.

A kill teaches the next attempt's size in three steps: the observation is committed, then the lift,
then the feed brings it. While the store cannot be written, the first two wait. So no size is
lowered meanwhile, neither by admission nor here while pods wait.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_predictor.store import Writer

log = structlog.get_logger()

LOOK_EVERY_S: Final = 1.0
HANGS_AFTER_S: Final = 30.0
"""A write that takes longer hangs, as on a disk or a connection that is gone without an error."""
STORE: Final = "the controller's store cannot be written"
"""It leaves out the store's own words: they change, and the feed would tell each change."""


class Healing:
    """Looks at the store's writer every second, and publishes each change."""

    def __init__(self, writer: Writer, bounds: ClusterBounds) -> None:
        self._writer = writer
        self._bounds = bounds

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_EVERY_S)

    def look(self) -> None:
        """Look once."""
        stuck = self._writer.trouble is not None or self._writer.busy_s > HANGS_AFTER_S
        why = STORE if stuck else None
        if why == self._bounds.unhealed:
            return
        self._bounds.set_unhealed(why)
        if why is None:
            log.info("sizes are lowered again")
        else:
            log.warning("sizes are raised only, not lowered", why=why, store=self._writer.trouble)
