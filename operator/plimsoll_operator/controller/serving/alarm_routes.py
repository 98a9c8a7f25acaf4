"""Takes agents' alarms of containers near their limits: ``POST /v1/alarms``. Checks every field."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec
from aiohttp import web

from plimsoll_operator.attempts.alarms import ALARMS_PATH, Alarms, AlarmsAnswered
from plimsoll_operator.feed.bearer_check import is_bearer
from plimsoll_predictor.core.documents import from_document, to_document

MOST_BYTES: Final = 1 << 17
"""A hundred alarms, each of a kilobyte."""

Hear = Callable[[Alarms], Awaitable[Sequence[str]]]


class BadAlarmsError(ValueError):
    """A body that is not a list of alarms; the message says where and why."""


def alarm_routes(hear: Hear, token: str) -> list[web.RouteDef]:
    """Routes to add to the controller's application. An agent shows ``token`` as its bearer.

    hear: decides alarms, and returns the pods that it raises; it does not wait for raises.
    """

    async def take(request: web.Request) -> web.Response:
        if not is_bearer(request, token):
            return web.Response(status=401, text="this needs the agents' bearer token\n")
        try:
            said = read_alarms(await request.read())
        except web.HTTPRequestEntityTooLarge:
            return web.Response(status=413, text="send fewer alarms at once\n")
        except BadAlarmsError as error:
            return web.Response(status=400, text=f"{error}\n")
        answered = AlarmsAnswered(raised=tuple(await hear(said)))
        return web.json_response(to_document(answered))

    return [web.post(ALARMS_PATH, take)]


def read_alarms(body: bytes) -> Alarms:
    """Read what an agent has sent; raise BadAlarmsError at the first mistake."""
    if len(body) > MOST_BYTES:
        raise BadAlarmsError(f"at most {MOST_BYTES} bytes at once; send fewer alarms")
    try:
        document = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise BadAlarmsError(str(error)) from error
    return from_document(Alarms, document, "the alarms", BadAlarmsError)
