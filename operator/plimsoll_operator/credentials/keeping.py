"""Keeps right in the cluster what the leader is responsible for, with a look every few seconds.

Each thing stands alone: if the API server refuses one (RBAC is taken away, a Secret is immutable),
that is logged, counted and tried again, and the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog

from plimsoll_operator.kube.errors import AlreadyThere, ApiError, Changed

log = structlog.get_logger()

LOOK_EVERY_S: Final = 5.0

Look = Callable[[], Awaitable[None]]


class Keeping:
    """Things to keep, by name. ``troubles`` says what is wrong with which."""

    def __init__(self, things: Mapping[str, Look], after: Callable[[], None]) -> None:
        """after: called after each look at all of them."""
        self._things = dict(things)
        self._after = after
        self.troubles: dict[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the things to keep."""
        return tuple(self._things)

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
        before = self.troubles.get(name)
        if trouble is None:
            if self.troubles.pop(name, None) is not None:
                log.info("kept again", what=name)
        else:
            self.troubles[name] = trouble
            if before != trouble:
                log.warning("cannot be kept; looking again", what=name, why=trouble)
