"""An API server that keeps at most one webhook configuration, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.rigs.servers.serving import answering, serving


@dataclass
class Webhooks:
    """An API server with at most one webhook configuration. calls: those that change it.

    answers: it takes questions and says nothing while this is not set.
    """

    url: str = ""
    kept: dict[str, Any] | None = None
    calls: list[str] = field(default_factory=list)
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        await self.answers.wait()
        body: dict[str, Any] = await request.json() if request.can_read_body else {}
        if request.method != "GET":
            self.calls.append(request.method)
        if request.method == "POST":
            if self.kept is not None:
                return web.json_response({"reason": "AlreadyExists"}, status=409)
            self.kept = body
        elif self.kept is None:
            return web.json_response({}, status=404)
        elif request.method == "PATCH":
            self.kept = {**self.kept, **body}
        elif request.method == "DELETE":
            self.kept = None
        return web.json_response(self.kept or {})


@asynccontextmanager
async def served_webhooks() -> AsyncIterator[Webhooks]:
    """Serve one on a port of its own."""
    webhooks = Webhooks()
    webhooks.answers.set()
    async with serving(answering(webhooks.answer)) as webhooks.url:
        try:
            yield webhooks
        finally:
            webhooks.answers.set()
