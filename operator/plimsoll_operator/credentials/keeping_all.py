"""Keeps the leader's objects in the cluster right, with a look every few seconds.

Each thing is independent: if the API server refuses one (RBAC is taken away, a Secret is
immutable), that is logged, counted and tried again, and the others continue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import structlog

from plimsoll_operator.credentials.secrets import mended
from plimsoll_operator.kube.errors import AlreadyThere, ApiError, Changed, NotFound
from plimsoll_operator.kube.own_objects import OwnObjects

log = structlog.get_logger()

LOOK_EVERY_S: Final = 5.0

Look = Callable[[], Awaitable[None]]


class Keeping:
    """Things to keep, by name. troubles: what is wrong, by the thing's name."""

    def __init__(self, things: Mapping[str, Look], after: Callable[[], None]) -> None:
        """after: called after each look at all of them."""
        self._things = dict(things)
        self._after = after
        self.troubles: dict[str, str] = {}

    async def look(self) -> None:
        """Look at each once; never raises, whatever the API server answers or an object holds."""
        for name, look in self._things.items():
            try:
                await look()
            except (Changed, AlreadyThere):
                continue  # someone else was faster; the next look sees the result
            except ApiError as error:
                self._note(name, str(error))
            # Anybody may have written anything into an object; the other things are still kept.
            except Exception as error:
                self._note(name, f"{type(error).__name__}: {error!s:.300}")
            else:
                self._note(name, None)
        self._after()

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await self.look()

    def _note(self, name: str, trouble: str | None) -> None:
        before = self.troubles.pop(name, None)
        if trouble is not None:
            self.troubles[name] = trouble
            if before != trouble:
                log.warning("cannot be kept; looking again", what=name, why=trouble)
        elif before is not None:
            log.info("kept again", what=name)


async def if_there(call: Awaitable[dict[str, Any]]) -> Mapping[str, Any] | None:
    """The object that a call of the API answers; None if there is none."""
    try:
        return await call
    except NotFound:
        return None


async def write_secret(
    objects: OwnObjects,
    body: Mapping[str, Any],
    secret: Mapping[str, Any] | None,
    broken: str | None,
) -> None:
    """Create a Secret or replace it, and say in an Event what was wrong with a broken one.

    body: its manifest. secret: as it was; None if there was none. broken: what was wrong with it;
        None if nothing was.
    """
    if secret is None:
        await objects.create_secret(body)
        return
    await objects.replace_secret(body)
    if broken is not None:
        await objects.tell(mended(secret, broken, time.time(), objects.instance))
