"""The feed over HTTP, served by the controller: ``/v1/feed?epoch=&since=&wait_s=&v=&reader=``."""

from __future__ import annotations

import math
from typing import Final

from aiohttp import web

from plimsoll_operator.feed.bearer_check import is_bearer
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import FEED_PATH, Reader

MAX_WAIT_S: Final = 60.0


def board_routes(board: FeedBoard, token: str) -> list[web.RouteDef]:
    """Routes to add to the controller's application. A caller sends ``token`` as its bearer."""

    async def feed(request: web.Request) -> web.Response:
        if not is_bearer(request, token):
            return web.Response(status=401, text="this needs the feed's bearer token\n")
        try:
            since = int(request.query.get("since", "0"))
            wait_s = float(request.query.get("wait_s", "0"))
            version = int(request.query.get("v", "1"))
        except ValueError:
            return web.Response(status=400, text="since and v are whole numbers, wait_s a number\n")
        wait_s = min(wait_s, MAX_WAIT_S) if math.isfinite(wait_s) else 0.0
        epoch = request.query.get("epoch")
        extends = request.query.get("reader") == Reader.EXTENDER
        reader = Reader.EXTENDER if extends else Reader.ADMISSION
        wait_s = max(0.0, wait_s)
        body = await board.wait(since, epoch, wait_s, version=version, reader=reader)
        return web.Response(body=body, content_type="application/json")

    return [web.get(FEED_PATH, feed)]
