"""Bounds the calls for retries and replacements, which share the controller's 100 connections.

A webhook that hangs holds each creation of a pod in its namespace for ten seconds or more. Without
a bound, a few hundred killed pods of one namespace would take all connections, and rescues,
returns of lent memory and releases of all others would wait behind them.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

AT_ONCE: Final = 40
"""Of one kind. Retries and replacements together leave connections to all else."""
OF_A_NAMESPACE: Final = 10
"""So that several namespaces whose webhooks hang leave turns to the others."""
_SPREAD: Final = 0.25


@dataclass(slots=True)
class CallsInTurn:
    """Turns of one event loop; each is for a few calls, one after the other."""

    at_once: int = AT_ONCE
    _all: asyncio.Semaphore = field(init=False)
    _of_namespaces: WeakValueDictionary[str, asyncio.Semaphore] = field(
        init=False, default_factory=WeakValueDictionary
    )

    def __post_init__(self) -> None:
        """Make the turns that all namespaces share."""
        self._all = asyncio.Semaphore(self.at_once)

    @asynccontextmanager
    async def of(self, namespace: str) -> AsyncIterator[None]:
        """Wait for a turn of a namespace, and then for one of all."""
        fresh = asyncio.Semaphore(OF_A_NAMESPACE)
        own = self._of_namespaces.setdefault(namespace, fresh)
        async with own, self._all:
            yield


def spread(pause_s: float) -> float:
    """Return a pause that differs a little, so that those who failed together come back apart."""
    return pause_s * random.uniform(1 - _SPREAD, 1 + _SPREAD)
