"""Takes what agents raised by themselves, and answers what they may raise: ``POST GRANTS_PATH``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from aiohttp import web

from plimsoll_operator.attempts.grants import GRANTS_PATH, AskedGrants, Granted
from plimsoll_operator.feed.bearer_check import is_bearer
from plimsoll_predictor.core.documents import from_document, to_document

MOST_BYTES: Final = 1 << 17
"""Room for the most alarms told at once, each of a kilobyte, and for the pods asked for."""

Give = Callable[[AskedGrants], Awaitable[Granted]]


class BadAskedError(ValueError):
    """A body that is not a request for grants; the message says where and why."""


def grant_routes(give: Give, token: str) -> list[web.RouteDef]:
    """Routes to add to the controller's application. An agent shows ``token`` as its bearer."""

    async def take(request: web.Request) -> web.Response:
        if not is_bearer(request, token):
            return web.Response(status=401, text="this needs the agents' bearer token\n")
        try:
            asked = read_asked(await request.read())
        except web.HTTPRequestEntityTooLarge:
            return web.Response(status=413, text="ask for fewer pods at once\n")
        except BadAskedError as error:
            return web.Response(status=400, text=f"{error}\n")
        return web.json_response(to_document(await give(asked)))

    return [web.post(GRANTS_PATH, take)]


def read_asked(body: bytes) -> AskedGrants:
    """Read what an agent has sent; raise BadAskedError at the first mistake."""
    if len(body) > MOST_BYTES:
        raise BadAskedError(f"at most {MOST_BYTES} bytes at once; ask for fewer pods")
    try:
        document = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise BadAskedError(str(error)) from error
    return from_document(AskedGrants, document, "what is asked", BadAskedError)
