"""Answers for the page. A few threads read and draw them, and each is kept for some seconds.

Anybody who can reach the page may request it as often as they like, and the controller's own work
must not suffer.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from plimsoll_operator.views.campaign_facts import NoSuchCampaign, gather_campaign
from plimsoll_operator.views.splitting_facts import AskedJob, leased_facts, splitting_facts
from plimsoll_operator.web.page.index import TaskIndex
from plimsoll_operator.web.page.learned_placing import LearnedPlacing
from plimsoll_operator.web.page.listing import list_tasks
from plimsoll_operator.web.page.placing_section import neighbours_part, placing_part
from plimsoll_operator.web.page.query import Query
from plimsoll_operator.web.page.rendering import (
    IndexBeside,
    TaskBeside,
    Trouble,
    make_ready,
    render_campaign,
    render_index,
    render_task,
    render_trouble,
)
from plimsoll_operator.web.page.rows import Live
from plimsoll_operator.web.page.splitting_section import leased_part, splitting_part
from plimsoll_operator.web.page.task_page import NoSuchTask, TaskQuery, gather_page
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, StoreError

log: Final = logging.getLogger(__name__)

THREADS: Final = 2
MOST_WAITING: Final = 32
PATIENCE_S: Final = 10.0
"""A database that hangs must not keep a reader waiting for ever."""
KEPT_S: Final = 3.0
MOST_KEPT: Final = 16
"""The most pages that are kept; a task's page is about 300 KB."""
_RETRY: Final = "Reload the page in a few seconds."

Draw = Callable[[], str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Served:
    """One answer. etag: None for an answer that must not be cached."""

    status: int
    body: bytes
    etag: str | None = None


class Pages:
    """The served pages. Make it on the event loop that uses it.

    clock: seconds that never go back. now: Unix seconds, for the forecast of runs.
    """

    def __init__(
        self,
        store: Store,
        live: Live,
        clock: Callable[[], float],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._live = live
        self._clock = clock
        self._now = now
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="plimsoll-page")
        self._refreshing = ThreadPoolExecutor(1, thread_name_prefix="plimsoll-page-index")
        self._index = TaskIndex(store, live, self._later, clock)
        self._placing = LearnedPlacing(store, self._later, clock)
        self._cached: OrderedDict[object, tuple[float, Served]] = OrderedDict()
        self._drawing: dict[object, asyncio.Task[Served]] = {}

    def warm(self) -> None:
        """Read the index and compile the templates, so that the first reader does not wait."""
        self._later(self._index.refresh)
        self._later(self._placing.refresh)
        self._threads.submit(make_ready)

    async def index(self, query: Query) -> Served:
        """The index."""

        def draw() -> str:
            listing, live = list_tasks(self._index.rows(), query), self._live
            elsewhere = query.narrowed or query.page > 1
            beside = IndexBeside(
                paused=live.paused,
                lending=live.lending,
                trainings=live.trainings,
                placing=None if elsewhere else placing_part(self._placing.facts()),
                campaigns=() if elsewhere else self._index.campaigns(),
            )
            return render_index(listing, beside)

        return await self._answer(query, draw, home="./")

    async def task(self, query: TaskQuery) -> Served:
        """One task's page."""

        def draw() -> str:
            page, task = gather_page(self._store, self._live, query, self._now()), query.task
            # The same weight as for cutting and leasing its Jobs, and as in its status.
            asked = AskedJob(memory_weight=self._live.task(task).policy.memory_weight)
            beside = TaskBeside(
                paused=self._live.paused,
                neighbours=neighbours_part(self._placing.facts(), task),
                leases=_drawn_or_none(
                    lambda: leased_part(leased_facts(self._store, task, asked)), task
                ),
                splitting=_drawn_or_none(
                    lambda: splitting_part(splitting_facts(self._store, task, asked)), task
                ),
            )
            return render_task(page, beside)

        return await self._answer(query, draw, home="../../")

    async def campaign(self, named: TaskId) -> Served:
        """One campaign's page. named: its namespace and name."""

        def draw() -> str:
            return render_campaign(gather_campaign(self._store, named, self._now()))

        return await self._answer(("campaign", named), draw, home="../../")

    def missing(self, home: str) -> Served:
        """The answer for a page that does not exist. home: the index, relative to it."""
        words = "this address leads nowhere"
        return _troubled(404, Trouble("Not found", words, "All pages begin at the index.", home))

    def misdirected(self) -> Served:
        """The answer to a request with a host name that is not the page's own."""
        words = "this page is there for its own pod only, by the name of localhost or 127.0.0.1"
        advice = "Behind a proxy, let PLIMSOLL_PAGE_HOST be an address that the proxy reaches."
        return _troubled(421, Trouble("Wrong address", words, advice))

    def close(self) -> None:
        """Stop, without waiting for pages that are being drawn."""
        for pool in (self._threads, self._refreshing):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, key: object, draw: Draw, home: str) -> Served:
        cached = self._cached.get(key)
        if cached is not None and self._clock() - cached[0] < KEPT_S:
            return cached[1]
        drawing = self._drawing.get(key)
        if drawing is None:
            if len(self._drawing) >= MOST_WAITING:
                words = f"{MOST_WAITING} pages are being drawn already"
                return _troubled(503, Trouble("Busy", words, _RETRY, home))
            drawing = asyncio.create_task(self._drawn(key, draw, home))
            self._drawing[key] = drawing
            drawing.add_done_callback(lambda _: self._drawing.pop(key, None))
        # The first reader may disconnect; the others still want the page.
        return await asyncio.shield(drawing)

    async def _drawn(self, key: object, draw: Draw, home: str) -> Served:
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, functools.partial(_attempt, draw, home))
        try:
            served = await asyncio.wait_for(work, PATIENCE_S)
        except TimeoutError:
            words = f"the store did not answer within {PATIENCE_S:.0f} s"
            return _troubled(503, Trouble("Not now", words, _RETRY, home))
        if served.status == 200:
            self._cached[key] = (self._clock(), served)
            self._cached.move_to_end(key)
            while len(self._cached) > MOST_KEPT:
                self._cached.popitem(last=False)
        return served

    def _later(self, work: Callable[[], object]) -> None:
        self._refreshing.submit(_logged, work)


def _drawn_or_none(draw: Callable[[], T | None], task: TaskId) -> T | None:
    """Draw a task's Jobs over items; if that fails, None, and the rest of the page is shown."""
    try:
        return draw()
    except (ArithmeticError, ValueError):
        log.exception("the Jobs over items of %s could not be drawn", task)
        return None


def _attempt(draw: Draw, home: str) -> Served:
    try:
        body = draw().encode("utf-8", "replace")
    except NoSuchTask as error:
        advice = "Is the name right? A task is known once a pod of it has ended."
        return _troubled(404, Trouble("No such task", str(error), advice, home))
    except NoSuchCampaign as error:
        advice = "One that has not begun says why in its conditions."
        return _troubled(404, Trouble("No such campaign", str(error), advice, home))
    except StoreError as error:
        return _troubled(503, Trouble("Not now", str(error), _RETRY, home))
    except Exception:
        # Stored data may be of any version and from anybody; the page must not fail because of it.
        log.exception("the page could not be drawn")
        words = "this page could not be drawn; the controller's log says why"
        return _troubled(500, Trouble("Our mistake", words, "The other pages still work.", home))
    return Served(200, body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _troubled(status: int, trouble: Trouble) -> Served:
    return Served(status, render_trouble(trouble).encode("utf-8", "replace"))


def _logged(work: Callable[[], object]) -> None:
    try:
        work()
    except StoreError as error:
        log.warning("the page's index was not read anew: %s", error)
    except Exception:
        # Nobody waits for this result, so nobody else would say that something is wrong.
        log.exception("the page's index could not be read anew")
