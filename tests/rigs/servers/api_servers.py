"""A real HTTP server in the place of the API server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubernetes_asyncio import client

from plimsoll_operator.kube.api_server import ApiServer
from tests.rigs.servers.serving import Answering, answering, serving


@asynccontextmanager
async def an_api_server(
    answer: Answering, most_bytes: int | None = None
) -> AsyncIterator[ApiServer]:
    """Something that answers every request as ``answer`` says."""
    async with (
        serving(answering(answer)) as url,
        client.ApiClient(client.Configuration(host=url)) as api,
    ):
        yield ApiServer(api, most_bytes=most_bytes)
