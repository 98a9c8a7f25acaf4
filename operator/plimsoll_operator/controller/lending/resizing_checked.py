"""Asks the API server whether it can resize running pods."""

from __future__ import annotations

import asyncio

from plimsoll_operator.kube.api_server import CORE, ApiServer
from plimsoll_operator.kube.errors import UNREACHABLE_PAUSE_S, Unreachable
from plimsoll_operator.late_binding.resizing import why_not


async def why_none_is_resized(api: ApiServer) -> str | None:
    """Return why it cannot, in words; None if it can. ApiError if it does not say what it can.

    It waits for as long as the API server does not answer.
    """
    while True:
        try:
            return why_not(await api.get("/version"), await api.get(CORE))
        except Unreachable:
            await asyncio.sleep(UNREACHABLE_PAUSE_S)
