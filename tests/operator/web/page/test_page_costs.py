"""The cost of the served page: how often it asks the store, for whom, and when readers wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from plimsoll_operator.web.page import serving
from plimsoll_operator.web.page.index import FRESH_S, TaskIndex
from plimsoll_operator.web.page.task_page import READ_ATTEMPTS
from plimsoll_predictor.store import Store
from tests.builders.page_stores import ACluster, a_cluster
from tests.builders.reports import START_S, an_attempt
from tests.rigs.browser.page_readers import asking, bare, statements_of

TASK_PATH = "/tasks/shop/train-demand"
HELD_S = 180.0
"""How long the page's threads are held, unless a test releases them."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ACluster]:
    folder = tmp_path_factory.mktemp("page")
    store = Store.open(f"sqlite:///{folder}/plimsoll.db", clock=lambda: START_S)
    yield a_cluster(store, 70)
    store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/plimsoll.db", clock=lambda: START_S)
    yield opened
    opened.close()


@pytest.mark.slow
async def test_readers_who_ask_for_the_same_have_it_drawn_once(cluster: ACluster) -> None:
    async with asking(cluster) as reader:
        await reader.get("/")  # learns which task slows which; that is kept for a minute
        with statements_of(cluster.store) as asked:
            await reader.get(TASK_PATH)
        one = len(asked)
        reader.now_s += serving.KEPT_S + 1
        with statements_of(cluster.store) as asked:
            await asyncio.gather(*(reader.get(TASK_PATH) for _ in range(20)))
            await reader.get(TASK_PATH)
    assert len(asked) == one > 0


@pytest.mark.slow
async def test_the_index_asks_the_store_as_often_for_many_tasks_as_for_few(
    cluster: ACluster, store: Store
) -> None:
    few = a_cluster(store, 3)
    counts = []
    for each in (few, cluster):
        async with asking(each) as reader:
            with statements_of(each.store) as asked:
                await reader.get("/")
        counts.append(len(asked))
    assert counts[0] == counts[1] > 0


@pytest.mark.slow
async def test_a_task_reads_a_bounded_number_of_attempts(store: Store) -> None:
    runs = READ_ATTEMPTS + 40
    store.observations.record(
        [replace(an_attempt(f"r{n}"), finished_s=START_S + n) for n in range(runs)]
    )
    async with asking(bare(store)) as reader:
        await reader.get("/")
        with statements_of(store) as asked:
            _, text = await reader.get(TASK_PATH)
    assert f"Of the latest {READ_ATTEMPTS:,} attempts; 40 older ones" in text
    assert f"<dd>{runs:,}</dd>" in text, "the figures are of all that is kept"
    assert len(asked) <= 33


@pytest.mark.slow
async def test_pages_are_read_and_drawn_in_threads_of_their_own(cluster: ACluster) -> None:
    names: set[str] = set()

    def note(*_: Any) -> None:
        names.add(threading.current_thread().name)

    engine = cluster.store.database.engine
    event.listen(engine, "before_cursor_execute", note)
    async with asking(cluster) as reader:
        paths = (f"/tasks/{row.name}" for row in reader.pages._index.rows()[:30])
        names.clear()
        statuses = {(await each)[0].status for each in [reader.get(path) for path in paths]}
    event.remove(engine, "before_cursor_execute", note)
    assert statuses == {200}
    assert 1 <= len(names) <= serving.THREADS
    assert all(name.startswith("plimsoll-page") for name in names)


@pytest.mark.slow
async def test_too_many_readers_are_told_to_come_back(
    cluster: ACluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_WAITING", 4)
    monkeypatch.setattr(serving, "PATIENCE_S", HELD_S)
    gate = threading.Event()
    async with asking(cluster) as reader:
        # The page's threads are busy until the gate opens.
        held = [reader.pages._threads.submit(gate.wait, HELD_S) for _ in range(serving.THREADS)]
        asked = [asyncio.create_task(reader.get(f"/?q={n}")) for n in range(6)]
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        gate.set()
        statuses = sorted([(await each)[0].status for each in asked])
        assert all(each.result(HELD_S) for each in held)
    assert {each.result()[0].status for each in done} == {503}
    assert statuses == [200] * 4 + [503] * 2


async def test_a_store_that_hangs_keeps_nobody_waiting_for_ever(
    cluster: ACluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "PATIENCE_S", 0.1)
    gate = threading.Event()
    async with asking(cluster) as reader:
        for _ in range(serving.THREADS):
            reader.pages._threads.submit(gate.wait, HELD_S)
        answer, text = await reader.get("/")
        gate.set()
    assert answer.status == 503
    assert "did not answer" in text


def test_the_index_is_read_anew_beside_whoever_looks(store: Store) -> None:
    store.observations.record([an_attempt("r1")])
    now, later = [0.0], list[Any]()
    index = TaskIndex(store, bare(store).live, later.append, lambda: now[0])
    assert [row.summary.runs_known for row in index.rows()] == [1]
    store.observations.record([an_attempt("r2")])
    now[0] = FRESH_S + 0.1
    assert [row.summary.runs_known for row in index.rows()] == [1], "at once, what was read last"
    [refresh] = later
    refresh()
    assert [row.summary.runs_known for row in index.rows()] == [2]
    assert len(later) == 1, "what is fresh is not read again"


def test_many_who_look_at_once_have_the_index_read_once(store: Store) -> None:
    store.observations.record([an_attempt("r1")])
    now, later = [0.0], list[Any]()
    index = TaskIndex(store, bare(store).live, later.append, lambda: now[0])
    index.rows()
    now[0] = FRESH_S + 0.1
    for _ in range(5):
        index.rows()
    later[0]()
    read = index.rows()
    for refresh in later[1:]:
        refresh()
    assert index.rows() is read


def test_an_index_nobody_looked_at_for_long_is_not_shown(store: Store) -> None:
    store.observations.record([an_attempt("r1")])
    now, later = [0.0], list[Any]()
    index = TaskIndex(store, bare(store).live, later.append, lambda: now[0])
    index.rows()
    store.observations.record([an_attempt("r2")])
    now[0] = 10_000.0
    assert [row.summary.runs_known for row in index.rows()] == [2]
