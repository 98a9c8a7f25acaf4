"""Neighbours on the served page: where they appear, and how often they are learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plimsoll_operator.web.page import learned_placing
from plimsoll_operator.web.page.learned_placing import FRESH_S, LearnedPlacing
from plimsoll_predictor.store import Store
from tests.builders.checked_pages import checked
from tests.builders.placing.placed_runs import keep, placed_runs
from tests.builders.reports import START_S, a_life
from tests.rigs.browser.page_readers import asking, bare


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/plimsoll.db", clock=lambda: START_S)
    yield opened
    opened.close()


@pytest.mark.slow
async def test_the_index_shows_who_slows_whom_and_a_task_its_neighbours(store: Store) -> None:
    keep(store, placed_runs(300))
    store.observations.record(a_life(3))
    async with asking(bare(store)) as reader:
        _, index = await reader.get("/")
        _, searched = await reader.get("/?q=cpu")
        _, task = await reader.get("/tasks/team/cpu")
        _, other = await reader.get("/tasks/shop/train-demand")
    checked(index)
    checked(task)
    assert 'aria-label="Who slows whom"' in index
    assert "from 300 runs" in index
    assert 'id="placing"' not in searched
    neighbours = task[task.index('id="neighbours"') :]
    assert neighbours.index("Gets along with") < neighbours.index("Is slowed most by")
    assert 'href="../../tasks/team/wait"' in neighbours
    assert "another of its own" in neighbours
    assert "plimsoll placing team/cpu" in neighbours
    assert 'id="neighbours"' not in other


async def test_nothing_is_drawn_where_nothing_is_known_and_a_task_says_why(store: Store) -> None:
    keep(store, placed_runs(3))
    async with asking(bare(store)) as reader:
        _, index = await reader.get("/")
        _, task = await reader.get("/tasks/team/cpu")
    assert 'id="placing"' not in index
    assert "Cannot tell yet, from 1 run of it" in task


async def test_the_page_goes_on_where_neighbours_cannot_be_learned(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(learned_placing, "learned_facts", broken)
    keep(store, placed_runs(3))
    async with asking(bare(store)) as reader:
        answer, index = await reader.get("/")
    assert answer.status == 200
    assert "team/cpu" in index


def test_it_is_learned_at_most_once_a_minute_and_beside_the_readers(store: Store) -> None:
    keep(store, placed_runs(20))
    now_s = [0.0]
    later: list[Callable[[], object]] = []
    placing = LearnedPlacing(store, later.append, lambda: now_s[0])
    first = placing.facts()
    assert first is not None
    assert first.taught == 20
    now_s[0] = FRESH_S - 1
    assert placing.facts() is first
    assert later == []
    now_s[0] = FRESH_S + 1
    assert placing.facts() is first
    assert placing.facts() is first
    learn, again = later
    learn()
    anew = placing.facts()
    assert anew is not first
    again()
    assert placing.facts() is anew
