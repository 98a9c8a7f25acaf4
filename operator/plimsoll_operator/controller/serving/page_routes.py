"""The page's addresses: ``/`` and ``/tasks/NAMESPACE/NAME``. Read-only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Final

from aiohttp import web
from yarl import URL

from plimsoll_operator.web.page.query import query_of
from plimsoll_operator.web.page.rendering import content_policy
from plimsoll_operator.web.page.serving import Pages, Served
from plimsoll_operator.web.page.task_page import TaskQuery
from plimsoll_operator.web.page.what_if_query import what_if_query_of
from plimsoll_predictor.core.task import TaskId

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def page_app(pages: Pages, listen_host: str) -> web.Application:
    """The application of the page's port.

    listen_host: where it listens. On loopback, only who names loopback is answered: another site's
        script, in a browser on this side of a forwarded port, would come by that site's name.
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
    """All of the page. Put them last: what no other route takes is answered by a page too."""

    async def index(request: web.Request) -> web.Response:
        return _response(request, await pages.index(query_of(request.query)))

    async def task(request: web.Request) -> web.Response:
        found = request.match_info
        try:
            asked = TaskId.parse(f"{found['namespace']}/{found['name']}")
        except ValueError:
            return _response(request, pages.missing("../../"))
        query = TaskQuery(asked, what_if_query_of(request.query))
        return _response(request, await pages.task(query))

    async def missing(request: web.Request) -> web.Response:
        return _response(request, pages.missing("../" * request.path.strip("/").count("/") or "./"))

    return [
        web.get("/", index),
        web.get("/tasks/{namespace}/{name}", task),
        web.get("/{elsewhere:.*}", missing),
    ]


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
        # Kept by the browser, and asked for again each time: a reload costs a few bytes.
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
