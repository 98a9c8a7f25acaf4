"""The writer: acknowledged means committed, and the event loop never waits for the disk."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event

from plimsoll_predictor.knowledge import Lift
from plimsoll_predictor.store import Kept, Store, StoreError, Writer
from tests.predictor.store_builders import TRAIN, an_attempt, open_store


@asynccontextmanager
async def writing(
    folder: Path, *, busy_timeout_s: float = 5.0, max_queued: int = 1000, close_timeout_s: float = 9
) -> AsyncIterator[tuple[Store, Writer]]:
    store = open_store(folder, busy_timeout_s=busy_timeout_s)
    writer = Writer(store, max_queued=max_queued, close_timeout_s=close_timeout_s)
    try:
        yield store, writer
    finally:
        await writer.close()
        store.close()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    other = sqlite3.connect(folder / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


async def until_in_trouble(writer: Writer) -> str:
    while writer.trouble is None:
        await asyncio.sleep(0.01)
    return writer.trouble


async def test_an_acknowledged_observation_is_committed(tmp_path: Path) -> None:
    async with writing(tmp_path) as (_, writer):
        assert (await writer.record(an_attempt("u").built)).new
        assert not (await writer.record(an_attempt("u").built)).new
        other = sqlite3.connect(tmp_path / "store.db")
        assert other.execute("SELECT count(*) FROM observations").fetchone() == (1,)
        other.close()


async def test_one_uid_at_the_same_time_is_new_once(tmp_path: Path) -> None:
    async with writing(tmp_path) as (store, writer):
        same = [writer.record(an_attempt("u").peaking(peak).built) for peak in range(20)]
        kept = await asyncio.gather(*same)
        assert [each.new for each in kept] == [True] + [False] * 19
        assert [each.learned for each in kept] == [True] + [False] * 19
        assert [each.peak_bytes for each in store.observations(TRAIN)] == [19]


async def test_many_observations_share_a_commit(tmp_path: Path) -> None:
    async with writing(tmp_path) as (store, writer):
        commits: list[object] = []
        event.listen(store._database.engine, "commit", commits.append)
        await asyncio.gather(*(writer.record(an_attempt(f"u{n}").built) for n in range(400)))
        assert len(store.observations(TRAIN)) == 400
    assert 0 < len(commits) <= 40


async def test_calls_keep_their_order_among_observations(tmp_path: Path) -> None:
    async with writing(tmp_path) as (store, writer):
        seen: list[int] = []

        def count() -> None:
            seen.append(len(store.observations(TRAIN)))

        await asyncio.gather(
            writer.record(an_attempt("a").built),
            writer.call(count),
            writer.record(an_attempt("b").built),
            writer.call(store.put_lift, TRAIN, "run", Lift(2, 2, 1)),
            writer.call(count),
        )
        assert seen == [1, 2]
        assert await writer.read(store.lifts) == {TRAIN: {"run": Lift(2, 2, 1)}}


async def test_a_locked_store_stops_neither_the_loop_nor_reads_and_loses_nothing(
    tmp_path: Path,
) -> None:
    async with writing(tmp_path, busy_timeout_s=0.1) as (store, writer):
        with locked(tmp_path):
            waiting = [
                asyncio.create_task(writer.record(an_attempt(f"u{n}").built)) for n in range(50)
            ]
            ticks = 0
            end_s = asyncio.get_running_loop().time() + 2
            while asyncio.get_running_loop().time() < end_s:
                await asyncio.sleep(0.01)
                ticks += 1
            assert "is locked by another process" in (writer.trouble or "")
            assert await writer.read(store.observations, TRAIN) == []
            assert not any(task.done() for task in waiting)
        assert [each.new for each in await asyncio.gather(*waiting)] == [True] * 50
        # 200 ticks if nothing else wants the processor; one, had the loop waited for the lock.
        assert ticks >= 50
        assert writer.trouble is None
        assert len(store.observations(TRAIN)) == 50


async def test_when_the_queue_is_full_callers_wait_and_nothing_is_dropped(tmp_path: Path) -> None:
    async with writing(tmp_path, busy_timeout_s=0.05, max_queued=8) as (store, writer):
        with locked(tmp_path):
            waiting = [
                asyncio.create_task(writer.record(an_attempt(f"u{n}").built)) for n in range(30)
            ]
            await until_in_trouble(writer)
            assert writer.queued == 8
        assert all(each.new for each in await asyncio.gather(*waiting))
        assert writer.queued == 0
        assert len(store.observations(TRAIN)) == 30


async def test_a_caller_that_gives_up_neither_loses_its_write_nor_its_place(tmp_path: Path) -> None:
    async with writing(tmp_path, busy_timeout_s=0.05, max_queued=1) as (store, writer):
        with locked(tmp_path):
            waiting = asyncio.create_task(writer.record(an_attempt("left").built))
            await until_in_trouble(writer)
            waiting.cancel()
        assert (await writer.record(an_attempt("next").built)).new
        assert {each.attempt_uid for each in store.observations(TRAIN)} == {"left", "next"}


async def test_a_record_no_store_could_hold_fails_alone(tmp_path: Path) -> None:
    async with writing(tmp_path) as (store, writer):
        ends = await asyncio.gather(
            writer.record(an_attempt("a").built),
            writer.record(an_attempt("bad").peaking(2**70).built),
            writer.record(an_attempt("b").built),
            return_exceptions=True,
        )
        assert [type(end) for end in ends] == [Kept, OverflowError, Kept]
        assert len(store.observations(TRAIN)) == 2
        assert writer.trouble is None


async def test_closing_writes_what_is_queued(tmp_path: Path) -> None:
    async with writing(tmp_path) as (_, writer):
        waiting = [
            asyncio.create_task(writer.record(an_attempt(f"u{n}").built)) for n in range(300)
        ]
        await asyncio.sleep(0)
        await writer.close()
        assert [each.new for each in await asyncio.gather(*waiting)] == [True] * 300
        with pytest.raises(StoreError, match="its writer is closed"):
            await writer.record(an_attempt("late").built)


async def test_closing_while_locked_tells_the_waiting_that_nothing_was_kept(tmp_path: Path) -> None:
    async with writing(tmp_path, busy_timeout_s=0.05, close_timeout_s=0.2) as (_, writer):
        with locked(tmp_path):
            waiting = asyncio.create_task(writer.record(an_attempt("u").built))
            await until_in_trouble(writer)
            await writer.close()
            with pytest.raises(StoreError, match="is locked"):
                await waiting
