"""Peaks that come after many ends: each amends its observation, however many come at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.controller.attempts.late_peaks import AMENDED_AT_ONCE, LatePeaks
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    FinalPeakReported,
    Hub,
    ObservationAmended,
)
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.store import Novelty, Writer
from plimsoll_predictor.store.writer import MAX_QUEUED
from tests.builders.agent.cgroup_trees import a_report
from tests.builders.stores import NOON_S, an_attempt


@dataclass
class CountingWriter:
    """Says how many amendments it had at once, and in all."""

    now: int = 0
    most: int = 0
    all: int = 0

    async def record(self, observation: Observation) -> Novelty:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        self.all += observation.peak_bytes is not None
        return Novelty(new=False, learned=True)


@dataclass
class Late:
    """Late peaks with all that they need."""

    peaks: LatePeaks
    book: PeakBook
    writer: CountingWriter
    amended: list[Observation]

    def end(self, uid: str) -> None:
        """Its end is committed, and nobody has measured it yet."""
        ended = an_attempt(uid).peaking(None).running(NOON_S, NOON_S + 60).built
        status: Any = SimpleNamespace(uid=uid, attempt_uid=uid)
        watched: Any = SimpleNamespace(
            measured_container=lambda _: None,
            attempt=SimpleNamespace(containers=1),
            sandbox_limit_bytes=None,
        )
        pod: Any = None
        new = Novelty(new=True, learned=False)
        self.peaks.attempt_ended(AttemptEnded(ended, new, pod, watched, status))

    def report(self, uid: str) -> None:
        self.book.add([a_last_report(uid)])


def a_last_report(uid: str) -> PeakReport:
    return a_report(pod_uid=uid, container_id=None, final=True, measured_s=NOON_S + 61)


@asynccontextmanager
async def amending() -> AsyncIterator[Late]:
    hub, writer, amended = Hub(), CountingWriter(), list[Observation]()
    book = PeakBook(hub=hub)

    async def look_again(_: AttemptEnded) -> None:
        raise AssertionError("no end here is unexplained")

    peaks = LatePeaks(cast(Writer, writer), book, hub, look_again)
    hub.subscribe(FinalPeakReported, peaks.final_peak_reported)
    hub.subscribe(ObservationAmended, lambda event: amended.append(event.observation))
    work = asyncio.create_task(peaks.run())
    yield Late(peaks, book, writer, amended)
    work.cancel()


@pytest.mark.slow
async def test_all_that_a_store_kept_waiting_is_amended_once_it_is_back() -> None:
    """Agents can deliver reports only after the store is back, when all ends are committed."""
    uids = [f"uid-{number}" for number in range(MAX_QUEUED + 2_000)]
    async with amending() as late, asyncio.timeout(120):
        for uid in uids:
            late.end(uid)
        for uid in uids:
            late.report(uid)
        while len(late.amended) < len(uids):
            await asyncio.sleep(0.01)
    assert late.writer.all == len(uids)


async def test_amendments_that_are_due_together_are_written_together() -> None:
    uids = [f"uid-{number}" for number in range(2 * AMENDED_AT_ONCE)]
    async with amending() as late, asyncio.timeout(60):
        for uid in uids:
            late.end(uid)
            late.report(uid)
        while len(late.amended) < len(uids):
            await asyncio.sleep(0.01)
    assert late.writer.most == AMENDED_AT_ONCE
    assert {each.attempt_uid for each in late.amended} == set(uids)
