"""A task whose namespace is being deleted, for as long as a finalizer holds it, gets no profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.builders.controller.ledgers import TRAIN, Inside, a_train, an_inside, ended
from tests.rigs.servers.serving import serving

pytestmark = pytest.mark.slow

ENDS = (
    'taskprofiles.plimsoll.dev "train" is forbidden: unable to create new content in namespace'
    " shop because it is being terminated"
)
DENIED = 'taskprofiles.plimsoll.dev is forbidden: User "plimsoll" cannot create resource'


@asynccontextmanager
async def a_server(why: str) -> AsyncIterator[tuple[str, Counter[str]]]:
    """It has no profile, and refuses to create one. Its calls are counted by their methods."""
    calls = Counter[str]()

    async def answer(request: web.Request) -> web.Response:
        calls[request.method] += 1
        code, message = (403, why) if request.method == "POST" else (404, "not found")
        return web.json_response({"kind": "Status", "message": message}, status=code)

    app = web.Application()
    app.router.add_route("*", "/apis/{tail:.*}", answer)
    async with serving(app) as url:
        yield url, calls


async def kept(inside: Inside) -> bool:
    """Write the task's profile once. Return whether it is to be written again."""
    profiles = inside.controller.profiles
    profiles.forget(TRAIN)
    await profiles._keep(TRAIN)
    return TRAIN in profiles._due


async def test_it_is_not_written_again_until_its_next_pod(tmp_path: Path) -> None:
    async with a_server(ENDS) as (url, calls), an_inside(tmp_path, host=url) as inside:
        assert not await kept(inside)
        assert calls["POST"] == 1
        await inside.see(ended(a_train()))
        assert TRAIN in inside.controller.profiles._due


async def test_a_profile_that_is_refused_otherwise_is_written_again(tmp_path: Path) -> None:
    async with a_server(DENIED) as (url, calls), an_inside(tmp_path, host=url) as inside:
        assert await kept(inside)
        assert calls["POST"] == 1
