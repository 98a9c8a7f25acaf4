"""The writer: acknowledged means committed, and the event loop never waits for the disk."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.store import (
    BadRecordError,
    DecisionRecord,
    Novelty,
    Recorded,
    Store,
    StoreError,
    Writer,
)
from plimsoll_predictor.store.attempts.peaks import Report
from plimsoll_predictor.store.database.database import Database
from tests.builders.stores import NOON_S, TRAIN, an_attempt, noting_threads, open_store_at


@asynccontextmanager
async def writing(
    url: str, *, busy_timeout_s: float = 5.0, max_queued: int = 1000, close_timeout_s: float = 9
) -> AsyncIterator[tuple[Store, Writer]]:
    store = open_store_at(url, busy_timeout_s=busy_timeout_s)
    writer = Writer(store, max_queued=max_queued, close_timeout_s=close_timeout_s)
    try:
        yield store, writer
    finally:
        await writer.close()
        store.close()


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Another process is in the middle of a write."""
    other = Database.connect(url, 5.0)
    with other.write():
        yield
    other.close()


def a_decision(uid: str, words: str = "a test") -> DecisionRecord:
    return DecisionRecord(
        task=TRAIN,
        attempt_uid=uid,
        at_s=NOON_S,
        words=words,
        allocation_bytes=None,
        request_bytes=None,
        reason="kept",
    )


async def until_in_trouble(writer: Writer) -> str:
    async with asyncio.timeout(180):
        while writer.trouble is None:
            await asyncio.sleep(0.01)
    return writer.trouble


async def test_an_acknowledged_observation_is_committed(store_url: str) -> None:
    async with writing(store_url) as (_, writer):
        assert (await writer.record(an_attempt("u").built)).new
        assert not (await writer.record(an_attempt("u").built)).new
        other = open_store_at(store_url)
        assert len(other.observations.of_task(TRAIN)) == 1
        other.close()


async def test_one_uid_at_the_same_time_is_new_once(store_url: str) -> None:
    async with writing(store_url) as (store, writer):
        same = [writer.record(an_attempt("u").peaking(peak).built) for peak in range(20)]
        kept = await asyncio.gather(*same)
        assert [each.new for each in kept] == [True] + [False] * 19
        assert [each.learned for each in kept] == [True] + [False] * 19
        assert [each.peak_bytes for each in store.observations.of_task(TRAIN)] == [19]


@pytest.mark.slow
async def test_many_observations_share_a_commit(store_url: str) -> None:
    async with writing(store_url) as (store, writer):
        commits: list[object] = []
        event.listen(store.database.engine, "commit", commits.append)
        await asyncio.gather(*(writer.record(an_attempt(f"u{n}").built) for n in range(400)))
        assert len(store.observations.of_task(TRAIN)) == 400
    assert 0 < len(commits) <= 40


@pytest.mark.slow
async def test_decisions_share_a_commit_with_observations(store_url: str) -> None:
    async with writing(store_url) as (store, writer):
        commits: list[object] = []
        event.listen(store.database.engine, "commit", commits.append)
        await asyncio.gather(
            *(
                writer.decide(replace(a_decision(f"u{n}"), bids={"request": 4.0}))
                for n in range(200)
            ),
            *(writer.record(an_attempt(f"u{n}").built) for n in range(200)),
        )
        assert len(store.decisions.newest(TRAIN, limit=1000)) == 200
        lessons = store.experts.lessons(0, limit=1000)
        assert [lesson.bids for lesson in lessons] == [{"request": 4.0}] * 200
    assert 0 < len(commits) <= 40


def a_report(pod_uid: str) -> Report:
    return {"pod_uid": pod_uid, "container_id": None, "final": True, "measured_s": NOON_S}


@pytest.mark.slow
async def test_reports_share_a_commit_with_observations(store_url: str) -> None:
    async with writing(store_url) as (store, writer):
        commits: list[object] = []
        event.listen(store.database.engine, "commit", commits.append)
        writes: list[Awaitable[object]] = []
        for number in range(200):
            writes.append(writer.record(an_attempt(f"u{number}").built))
            writes.append(writer.report([a_report(f"u{number}")]))
        await asyncio.gather(*writes)
        assert 0 < len(commits) <= 40
        assert len(store.observations.of_task(TRAIN)) == 200
        assert all(store.peaks.of_pod(f"u{number}") for number in range(200))


async def test_no_group_has_more_reports_than_a_bound(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll_predictor.store.writer._REPORTS", 10)
    async with writing(store_url) as (store, writer):
        kept: list[int] = []
        keep = store.keep

        def counted(*what: Any) -> Recorded:
            kept.append(len(what[-1]))
            return keep(*what)

        monkeypatch.setattr(store, "keep", counted)
        some = [[a_report(f"u{agent}-{n}") for n in range(4)] for agent in range(20)]
        many = [a_report(f"many-{n}") for n in range(15)]
        await asyncio.gather(*(writer.report(each) for each in [*some, many]))
    assert sum(kept) == 20 * 4 + 15
    assert max(kept[:-1]) <= 10


async def test_a_report_no_store_could_hold_fails_alone(store_url: str) -> None:
    async with writing(store_url) as (store, writer):
        ends = await asyncio.gather(
            writer.record(an_attempt("a").built),
            writer.report([a_report("a")]),
            writer.report([a_report("")]),
            writer.report([a_report("b")]),
            return_exceptions=True,
        )
        assert [type(end) for end in ends] == [Novelty, type(None), BadRecordError, type(None)]
        assert len(store.observations.of_task(TRAIN)) == 1
        assert [store.peaks.of_pod(pod) for pod in "ab"] == [[a_report("a")], [a_report("b")]]
        assert writer.trouble is None


async def test_reports_are_acknowledged_only_once_they_are_committed(store_url: str) -> None:
    async with writing(store_url, busy_timeout_s=0.05) as (store, writer):
        with locked(store_url):
            waiting = asyncio.create_task(writer.report([a_report("u")]))
            await until_in_trouble(writer)
            assert not waiting.done()
        await waiting
        assert store.peaks.of_pod("u") == [a_report("u")]


async def test_of_two_decisions_for_one_attempt_the_later_stays(store_url: str) -> None:
    async with writing(store_url) as (store, writer):
        words = [f"{number}" for number in range(20)]
        await asyncio.gather(*(writer.decide(a_decision("u", each)) for each in words))
        assert [each.words for each in store.decisions.newest(TRAIN)] == ["19"]


async def test_calls_keep_their_order_among_observations(store_url: str) -> None:
    async with writing(store_url) as (store, writer):
        seen: list[int] = []

        def count() -> None:
            seen.append(len(store.observations.of_task(TRAIN)))

        await asyncio.gather(
            writer.record(an_attempt("a").built),
            writer.call(count),
            writer.record(an_attempt("b").built),
            writer.call(store.lifts.put, TRAIN, "run", Lift(2, 2, 1)),
            writer.call(count),
        )
        assert seen == [1, 2]
        assert await writer.read(store.lifts.waiting) == {TRAIN: {"run": Lift(2, 2, 1)}}


async def test_a_write_under_way_says_how_long_it_has_taken(store_url: str) -> None:
    async with writing(store_url, busy_timeout_s=0.1) as (_, writer):
        assert writer.busy_s == 0.0
        with locked(store_url):
            waiting = asyncio.create_task(writer.record(an_attempt("u1").built))
            async with asyncio.timeout(60):
                while writer.busy_s == 0.0:
                    await asyncio.sleep(0.01)
        await waiting
        assert writer.busy_s == 0.0


@pytest.mark.slow
async def test_a_locked_store_stops_neither_the_loop_nor_reads_and_loses_nothing(
    store_url: str,
) -> None:
    async with writing(store_url, busy_timeout_s=0.1) as (store, writer):
        with locked(store_url), noting_threads(store) as threads:
            waiting = [
                asyncio.create_task(writer.record(an_attempt(f"u{n}").built)) for n in range(50)
            ]
            assert "is locked by another process" in await until_in_trouble(writer)
            assert await writer.read(store.observations.of_task, TRAIN) == []
            assert not any(task.done() for task in waiting)
        assert [each.new for each in await asyncio.gather(*waiting)] == [True] * 50
        assert threads
        assert threading.get_ident() not in threads, "the event loop waits for no lock"
        assert writer.trouble is None
        assert len(store.observations.of_task(TRAIN)) == 50


@pytest.mark.slow
async def test_when_the_queue_is_full_callers_wait_and_nothing_is_dropped(store_url: str) -> None:
    async with writing(store_url, busy_timeout_s=0.05, max_queued=8) as (store, writer):
        with locked(store_url):
            waiting = [
                asyncio.create_task(writer.record(an_attempt(f"u{n}").built)) for n in range(30)
            ]
            await until_in_trouble(writer)
            assert writer.queued == 8
        assert all(each.new for each in await asyncio.gather(*waiting))
        assert writer.queued == 0
        assert len(store.observations.of_task(TRAIN)) == 30


async def test_a_caller_that_gives_up_neither_loses_its_write_nor_its_place(store_url: str) -> None:
    async with writing(store_url, busy_timeout_s=0.05, max_queued=1) as (store, writer):
        with locked(store_url):
            waiting = asyncio.create_task(writer.record(an_attempt("left").built))
            await until_in_trouble(writer)
            waiting.cancel()
        assert (await writer.record(an_attempt("next").built)).new
        assert {each.attempt_uid for each in store.observations.of_task(TRAIN)} == {"left", "next"}


async def test_a_record_no_store_could_hold_fails_alone(store_url: str) -> None:
    async with writing(store_url) as (store, writer):
        ends = await asyncio.gather(
            writer.record(an_attempt("a").built),
            writer.record(an_attempt("bad").peaking(2**70).built),
            writer.record(an_attempt("b").built),
            return_exceptions=True,
        )
        assert [type(end) for end in ends] == [Novelty, BadRecordError, Novelty]
        assert len(store.observations.of_task(TRAIN)) == 2
        assert writer.trouble is None


@pytest.mark.slow
async def test_closing_writes_what_is_queued(store_url: str) -> None:
    async with writing(store_url) as (_, writer):
        waiting = [
            asyncio.create_task(writer.record(an_attempt(f"u{n}").built)) for n in range(300)
        ]
        await asyncio.sleep(0)
        await writer.close()
        assert [each.new for each in await asyncio.gather(*waiting)] == [True] * 300
        with pytest.raises(StoreError, match="its writer is closed"):
            await writer.record(an_attempt("late").built)


async def test_closing_while_locked_tells_the_waiting_that_nothing_was_kept(store_url: str) -> None:
    async with writing(store_url, busy_timeout_s=0.05, close_timeout_s=0.2) as (_, writer):
        with locked(store_url):
            waiting = asyncio.create_task(writer.record(an_attempt("u").built))
            await until_in_trouble(writer)
            await writer.close()
            with pytest.raises(StoreError, match="is locked"):
                await waiting


async def test_a_writer_closes_in_time_although_a_write_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Else the lead, which is given back afterwards, would be held until the process is killed."""
    monkeypatch.setattr("plimsoll_predictor.store.writer._GIVEN_UP_S", 0.1)
    hangs, answers = threading.Event(), threading.Event()
    async with writing(str(tmp_path / "store.db"), max_queued=2, close_timeout_s=0.1) as (
        store,
        writer,
    ):

        def hang() -> None:
            hangs.set()
            answers.wait(60)

        waiting = [asyncio.create_task(writer.call(hang)) for _ in range(4)]
        async with asyncio.timeout(30):
            await asyncio.to_thread(hangs.wait)
            await writer.close()
            ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(end) for end in ends] == [StoreError] * 4
        assert "a write hangs; it may be kept, or not" in str(ends[0])
        assert (writer.queued, caplog.text.count("2 unconfirmed")) == (0, 1)
        store.close()
        answers.set()
        async with asyncio.timeout(30):
            while writer._thread.is_alive():
                await asyncio.sleep(0.01)
        assert writer.queued == 0, "what comes after all was counted before"


async def test_a_writer_that_is_left_begins_no_other_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another controller may lead by then."""
    monkeypatch.setattr("plimsoll_predictor.store.writer._GIVEN_UP_S", 0.1)
    hangs, answers, begun = threading.Event(), threading.Event(), list[int]()

    def hang(number: int) -> None:
        begun.append(number)
        hangs.set()
        answers.wait(60)

    async with writing(str(tmp_path / "store.db"), close_timeout_s=0.1) as (_, writer):
        waiting = [asyncio.create_task(writer.call(hang, number)) for number in range(3)]
        async with asyncio.timeout(30):
            await asyncio.to_thread(hangs.wait)
            await writer.close()
            await asyncio.gather(*waiting, return_exceptions=True)
            answers.set()
            await asyncio.to_thread(writer._thread.join)
    assert begun == [0]


async def test_a_writer_that_closes_writes_all_while_writes_go_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: an outage leaves thousands."""
    monkeypatch.setattr(Writer, "busy_s", 0.0)  # else a machine that stands still is a hang
    monkeypatch.setattr("plimsoll_predictor.store.writer._GIVEN_UP_S", 0.1)
    async with writing(str(tmp_path / "store.db"), close_timeout_s=0.1) as (_, writer):

        def write(number: int) -> int:
            time.sleep(0.05)
            return number

        waiting = [asyncio.create_task(writer.call(write, number)) for number in range(20)]
        await asyncio.sleep(0)
        await writer.close()
        assert await asyncio.gather(*waiting) == list(range(20))


@pytest.mark.parametrize("others", [0, 1])
async def test_a_record_that_is_refused_after_a_trouble_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    async with writing(str(tmp_path / "store.db")) as (store, writer):
        errors = [StoreError("the server is away"), BadRecordError("it is refused")]

        def refuse(*_: Any) -> Recorded:
            raise errors.pop(0) if len(errors) > 1 else errors[0]

        monkeypatch.setattr(store, "keep", refuse)
        records = (writer.record(an_attempt(f"u{n}").built) for n in range(1 + others))
        ends = await asyncio.gather(*records, return_exceptions=True)
        assert [type(end) for end in ends] == [BadRecordError] * (1 + others)
        assert writer.trouble is None
