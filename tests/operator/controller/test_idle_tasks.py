"""Idle tasks are forgotten one by one; one that people or pods want meanwhile stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from plimsoll_predictor.core.task import TaskId
from tests.builders.controller.ledgers import TRAIN, Inside, a_train, an_inside, decided, killed
from tests.rigs.servers.serving import answering, serving

LATE = TaskId("shop", "late")
"""The idle task whose turn comes after that of TRAIN."""


@dataclass
class SlowServer:
    """An API server that has nothing. asked: for a profile. answers: profiles wait for it."""

    url: str = ""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        if "taskprofiles" in request.path:
            self.asked.set()
            await self.answers.wait()
        answer = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "no such object"}
        return web.json_response(answer, status=404)


@asynccontextmanager
async def a_slow_server() -> AsyncIterator[SlowServer]:
    server = SlowServer()
    async with serving(answering(server.answer)) as server.url:
        try:
            yield server
        finally:
            server.answers.set()


@asynccontextmanager
async def forgetting_train(folder: Path) -> AsyncIterator[Inside]:
    """What is done inside happens while TRAIN is forgotten; afterwards LATE has had its turn."""
    async with a_slow_server() as server, an_inside(folder, host=server.url) as inside:
        inside.controller.book.get(LATE)
        async with asyncio.timeout(90):
            pruning = asyncio.create_task(inside.controller.store_sync.prune())
            await server.asked.wait()
            yield inside
            server.answers.set()
            await pruning


@pytest.mark.slow
async def test_tasks_without_pods_and_observations_are_forgotten(tmp_path: Path) -> None:
    async with forgetting_train(tmp_path) as inside:
        assert LATE in inside.controller.book
    assert len(inside.controller.book) == 0


@pytest.mark.slow
async def test_a_task_whose_pod_comes_meanwhile_keeps_its_lift(tmp_path: Path) -> None:
    async with forgetting_train(tmp_path) as inside:
        await inside.see(killed(decided(a_train().labelled("late")).owned_by_job()))
        lifts = inside.controller.book.look(LATE).lifts
        assert len(lifts) == 1
    book = inside.controller.book
    assert (TRAIN in book, book.look(LATE).lifts) == (False, lifts)


@pytest.mark.slow
async def test_a_task_whose_profile_people_write_meanwhile_keeps_its_policy(tmp_path: Path) -> None:
    profile = {"metadata": {"namespace": "shop", "name": "late"}, "spec": {"max": "1Gi"}}
    async with forgetting_train(tmp_path) as inside:
        await inside.controller.watch.see_profile(profile, gone=False)
    book = inside.controller.book
    assert (TRAIN in book, LATE in book) == (False, True)
    assert b"shop/late" in inside.controller.board.message(0, None)
