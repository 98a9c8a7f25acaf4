"""Stands by for the lead, but not for ever with a store that is out of reach.

A process reads its settings once. After the database's password was changed, only a new start reads
the new one; a leader whose login is refused starts again by itself, and a standby would wait for
ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, NoReturn

from plimsoll_operator.leadership.election import Fitness
from plimsoll_operator.leadership.watchdog import boot_clock_s

OUT_OF_REACH_S: Final = 900.0
"""A kubelet starts a container again within seconds if it has run for longer than ten minutes."""
LOOK_EVERY_S: Final = 5.0


class StoreOutOfReach(Exception):
    """The store of a standby did not answer for ``OUT_OF_REACH_S``; says why."""


async def stand_by(
    elected: Coroutine[Any, Any, None],
    fitness: Fitness,
    clock_s: Callable[[], float] = boot_clock_s,
    pause_s: float = LOOK_EVERY_S,
) -> None:
    """Return when this controller is elected.

    Raises:
        StoreOutOfReach: if it could not compete for too long.
    """
    electing = asyncio.ensure_future(elected)
    looking = asyncio.ensure_future(_out_of_reach(fitness, clock_s, pause_s))
    try:
        done, _ = await asyncio.wait({electing, looking}, return_when=asyncio.FIRST_COMPLETED)
        (electing if electing in done else looking).result()
    finally:
        electing.cancel()
        looking.cancel()
        await asyncio.gather(electing, looking, return_exceptions=True)


async def _out_of_reach(fitness: Fitness, clock_s: Callable[[], float], pause_s: float) -> NoReturn:
    reached_s = clock_s()
    while True:
        why = fitness.unfit_to_compete()
        if why is None:
            reached_s = clock_s()
        elif clock_s() - reached_s > OUT_OF_REACH_S:
            raise StoreOutOfReach(why)
        await asyncio.sleep(pause_s)
