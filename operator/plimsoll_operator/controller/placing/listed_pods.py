"""Lists the pods that there are at the controller's start, to know when the watch has shown them.

Only names and labels are read. A pod that goes before the watch lists it comes with no event, so
the list is read again until all of its pods were handled.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import structlog

from plimsoll_operator.controller.placing.first_list import FirstList
from plimsoll_operator.controller.tasks.missed_deletions import PODS, QUERIES
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import ApiError

log = structlog.get_logger()

FIRST_WITHIN_S: Final = 2.0
"""A start waits no longer for the first list: the feed is more urgent."""
LIST_EVERY_S: Final = 3.0
SHARE: Final = 0.1
"""Lists take at most this share of the time."""


@dataclass(slots=True)
class ListedPods:
    """Reads the list, and tells ``first_list`` what it has."""

    api: ApiServer
    first_list: FirstList
    _pause_s: float = field(default=0.0, init=False)

    async def begin(self) -> None:
        """Wait for all pods from now on. The list is read once, unless that takes too long."""
        self.first_list.begin()
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_WITHIN_S):
                await self.look()

    async def run(self) -> None:
        """Read the list until all of its pods were handled, then do nothing."""
        while True:
            await asyncio.sleep(self._pause_s)
            if self.first_list.handled:
                break
            await self.look()
        await asyncio.Event().wait()  # the controller begins again what ends

    async def look(self) -> None:
        """Read the list once. Without it, only time shows who was seen."""
        began_s = time.monotonic()
        try:
            names = await self.api.names(PODS, QUERIES[PODS])
        except ApiError as error:
            log.warning("a list cannot be read", path=PODS, error=str(error))
        else:
            self.first_list.expect(names.keys())
        self._pause_s = max(LIST_EVERY_S, (time.monotonic() - began_s) / SHARE)
