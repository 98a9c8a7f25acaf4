"""The index of the page: what is found, in which order, and what an address may ask for."""

from __future__ import annotations

from dataclasses import fields, replace
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.web.page.columns import COLUMNS
from plimsoll_operator.web.page.listing import ROWS_PER_PAGE, list_tasks, totals_of
from plimsoll_operator.web.page.query import DEFAULT_SORT, MAX_SEARCH, Query, query_of
from plimsoll_operator.web.page.rows import LiveTask, TaskRow, row_of
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import TaskSummary

ENFORCE, RECOMMEND = Policy(mode=Mode.ENFORCE), Policy(mode=Mode.RECOMMEND)


def a_row(name: str, **changes: object) -> TaskRow:
    """One enforced task: 10 runs, 4 GB·h asked, 3 allocated, 1 needed."""
    summary = TaskSummary(
        task=TaskId.parse(name),
        observations=11,
        runs_known=10,
        oom_kills=1,
        requested_gb_h=4.0,
        allocated_gb_h=3.0,
        peak_gb_h=1.0,
        last_finished_s=1.0,
    )
    figures = {field.name for field in fields(TaskSummary)} & set(changes)
    summary = replace(summary, **{name: changes.pop(name) for name in figures})  # type: ignore[arg-type]
    row = row_of(summary, LiveTask(policy=ENFORCE, champion="near-max"))
    return replace(row, **changes)  # type: ignore[arg-type]


def rows(*names: str) -> list[TaskRow]:
    return [a_row(name) for name in sorted(names)]


def names_of(found: list[TaskRow], **asked: str) -> list[str]:
    return [row.name for row in list_tasks(found, query_of(asked)).rows]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param("train", ["lab/train-x", "shop/train-a"], id="part of a name"),
        pytest.param("TRAIN shop", ["shop/train-a"], id="words in any order and case"),
        pytest.param("shop/", ["shop/join", "shop/train-a"], id="a namespace"),
        pytest.param("  ", ["lab/train-x", "shop/join", "shop/train-a"], id="nothing"),
        pytest.param("train.*", [], id="no pattern"),
    ],
)
def test_a_search_finds_names_that_hold_all_its_words(words: str, found: list[str]) -> None:
    assert names_of(rows("shop/train-a", "shop/join", "lab/train-x"), q=words, sort="task") == found


def test_a_search_is_narrowed_by_mode_and_phase() -> None:
    both = [a_row("a/one"), a_row("a/two", mode="off", phase="Paused")]
    assert names_of(both, mode="off") == ["a/two"]
    assert names_of(both, mode="enforce") == ["a/one"]
    assert names_of(both, phase="Paused") == ["a/two"]
    assert names_of(both, mode="off", phase="Sizing") == []


def test_sorting_puts_what_is_unknown_last_whichever_way() -> None:
    known = [
        a_row("a/1", last_finished_s=5.0),
        a_row("a/2", last_finished_s=None),
        a_row("a/3", last_finished_s=9.0),
    ]
    assert names_of(known, sort="last") == ["a/3", "a/1", "a/2"]
    assert names_of(known, sort="last", order="asc") == ["a/1", "a/3", "a/2"]


def test_of_equals_the_alphabet_decides_whichever_way() -> None:
    same = rows("a/1", "a/2", "a/3")
    assert names_of(same, sort="runs") == names_of(same, sort="runs", order="asc")


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_sorts_and_turns_round(column: str) -> None:
    found = [a_row(f"a/{n}", runs_known=n, oom_kills=n, last_finished_s=float(n)) for n in range(3)]
    once = Query().sorted_by(column)
    twice = once.sorted_by(column)
    assert once.descending is not twice.descending
    assert len(list_tasks(found, once).rows) == 3


def test_pages_hold_every_task_once() -> None:
    many = rows(*(f"shop/t{n:04d}" for n in range(2 * ROWS_PER_PAGE + 7)))
    first = list_tasks(many, Query(sort="task"))
    seen = [
        row.name for n in range(1, 4) for row in list_tasks(many, Query(sort="task", page=n)).rows
    ]
    assert (first.pages, first.totals.tasks) == (3, len(many))
    assert seen == [row.name for row in many]


def test_a_page_beyond_the_last_is_the_last() -> None:
    listing = list_tasks(rows("a/1"), Query(page=999))
    assert (listing.query.page, len(listing.rows)) == (1, 1)
    assert list_tasks([], Query(page=3)).query.page == 1


def test_totals_are_of_what_matches() -> None:
    both = [a_row("a/one"), a_row("b/two", requested_gb_h=10.0)]
    assert list_tasks(both, query_of({"q": "a/"})).totals.figures.requested_gb_h == 4.0
    assert list_tasks(both, Query()).totals.figures.requested_gb_h == 14.0
    assert totals_of(both).figures.saved_gb_h == pytest.approx(8.0)


def test_that_a_task_asks_for_too_little_is_a_column_of_its_own_where_one_does() -> None:
    status = {"asks": "too little: 100Mi, needs 210Mi"}
    summary = TaskSummary(task=TaskId("a", "b"), requested_gb_h=1.0, allocated_gb_h=4.0)
    asking = row_of(summary, LiveTask(policy=ENFORCE, status=status))
    assert asking.asks == "too little: 100Mi, needs 210Mi"
    assert list_tasks([asking, a_row("a/one")], Query()).asks
    assert not list_tasks([a_row("a/one")], Query()).asks


def test_would_have_is_told_of_recommended_tasks_only() -> None:
    summary = TaskSummary(task=TaskId("a", "b"), observations=9, runs_known=9, requested_gb_h=10.0)
    status = {"wouldSave": "63% (6.3 GB·h)", "wouldSaveGbH": 6.3, "wouldAskedGbH": 10.0}
    status |= {"wouldKill": 2}
    told = row_of(summary, LiveTask(policy=RECOMMEND, status=status))
    assert (told.would_save_gb_h, told.would_kill, told.would_share) == (6.3, 2, "63%")
    enforced = row_of(summary, LiveTask(policy=ENFORCE, status=status))
    assert (enforced.would_save, enforced.would_save_gb_h, enforced.would_kill) == (
        None,
        None,
        None,
    )
    totals = totals_of([told, enforced])
    assert (totals.would_save_gb_h, totals.would_asked_gb_h, totals.would_kill) == (6.3, 10.0, 2)
    assert totals_of([enforced]).would_save_gb_h is None


def test_what_enforcing_would_save_is_a_share_of_what_its_runs_asked_for() -> None:
    kept = TaskSummary(task=TaskId("a", "b"), observations=9, requested_gb_h=2.0)
    status = {"wouldSaveGbH": 6.0, "wouldAskedGbH": 10.0}
    told = row_of(kept, LiveTask(policy=RECOMMEND, status=status))
    assert totals_of([told, told]).would_asked_gb_h == 20.0
    older = row_of(kept, LiveTask(policy=RECOMMEND, status={"wouldSaveGbH": 6.0}))
    both = totals_of([told, older])
    assert (both.would_save_gb_h, both.would_asked_gb_h) == (12.0, None), "no share of a part"


@pytest.mark.parametrize(
    "status",
    [
        {"wouldSaveGbH": "much", "wouldKill": [], "phase": 7, "champion": {}, "lastDecisions": "x"},
        {"wouldSaveGbH": float("nan"), "wouldKill": True, "lastDecisions": [None]},
        {"lastDecisions": []},
        {},
    ],
)
def test_a_status_of_another_version_is_no_error(status: dict[str, object]) -> None:
    row = row_of(TaskSummary(task=TaskId("a", "b")), LiveTask(policy=RECOMMEND, status=status))
    assert (row.would_save_gb_h, row.would_kill, row.decision) == (None, None, "")
    assert (row.phase, row.champion) == ("ColdStart", "request")


def test_a_pause_shows_at_once_though_the_profile_says_otherwise() -> None:
    summary = TaskSummary(task=TaskId("a", "b"), runs_known=20)
    paused = row_of(summary, LiveTask(paused=True, status={"phase": "Sizing"}))
    assert paused.phase == "Paused"


def test_an_address_that_makes_no_sense_gives_the_default() -> None:
    asked = {"sort": "'; drop", "order": "up", "page": "-1", "mode": "all", "phase": "<b>"}
    assert query_of(asked) == Query()
    assert query_of({"page": "9" * 500}) == Query()
    assert query_of({"page": "²"}) == Query()
    assert len(query_of({"q": "x" * 10_000}).q) == MAX_SEARCH


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["q", "mode", "phase", "sort", "order", "page"]), st.text()))
def test_whatever_an_address_says_it_is_read_back_alike(asked: dict[str, str]) -> None:
    query = query_of(asked)
    again = dict(parse_qsl(query.address.removeprefix("./").removeprefix("?")))
    assert query_of(again) == query
    assert query.sort in COLUMNS
    list_tasks(rows("a/1", "b/2"), query)


def test_the_plain_index_has_a_plain_address() -> None:
    assert Query().address == "./"
    assert Query(sort=DEFAULT_SORT, page=2).address == "?page=2"
