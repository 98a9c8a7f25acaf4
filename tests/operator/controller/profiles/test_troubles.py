"""Troubles that keep the whole controller from its work are found and reported."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.profiles.troubles import UNHEARD_S, Troubles
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.profile.facts import Ailment
from plimsoll_predictor.store import Store, Writer
from tests.builders.controller.books import books
from tests.builders.controller.ledgers import NOBODY
from tests.builders.stores import an_attempt


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[tuple[Troubles, FeedBoard, Writer]]:
    store = Store.open(f"sqlite:///{folder}/store.db", busy_timeout_s=0.1)
    writer, board = Writer(store), FeedBoard("epoch")
    async with client.ApiClient(client.Configuration(host=NOBODY)) as api:
        yield Troubles(Kube(api), writer, board, books().book, Hub()), board, writer
    await writer.close()
    store.close()


def ailments(troubles: Troubles) -> list[Ailment]:
    return [each.ailment for each in troubles.now()]


async def test_nothing_is_wrong_while_a_replica_waits_for_news(tmp_path: Path) -> None:
    async with watched(tmp_path) as (troubles, board, _):
        waiting = asyncio.create_task(board.wait(board.revision, board.epoch, 30.0))
        await asyncio.sleep(0)
        troubles.listen(0.0)
        troubles.listen(10 * UNHEARD_S)
        assert ailments(troubles) == []
        waiting.cancel()


@pytest.mark.slow
async def test_a_feed_that_nobody_asks_for_is_trouble_after_a_while_until_somebody_asks(
    tmp_path: Path,
) -> None:
    async with watched(tmp_path) as (troubles, board, _):
        troubles.listen(0.0)
        troubles.listen(UNHEARD_S - 1)
        assert ailments(troubles) == []
        troubles.listen(UNHEARD_S + 1)
        assert ailments(troubles) == [Ailment.FEED]
        waiting = asyncio.create_task(board.wait(board.revision, board.epoch, 30.0))
        await asyncio.sleep(0)
        troubles.listen(UNHEARD_S + 2)
        assert ailments(troubles) == []
        waiting.cancel()


async def test_a_store_that_cannot_be_written_is_trouble_until_it_can(tmp_path: Path) -> None:
    async with watched(tmp_path) as (troubles, _, writer):
        locking = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        locking.execute("BEGIN IMMEDIATE")
        recording = asyncio.create_task(writer.record(an_attempt().built))
        async with asyncio.timeout(20):
            while ailments(troubles) != [Ailment.STORE]:
                await asyncio.sleep(0.01)
        locking.execute("ROLLBACK")
        await recording
        assert ailments(troubles) == []
        locking.close()


async def test_what_cannot_be_asked_is_not_held_against_the_role(tmp_path: Path) -> None:
    async with watched(tmp_path) as (troubles, _, _writer):
        work = asyncio.create_task(troubles.run())
        await asyncio.sleep(0.5)
        assert Ailment.FORBIDDEN not in ailments(troubles)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
