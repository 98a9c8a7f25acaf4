"""Takes agents' reports of how busy their nodes are: ``POST /v1/node-use``. Checks every field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from aiohttp import web

from plimsoll_operator.attempts.node_use import NODE_USE_PATH, NodeUse
from plimsoll_operator.feed.bearer_check import is_bearer
from plimsoll_predictor.core.documents import from_document

MOST_BYTES: Final = 1 << 16
"""Two hundred pods, each with the longest id, with their cores and their memory."""


class BadNodeUseError(ValueError):
    """A body that is not a node's use; the message says where and why."""


def node_use_routes(take_in: Callable[[NodeUse], object], token: str) -> list[web.RouteDef]:
    """Routes to add to the controller's application. An agent shows ``token`` as its bearer."""

    async def take(request: web.Request) -> web.Response:
        if not is_bearer(request, token):
            return web.Response(status=401, text="this needs the agents' bearer token\n")
        try:
            take_in(read_node_use(await request.read()))
        except web.HTTPRequestEntityTooLarge:
            return web.Response(status=413, text="send fewer pods\n")
        except BadNodeUseError as error:
            return web.Response(status=400, text=f"{error}\n")
        return web.Response(status=204)

    return [web.post(NODE_USE_PATH, take)]


def read_node_use(body: bytes) -> NodeUse:
    """Read what an agent has sent; raise BadNodeUseError at the first mistake.

    Fields that it does not know are ignored, so that a newer agent may say more.
    """
    if len(body) > MOST_BYTES:
        raise BadNodeUseError(f"at most {MOST_BYTES} bytes; send fewer pods")
    try:
        document = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise BadNodeUseError(str(error)) from error
    return from_document(NodeUse, document, "the node's use", BadNodeUseError)
