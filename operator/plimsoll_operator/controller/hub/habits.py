"""Habits that the controller's parts share.

Keys that were met are remembered for a while. Works on one key take turns. Reads of the store never
give up, because a lost event is never sent again. Long work lets others run: the lead is renewed on
the same loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import structlog

from plimsoll_predictor.store import StoreError, Writer

log = structlog.get_logger()
P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")

REMEMBERED: Final = 50_000
PODS_KEPT: Final = 50_000
"""Pods that one part knows: the watch may miss an end, so the one known longest is forgotten."""
SEEN_AT_ONCE_S: Final = 30.0
"""What is seen later than this, as after a restart, began beside other pods, under another load."""
READ_PAUSE_S: Final = 1.0
"""A store that cannot be read is asked again after this pause."""
SLICE_S: Final = 0.02
"""Long work holds the event loop for this long at a time."""


class FirstTimes:
    """Keys met lately; those met longest ago are forgotten, and count as new again."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def add(self, key: str) -> bool:
        """Remember the key. Return whether it was new."""
        if key in self._keys:
            return False
        self._keys[key] = None
        if len(self._keys) > REMEMBERED:
            self._keys.popitem(last=False)
        return True

    def discard(self, key: str) -> None:
        """Forget the key."""
        self._keys.pop(key, None)


class KeyedLocks(Generic[K]):
    """A lock for each key, which is there while somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[K, asyncio.Lock] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._locks)

    def of(self, key: K) -> asyncio.Lock:
        """Return the lock of a key."""
        return self._locks.setdefault(key, asyncio.Lock())


class Turns:
    """Lets other tasks run once in a slice; the first slice begins when this is made."""

    def __init__(self) -> None:
        self._since_s = time.monotonic()

    async def rest(self) -> None:
        """Let others run, if the event loop was held for a whole slice."""
        if time.monotonic() - self._since_s > SLICE_S:
            await asyncio.sleep(0)
            self._since_s = time.monotonic()


async def read_patiently(
    writer: Writer, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return what the store's method answers, and wait until the store can be read."""
    while True:
        try:
            return await writer.read(method, *args, **kwargs)
        except StoreError as error:
            log.warning("the store cannot be read, waiting", error=str(error))
            await asyncio.sleep(READ_PAUSE_S)
