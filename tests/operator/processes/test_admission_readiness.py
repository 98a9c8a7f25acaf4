"""When admission says that it is ready: with knowledge, and after a while without."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.processes.admission import Running, running
from plimsoll_predictor.core.policy import Mode, Policy
from tests.builders.pods import a_pod
from tests.rigs.servers.admission_servers import (
    TRAIN,
    a_feed,
    a_server,
    calling,
    knowledge_of,
    patch_in,
    settings_in,
    until_true,
)

POD = a_pod().asking("4Gi")
NOBODY = "http://127.0.0.1:1"
HOUR_S = 3600.0


async def readyz(port: int) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/readyz") as answer,
    ):
        return answer.status, await answer.text()


async def test_with_a_feed_it_is_ready(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (_, server, _):
        assert await readyz(server.metrics_port) == (200, "ok\n")


async def test_without_any_feed_it_is_ready_after_a_while_and_admits_unchanged(
    tmp_path: Path,
) -> None:
    async with running(settings_in(tmp_path, NOBODY, unheard_s=HOUR_S)) as server:
        assert (await readyz(server.metrics_port))[0] == 503
        server.pages.monotonic = lambda: time.monotonic() + HOUR_S
        status, words = await readyz(server.metrics_port)
        assert (status, words) == (200, "no feed was heard yet: pods are admitted unchanged\n")
        async with calling(server.port, tmp_path) as caller:
            assert patch_in(await caller.review(POD)) == []


async def test_knowledge_that_is_too_old_admits_unchanged_and_stays_ready(tmp_path: Path) -> None:
    async with AsyncExitStack() as feed:
        url = await feed.enter_async_context(a_feed(a_board("leader", Mode.ENFORCE)))
        async with (
            running(
                settings_in(tmp_path, url, max_feed_age_s=HOUR_S, max_silence_s=9 * HOUR_S)
            ) as server,
            calling(server.port, tmp_path) as caller,
        ):
            await until_true(lambda: TRAIN in server.state.tasks)
            assert patch_in(await caller.review(POD)) != []
            await feed.aclose()
            # Nobody answers any more, so the last news can be made as old as needed.
            await until_true(lambda: server.freshness.failed_s is not None)
            assert server.freshness.heard_s is not None
            server.freshness.heard_s -= HOUR_S
            assert patch_in(await caller.review(POD)) == []
            assert await readyz(server.metrics_port) == (200, "ok\n")


@pytest.mark.slow
async def test_without_a_certificate_it_lives_says_so_and_begins_when_there_is_one(
    tmp_path: Path,
) -> None:
    settings = settings_in(tmp_path, NOBODY, metrics_listen_port=0, unheard_s=0.0)
    good = settings.certificate_file.read_bytes()
    settings.certificate_file.write_bytes(good[:100])
    began: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
    end = asyncio.Event()

    async def serve() -> None:
        async with running(settings) as server:
            began.set_result(server)
            await end.wait()

    serving = asyncio.create_task(serve())
    await asyncio.sleep(0.3)
    assert not began.done()
    settings.certificate_file.write_bytes(good)
    server = await asyncio.wait_for(began, 180)
    assert await readyz(server.metrics_port) == (
        200,
        "no feed was heard yet: pods are admitted unchanged\n",
    )
    end.set()
    await serving


async def test_a_new_leaders_feed_replaces_what_the_old_one_told(tmp_path: Path) -> None:
    async with AsyncExitStack() as feed:
        url = await feed.enter_async_context(a_feed(a_board("the-old-leader", Mode.ENFORCE)))
        async with running(settings_in(tmp_path, url)) as server:
            await until_true(lambda: TRAIN in server.state.tasks)
            await feed.aclose()
            # Another answers at the same address, with less to tell and a smaller revision.
            new = FeedBoard("the-new-leader")
            new.set_defaults(Policy(mode=Mode.OFF))
            async with a_feed(new, int(url.rpartition(":")[2])):
                await until_true(lambda: TRAIN not in server.state.tasks)
                assert server.state.default_policy.mode is Mode.OFF


def a_board(epoch: str, mode: Mode) -> FeedBoard:
    """A leader's message: a policy, and one task."""
    board = FeedBoard(epoch)
    board.set_defaults(Policy(mode=mode))
    board.publish(knowledge_of())
    return board
