"""The page's addresses, all read-only.

``/``, ``/tasks/NAMESPACE/NAME`` and ``/campaigns/NAMESPACE/NAME``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from aiohttp import web
from yarl import URL

from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.web.page.query import query_of
from plimsoll_operator.web.page.rendering import content_policy
from plimsoll_operator.web.page.rows import LiveTask
from plimsoll_operator.web.page.serving import Pages, Served
from plimsoll_operator.web.page.task_page import TaskQuery
from plimsoll_operator.web.page.what_if_query import what_if_query_of
from plimsoll_operator.wording.lending_words import LendingNow
from plimsoll_operator.wording.training_words import TrainingsNow
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.expert_names import REQUEST


@dataclass(frozen=True, slots=True)
class LiveTasks:
    """Reads what the event loop writes: each look reads one entry of a dict, which is complete.

    status: a task profile's, as the API server has it; empty without one. lent: what running pods
    lend, complete before it can be read. trained: what waits for a round of trainings.
    """

    book: TaskBook
    status: Callable[[TaskId], Mapping[str, Any]]
    lent: Callable[[], LendingNow | None] = lambda: None
    trained: Callable[[], TrainingsNow | None] = lambda: None

    @property
    def lending(self) -> LendingNow | None:
        """What running pods lend; None if no pod may lend."""
        return self.lent()

    @property
    def trainings(self) -> TrainingsNow | None:
        """What waits for a training; None if the controller trains by itself."""
        return self.trained()

    @property
    def paused(self) -> bool:
        """Whether people have paused the whole cluster."""
        return self.book.policies.paused

    def task(self, task: TaskId) -> LiveTask:
        """Return what the controller knows of a task beside the store."""
        knowledge = self.book.look(task)
        cold = knowledge.runs < knowledge.policy.min_runs
        return LiveTask(
            policy=knowledge.policy,
            paused=self.paused or knowledge.paused,
            champion=REQUEST if cold else str(knowledge.champion),
            trained=knowledge.model is not None,
            status=self.status(task),
        )


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def page_app(pages: Pages, listen_host: str) -> web.Application:
    """Return the application of the page's port.

    On loopback, only requests to a loopback name are answered: a script of another site, in a
    browser at a forwarded port, would use that site's name.
    """
    middlewares = [_named_here(pages)] if _is_loopback(listen_host) else []
    app = web.Application(middlewares=middlewares)
    app.add_routes(page_routes(pages))
    return app


def _named_here(pages: Pages) -> Callable[..., Awaitable[web.StreamResponse]]:
    @web.middleware
    async def gate(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            named = URL(f"http://{request.host}").host or ""
        except ValueError:
            named = ""
        if _is_loopback(named):
            return await handler(request)
        return _response(request, pages.misdirected())

    return gate


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def page_routes(pages: Pages) -> list[web.RouteDef]:
    """The page's routes. Put them last: they also answer what no other route answers."""

    async def index(request: web.Request) -> web.Response:
        return _response(request, await pages.index(query_of(request.query)))

    async def task(request: web.Request) -> web.Response:
        name = _named(request)
        if name is None:
            return _response(request, pages.missing("../../"))
        query = TaskQuery(name, what_if_query_of(request.query))
        return _response(request, await pages.task(query))

    async def campaign(request: web.Request) -> web.Response:
        name = _named(request)
        if name is None:
            return _response(request, pages.missing("../../"))
        return _response(request, await pages.campaign(name))

    async def missing(request: web.Request) -> web.Response:
        # As a browser reads the address: each slash begins a folder, also the last; %2F does not.
        folders = request.rel_url.raw_path.count("/") - 1
        return _response(request, pages.missing("../" * folders or "./"))

    return [
        web.get("/", index),
        web.get("/tasks/{namespace}/{name}", task),
        web.get("/campaigns/{namespace}/{name}", campaign),
        web.get("/{elsewhere:.*}", missing),
    ]


def _named(request: web.Request) -> TaskId | None:
    """The namespace and name of an address; None if nothing can have this name."""
    try:
        return TaskId.parse("{namespace}/{name}".format_map(request.match_info))
    except ValueError:
        return None


_ALWAYS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def _response(request: web.Request, served: Served) -> web.Response:
    headers = {**_ALWAYS, "Content-Security-Policy": content_policy()}
    if served.etag is None:
        headers["Cache-Control"] = "no-store"
        if served.status == 503:
            headers["Retry-After"] = "3"
    else:
        # The browser keeps it and asks each time if it changed, so a reload costs a few bytes.
        headers |= {"Cache-Control": "private, no-cache", "ETag": served.etag}
        if served.etag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
    return web.Response(
        status=served.status,
        body=served.body,
        content_type="text/html",
        charset="utf-8",
        headers=headers,
    )
