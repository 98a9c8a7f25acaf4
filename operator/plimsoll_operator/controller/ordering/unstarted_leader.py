"""Releases all that wait for their turn while a controller leads that does not get started.

It renews its Lease, so the replicas of admission see that somebody leads, and release nothing. The
queue begins only after the store has answered; a store may hang or refuse for ever.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from plimsoll_operator.kube.api_server import PAGE, ApiServer, Object, path_of
from plimsoll_operator.kube.client import ANSWER_WITHIN_S as PATCH_WITHIN_S
from plimsoll_operator.kube.client import LIST_WITHIN_S
from plimsoll_operator.kube.errors import ApiError, Unreachable
from plimsoll_operator.ordering.namespace_work import NamespaceWork
from plimsoll_operator.ordering.waiting_kinds import JOBS, PODS, WaitingKind
from plimsoll_operator.pods.spec import metadata_of

log = structlog.get_logger()

START_WITHIN_S: Final = 30.0
"""After so long, nobody waits for this controller any more: as long as for a Lease that nobody
renews (``AWAY_S``)."""
LOOK_EVERY_S: Final = 2.0
LIST_EVERY_S: Final = 10.0
ANSWER_WITHIN_S: Final = 5.0
PAGE_WITHIN_S: Final = 3.0
"""The next page of a list waits for the patches of one for this long. They go on meanwhile."""
AT_ONCE: Final = 40
"""Namespaces in which something is released at the same time."""
OF_NAMESPACE: Final = 5
"""Patches in flight in one namespace."""


def is_slow(since_s: float, *, store_is_silent: bool) -> bool:
    """Say whether nobody should wait for a start that began ``since_s`` seconds ago.

    A leader whose store is silent soon steps down. The time until admission releases what waits
    would then begin anew, so nobody waits for that.

    >>> is_slow(29.0, store_is_silent=False), is_slow(30.0, store_is_silent=False)
    (False, True)
    """
    return store_is_silent or since_s >= START_WITHIN_S


@dataclass(slots=True)
class UnstartedLeader:
    """Run it beside a controller's start, and cancel it when the controller has started.

    store_is_silent: whether the store does not answer at present. now_s: on a clock that cannot
    jump.
    """

    api: ApiServer
    store_is_silent: Callable[[], bool]
    now_s: Callable[[], float] = time.monotonic
    _lists: ApiServer = field(init=False)
    """It may take long to list what waits among many pods."""
    _patches: ApiServer = field(init=False)
    _work: Mapping[str, NamespaceWork] = field(init=False)
    """For each kind."""
    _began_s: float = field(init=False)

    def __post_init__(self) -> None:
        """Limit the time of calls, and begin to count."""
        self._lists = self.api.within(LIST_WITHIN_S)
        self._patches = self.api.within(PATCH_WITHIN_S)
        self.api = self.api.within(ANSWER_WITHIN_S)
        self._work = {kind.plural: NamespaceWork(AT_ONCE) for kind in (PODS, JOBS)}
        self._began_s = self.now_s()

    async def run(self) -> None:
        """Look until cancelled."""
        try:
            while True:
                await asyncio.sleep(await self._look_and_pause_s())
        finally:
            for work in self._work.values():
                work.stop()

    async def _look_and_pause_s(self) -> float:
        """Look once, whatever happens, and return how long to pause."""
        try:
            if await self.look():
                return LIST_EVERY_S
        except ApiError as error:
            log.warning("what waits for its turn is not released", error=str(error))
        # An odd object in the cluster must not end the looks.
        except Exception:
            log.exception("what waits for its turn is not released")
        return LOOK_EVERY_S

    async def look(self) -> bool:
        """Release all that wait if the start is slow, and say whether it is. Raises ApiError."""
        since_s = self.now_s() - self._began_s
        if not is_slow(since_s, store_is_silent=self.store_is_silent()):
            return False
        # Both to their ends: one that fails must not leave the other behind, nor keep it back.
        both = (self._release_all(PODS), self._release_jobs())
        for failed in await asyncio.gather(*both, return_exceptions=True):
            if failed is not None:
                raise failed
        return True

    async def _release_jobs(self) -> None:
        # Without the order, a controller has no such right, and a try would be refused.
        if await self.api.may("list", "batch", "jobs"):
            await self._release_all(JOBS)

    async def _release_all(self, kind: WaitingKind) -> None:
        """Release page by page: there may be many, and each may be large."""
        more, work = "", self._work[kind.plural]
        while True:
            query = {**kind.query, "limit": str(PAGE), **({"continue": more} if more else {})}
            page = await self._lists.get(path_of(kind.group, kind.plural), query)
            by_namespace = defaultdict[str, list[Object]](list)
            for each in page.get("items") or []:
                if kind.waits(each):
                    by_namespace[_namespace(each)].append(each)
            works = {
                namespace: partial(self._release_some, kind, some)
                for namespace, some in by_namespace.items()
                if not work.is_busy(namespace)
            }
            await work.run(works, PAGE_WITHIN_S)
            more = (page.get("metadata") or {}).get("continue") or ""
            if not more:
                return

    async def _release_some(self, kind: WaitingKind, some: list[Object]) -> None:
        """Release what waits in one namespace, some at once; no more if one call is unanswered.

        A webhook of that namespace may be down. The others must not wait for it. Each look takes
        another order, so one object without an answer does not keep back the same others for ever.
        """
        random.shuffle(some)
        for at in range(0, len(some), OF_NAMESPACE):
            part = some[at : at + OF_NAMESPACE]
            if not all(await asyncio.gather(*(self._release(kind, each) for each in part))):
                return

    async def _release(self, kind: WaitingKind, held: Object) -> bool:
        """Release one. Return whether the API server answered."""
        namespace, name = _namespace(held), str(metadata_of(held).get("name"))
        path = path_of(kind.group, kind.plural, namespace, name)
        try:
            await self._patches.patch(path, kind.release(held, ()))
        except ApiError as error:
            log.info("not let go", of=kind.plural, name=f"{namespace}/{name}", error=str(error))
            return not isinstance(error, Unreachable)
        log.info(
            "let go", of=kind.plural, name=f"{namespace}/{name}", why="its leader is not started"
        )
        return True


def _namespace(held: Object) -> str:
    return str(metadata_of(held).get("namespace"))
