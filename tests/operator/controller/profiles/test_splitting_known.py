"""What statuses say about splitting is renewed from time to time, and agrees with the command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_operator.controller.profiles.splitting_known import LOOKED_EVERY_S, SplittingKnown
from plimsoll_operator.profile.splitting_status import TaskSplitting
from plimsoll_operator.views.splitting_facts import leased_facts, splitting_facts
from plimsoll_operator.wording.splitting_words import words_for_splitting
from plimsoll_predictor.splitting.chunk_runs import ChunkRun
from plimsoll_predictor.store import Store
from tests.builders.splitting.taught_chunks import a_taught, chunks_of
from tests.builders.stores import NOON_S, TRAIN


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    yield opened
    opened.close()


def test_of_a_task_without_jobs_over_items_nothing_is_known_nor_awaited(store: Store) -> None:
    known = SplittingKnown(store)
    for _ in range(2):
        assert known.of(TRAIN, NOON_S, has_chunks=False) == (TaskSplitting(), False)


@pytest.mark.slow
def test_it_says_what_the_command_says_of_both_ways(store: Store) -> None:
    store.observations.record(chunks_of("one"))
    store.leased_jobs.close("shop/train/run-1", TRAIN, a_taught())
    found, awaited = SplittingKnown(store).of(TRAIN, NOON_S, has_chunks=True)
    assert not awaited
    assert found.cut is not None
    assert found.leased is not None
    cut, leased = splitting_facts(store, TRAIN), leased_facts(store, TRAIN)
    assert cut is not None
    assert leased is not None
    assert found.cut.verdict == words_for_splitting(cut.learned, cut.job, cut.cut)["best cut"]
    assert found.leased.verdict == leased.words["over shares"]
    assert found.leased.last == leased.words["the last job"]


@pytest.mark.slow
def test_where_its_policy_weighs_memory_the_cut_is_by_both(store: Store) -> None:
    store.observations.record(chunks_of("one"))
    found, _ = SplittingKnown(store).of(TRAIN, NOON_S, has_chunks=True, memory_weight=0.5)
    assert found.cut is not None
    assert found.cut.verdict.endswith("less time × memory^0.5")


@pytest.mark.slow
def test_what_is_new_is_awaited_and_looked_at_after_a_while(store: Store) -> None:
    known = SplittingKnown(store)
    store.observations.record(chunks_of("one"))
    first, _ = known.of(TRAIN, NOON_S, has_chunks=True)
    store.leased_jobs.close("shop/train/run-1", TRAIN, a_taught())
    soon = NOON_S + LOOKED_EVERY_S - 1
    assert known.of(TRAIN, soon, has_chunks=True) == (first, True)
    later, awaited = known.of(TRAIN, NOON_S + LOOKED_EVERY_S, has_chunks=True)
    assert later.leased is not None
    assert not awaited


def test_a_clock_that_was_set_back_keeps_nothing(store: Store) -> None:
    known = SplittingKnown(store)
    store.leased_jobs.close("shop/train/run-1", TRAIN, a_taught())
    known.of(TRAIN, NOON_S, has_chunks=False)
    assert known.of(TRAIN, NOON_S - 3600, has_chunks=False)[1] is False


@pytest.mark.slow
def test_a_look_that_fails_leaves_the_rest_of_the_status(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> list[ChunkRun]:
        raise OverflowError("a chunk that nobody can have done")

    store.leased_jobs.close("shop/train/run-1", TRAIN, a_taught())
    monkeypatch.setattr(type(store.chunk_runs), "of_task", broken)
    found, _ = SplittingKnown(store).of(TRAIN, NOON_S, has_chunks=True)
    assert found.cut is None
    assert found.leased is not None
