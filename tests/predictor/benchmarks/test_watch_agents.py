"""The agents that `make bench-watch` plays: their load is that of real ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from benchmarks.scale import watch_agents
from benchmarks.scale.watch_agents import Agents
from plimsoll_operator.attempts.peaks import PEAKS_PATH, PeakReport
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.serving.peak_routes import peak_routes

NODES = {"pod-1": "node-1", "pod-2": "node-1", "pod-3": "node-2"}


@dataclass
class Taking:
    """What a controller was told to store. away: whether its store is."""

    away: bool = False
    finals: list[list[str]] = field(default_factory=list)

    async def store(self, reports: Sequence[PeakReport]) -> None:
        if self.away:
            raise OSError("the disk is full")
        self.finals.append([report.pod_uid for report in reports])


@asynccontextmanager
async def agents_of(taking: Taking, book: PeakBook) -> AsyncIterator[Agents]:
    controller = web.Application()
    controller.add_routes(peak_routes(book, taking.store, "token"))
    async with (
        TestServer(controller) as server,
        ClientSession(headers={"Authorization": "Bearer token"}) as session,
    ):
        yield Agents(session, str(server.make_url(PEAKS_PATH)), NODES)


async def test_each_pod_is_reported_as_running_and_none_of_it_is_stored() -> None:
    book, taking, told = PeakBook(), Taking(), list[None]()
    async with agents_of(taking, book) as agents:
        await agents.report_running(told.append)
    assert (len(book), len(told), taking.finals) == (3, 2, [])
    assert not any(book.final(uid) for uid in NODES)


async def test_the_pods_that_ended_are_reported_once_by_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch_agents, "SENT_EVERY_S", 0.01)
    book, taking, ended = PeakBook(), Taking(away=True), dict.fromkeys(["pod-3", "other"])
    async with agents_of(taking, book) as agents, asyncio.timeout(30):
        reporting = asyncio.create_task(agents.report_ends(ended))
        await asyncio.sleep(0.1)
        assert taking.finals == []
        taking.away = False
        while not book.final("pod-3"):
            await asyncio.sleep(0.01)
        ended |= dict.fromkeys(["pod-1", "pod-2"])
        while not book.final("pod-2"):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        reporting.cancel()
    assert taking.finals == [["pod-3"], ["pod-1", "pod-2"]]
