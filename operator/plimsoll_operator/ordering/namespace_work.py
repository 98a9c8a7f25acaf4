"""Lets work go on in each namespace by itself: one whose webhook hangs keeps no other waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

Work = Callable[[], Awaitable[None]]


class NamespaceWork:
    """At most one piece of work for each namespace. On one event loop.

    at_once: namespaces whose work goes on at the same time.
    """

    def __init__(self, at_once: int) -> None:
        self._turns = asyncio.Semaphore(at_once)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._failed: list[BaseException] = []

    def is_busy(self, namespace: str) -> bool:
        """Say whether work that was begun there still goes on."""
        return namespace in self._running

    async def run(self, works: Mapping[str, Work], within_s: float) -> None:
        """Begin work in namespaces that are not busy, and wait for it; what takes longer goes on.

        It raises what any work has raised that ended since the last call.
        """
        begun = [self._begin(namespace, work) for namespace, work in works.items()]
        if begun:
            await asyncio.wait(begun, timeout=within_s)
        failed, self._failed = self._failed, []
        if failed:
            raise failed[0]

    def stop(self) -> None:
        """Cancel all that still goes on."""
        for task in self._running.values():
            task.cancel()

    def _begin(self, namespace: str, work: Work) -> asyncio.Task[None]:
        assert namespace not in self._running
        task = asyncio.create_task(self._in_turn(work))
        self._running[namespace] = task
        task.add_done_callback(lambda ended: self._end(namespace, ended))
        return task

    async def _in_turn(self, work: Work) -> None:
        async with self._turns:
            await work()

    def _end(self, namespace: str, task: asyncio.Task[None]) -> None:
        del self._running[namespace]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed.append(error)
