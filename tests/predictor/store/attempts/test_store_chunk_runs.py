"""Chunks of Jobs over items, as splitting reads them back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.splitting.chunk_runs import ChunkRun
from plimsoll_predictor.store import Store
from tests.builders.stores import JOIN, NOON_S, TRAIN, AnAttempt, an_attempt, open_store_at

CHUNK = "chunk-items"


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def a_chunk(uid: str, items: float, at_s: float = 0.0) -> AnAttempt:
    made = an_attempt(uid).knowing(**{CHUNK: items})
    begins_s = NOON_S + at_s
    built = replace(
        made.built, submitted_s=begins_s - 2, started_s=begins_s, finished_s=begins_s + 30
    )
    return AnAttempt(built).peaking(5_000_000)


def test_chunks_are_read_oldest_first_and_others_are_not(store: Store) -> None:
    killed = a_chunk("c", 40.0, 200.0).ending(Outcome.OOM_KILLED).given(64)
    failed = a_chunk("d", 40.0, 300.0).ending(Outcome.FAILED)
    other = an_attempt("e").knowing(rows=5.0)
    made = [a_chunk("b", 20.0, 100.0), a_chunk("a", 10.0), killed, failed, other]
    store.observations.record([each.built for each in made])
    assert store.chunk_runs.of_task(TRAIN, CHUNK) == [
        ChunkRun(10, 30.0, 2.0, 5_000_000, None, "run-of-a", NOON_S + 30, GIB),
        ChunkRun(20, 30.0, 2.0, 5_000_000, None, "run-of-b", NOON_S + 130, GIB),
        ChunkRun(40, None, None, None, 64, "run-of-c", NOON_S + 230, 64),
        ChunkRun(40, None, None, None, None, "run-of-d", NOON_S + 330, GIB, failed=True),
    ]
    (newest,) = store.chunk_runs.of_task(TRAIN, CHUNK, limit=1)
    assert newest.failed


@pytest.mark.parametrize(
    ("outcome", "limit_bytes", "failed"),
    [
        pytest.param(Outcome.SUCCEEDED, GIB, False, id="it succeeded"),
        pytest.param(Outcome.OOM_KILLED, GIB, False, id="its memory was too small"),
        pytest.param(Outcome.OOM_KILLED, None, True, id="nobody knows in how much memory"),
        pytest.param(Outcome.FAILED, GIB, True, id="it failed"),
        pytest.param(Outcome.EVICTED, GIB, True, id="its node ended it, or a pod before it"),
        pytest.param(Outcome.DELETED, GIB, True, id="it was deleted"),
    ],
)
def test_a_chunk_that_ended_by_neither_success_nor_its_memory_failed(
    store: Store, outcome: Outcome, limit_bytes: int | None, failed: bool
) -> None:
    ended = a_chunk("a", 10.0).ending(outcome).built
    store.observations.record([replace(ended, allocation_bytes=limit_bytes)])
    (found,) = store.chunk_runs.of_task(TRAIN, CHUNK)
    assert found.failed is failed


def test_tasks_with_chunks_are_found_the_newest_first(store: Store) -> None:
    joined = a_chunk("b", 10.0).of(JOIN).built
    store.observations.record([a_chunk("a", 10.0).built, joined, an_attempt("c").built])
    assert store.chunk_runs.tasks(CHUNK) == [JOIN, TRAIN]


def test_what_is_no_number_of_items_is_left_out(store: Store) -> None:
    strange = [an_attempt(f"s{at}").knowing(**{CHUNK: value}) for at, value in enumerate(WRONG)]
    good = a_chunk("good", 10.0)
    store.observations.record([each.built for each in (*strange, good)])
    (found,) = store.chunk_runs.of_task(TRAIN, CHUNK)
    assert (found.items, found.run) == (10, "run-of-good")


WRONG: tuple[float | str, ...] = ("many", 0.0, -3.0, 1e300)
