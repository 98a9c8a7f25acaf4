"""Upkeep of the store that fails: the controller starts and prunes all the same."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from plimsoll_operator.controller import controller as controller_module
from plimsoll_operator.controller import store_sync
from plimsoll_operator.controller.hub import habits
from plimsoll_operator.controller.store_sync import StoreSync
from plimsoll_predictor.store import DecisionRecord, Store, StoreError
from plimsoll_predictor.store.attempts.observations import Imported, ItemNeed, ObservationRecords
from plimsoll_predictor.store.attempts.summaries import TotalRecords
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.learned.standings import BIDS_KEPT_S, StandingRecords
from tests.builders.controller.ledgers import NOW_S, TRAIN, an_inside
from tests.builders.stores import an_attempt


def fail(*_: Any) -> None:
    raise StoreError("the statement took too long")


def put_old_bids(store: Store) -> None:
    decision = DecisionRecord(
        task=TRAIN,
        attempt_uid="old",
        at_s=NOW_S,
        words="a test",
        allocation_bytes=None,
        request_bytes=None,
        reason="kept",
        bids={"safe": 1.0},
    )
    store.keep(decided=[decision])


@pytest.mark.slow
async def test_what_is_old_is_deleted_though_one_kind_of_it_could_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with an_inside(tmp_path) as inside:
        put_old_bids(inside.store)
        monkeypatch.setattr(inside.controller.store_sync, "now_s", lambda: NOW_S + BIDS_KEPT_S + 1)
        values, failed = Database.values, list[str]()

        def failing_once(database: Database, select: sa.Select[Any]) -> list[Any]:
            if not failed:
                failed.append(str(select))
                fail()
            return values(database, select)

        monkeypatch.setattr(Database, "values", failing_once)
        async with asyncio.timeout(10):
            await inside.controller.store_sync.prune()
        assert failed
        assert inside.store.experts.bids("old") is None


@pytest.mark.slow
async def test_sums_that_cannot_be_mended_do_not_keep_the_controller_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with an_inside(tmp_path) as inside:
        inside.store.observations.record([an_attempt().of(TRAIN).built])
    monkeypatch.setattr(TotalRecords, "mend", fail)
    async with asyncio.timeout(10), an_inside(tmp_path) as inside:
        assert inside.known.runs == 1


@pytest.mark.slow
async def test_old_rows_are_deleted_though_the_work_beside_it_is_interrupted_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller_module, "CARRY_ON_AFTER_S", 0.001)
    monkeypatch.setattr(store_sync, "REFRESH_EVERY_S", 0.001)
    monkeypatch.setattr(store_sync, "FIRST_PRUNED_AFTER_S", 0.1)
    interrupted, pruned = 0, asyncio.Event()

    async def interrupt(_: StoreSync) -> None:
        nonlocal interrupted
        interrupted += 1
        raise ValueError("a strange row")

    async def prune(_: StoreSync) -> None:
        pruned.set()

    async with an_inside(tmp_path) as inside:
        monkeypatch.setattr(StoreSync, "look_for_imports", interrupt)
        monkeypatch.setattr(StoreSync, "prune", prune)
        working = asyncio.create_task(controller_module._carry_on(inside.controller.store_sync.run))
        async with asyncio.timeout(20):
            await pruned.wait()
        working.cancel()
    assert interrupted > 1


@pytest.mark.slow
async def test_imports_are_learned_once_the_store_can_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(habits, "READ_PAUSE_S", 0.001)
    async with an_inside(tmp_path) as inside:
        inside.store.observations.record_history([an_attempt().of(TRAIN).built])
        imported, asked = ObservationRecords.imported, list[int]()

        def failing_once(records: ObservationRecords, after: int) -> Imported:
            asked.append(after)
            if len(asked) == 1:
                fail()
            return imported(records, after)

        monkeypatch.setattr(ObservationRecords, "imported", failing_once)
        await inside.controller.store_sync.look_for_imports()
        assert (len(asked), inside.known.runs) == (2, 1)


@pytest.mark.slow
async def test_needs_of_items_that_cannot_be_read_stop_no_write_and_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = replace(an_attempt().of(TRAIN).built, item="s1")
    async with asyncio.timeout(30):
        with pytest.MonkeyPatch.context() as failing:
            failing.setattr(ObservationRecords, "item_needs", fail)
            async with an_inside(tmp_path) as inside:
                inside.store.observations.record_history([past])
                await inside.controller.store_sync.look_for_imports()
                await inside.controller.writer.record(an_attempt("new").of(TRAIN).built)
                assert (inside.known.runs, len(inside.controller.items.siblings)) == (1, 0)
                failing.undo()
                await inside.controller.store_sync.look_for_imports()
                assert len(inside.controller.items.siblings) == 1, "the next look reads them"
                asked = list[object]()

                def asking(records: ObservationRecords) -> list[ItemNeed]:
                    asked.append(records)
                    return []

                monkeypatch.setattr(ObservationRecords, "item_needs", asking)
                await inside.controller.store_sync.look_for_imports()
                assert asked == [], "nothing new: not asked again"


async def test_a_store_that_cannot_be_written_does_not_keep_the_controller_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lead is given back only afterwards."""
    monkeypatch.setattr(controller_module, "SAVED_WITHIN_S", 0.2)
    async with an_inside(tmp_path) as inside:
        controller = inside.controller
        monkeypatch.setattr(controller.writer, "_close_timeout_s", 0.2)
        await controller.writer.record(an_attempt().of(TRAIN).built)
        monkeypatch.setattr(StandingRecords, "save", fail)
        async with asyncio.timeout(20):
            await controller.close()
    monkeypatch.undo()
    async with an_inside(tmp_path) as inside:
        assert inside.controller.standings.through > 0, "the next start learns it"
