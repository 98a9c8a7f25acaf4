"""Earlier needs for an item: which features they give, and what is forgotten."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.item_needs import (
    EARLIER,
    MOST_EARLIER,
    MOST_ITEMS,
    MOST_UPSTREAM,
    UPSTREAM,
    Siblings,
)
from plimsoll_predictor.model.features import MAX_COLUMNS, FeatureSchema

ITEM = "shop/s1"


def noted(*needs: tuple[str, str, float], item: str = ITEM) -> Siblings:
    """needs: run, task, bytes, in order."""
    siblings = Siblings()
    for run, task, need_bytes in needs:
        siblings.note(run, item, task, need_bytes)
    return siblings


def test_earlier_tasks_of_the_same_run_and_item_are_told() -> None:
    siblings = noted(("r1", "align", 5.0), ("r1", "sort", 7.0))
    found = siblings.features("r1", ITEM, "call")
    assert found == {f"{UPSTREAM}align": 5.0, f"{UPSTREAM}sort": 7.0}


def test_the_same_tasks_need_in_an_earlier_run_is_told() -> None:
    assert noted(("r1", "align", 5.0)).features("r2", ITEM, "align") == {EARLIER: 5.0}
    assert noted(("r1", "align", 5.0)).features(None, ITEM, "align") == {EARLIER: 5.0}


@pytest.mark.parametrize(
    ("run", "item", "task"),
    [
        pytest.param("r1", "shop/s2", "call", id="another item"),
        pytest.param("r2", ITEM, "call", id="another run"),
        pytest.param("r1", "bank/s1", "call", id="another namespace"),
        pytest.param("r1", None, "align", id="no item"),
        pytest.param(None, ITEM, "call", id="no run"),
    ],
)
def test_others_are_not_told(run: str | None, item: str | None, task: str) -> None:
    assert noted(("r1", "align", 5.0)).features(run, item, task) == {}


def test_of_many_upstream_tasks_the_latest_are_told() -> None:
    siblings = noted(*(("r1", f"t{number}", 1.0 + number) for number in range(30)))
    latest = {f"{UPSTREAM}t{number}" for number in range(30 - MOST_UPSTREAM, 30)}
    assert set(siblings.features("r1", ITEM, "call")) == latest
    # The task that asks does not take the place of another one.
    told = siblings.features("r1", ITEM, "t29")
    assert set(told) == {f"{UPSTREAM}t{n}" for n in range(29 - MOST_UPSTREAM, 29)} | {EARLIER}


@pytest.mark.slow
def test_what_was_touched_longest_ago_is_forgotten() -> None:
    siblings = Siblings()
    for number in range(MOST_EARLIER + 10):
        siblings.note("r1", f"shop/s{number}", "align", 1.0)
        siblings.note("r1", "shop/s0", "sort", 1.0)
    assert len(siblings) == MOST_ITEMS + MOST_EARLIER
    assert siblings.features("r1", "shop/s1", "sort") == {}
    assert siblings.features("r2", "shop/s1", "align") == {}
    assert f"{UPSTREAM}align" in siblings.features("r1", "shop/s0", "call")


notes = st.lists(
    st.tuples(
        st.sampled_from(["r1", "r2", None]),
        st.sampled_from(["shop/s1", "shop/s2", None]),
        st.sampled_from([f"t{number}" for number in range(12)]),
        st.integers(1, 10**12).map(float),
    ),
    max_size=40,
)


@pytest.mark.slow
@given(notes)
def test_saved_and_loaded_they_tell_the_same(all_notes: list[tuple[str, str, str, float]]) -> None:
    siblings = Siblings()
    for each in all_notes:
        siblings.note(*each)
    assert Siblings.from_dict(json.loads(json.dumps(siblings.to_dict()))) == siblings


@pytest.mark.slow
@given(notes, notes)
def test_later_needs_do_not_reach_a_copy(
    before: list[tuple[str, str, str, float]], later: list[tuple[str, str, str, float]]
) -> None:
    siblings = Siblings()
    for each in before:
        siblings.note(*each)
    copied, told = siblings.copy(), siblings.to_dict()
    text = json.dumps(told)
    for each in later:
        siblings.note(*each)
    assert json.dumps(copied.to_dict()) == text


def test_a_wide_workflow_makes_no_more_columns_than_a_model_may_have() -> None:
    rows = []
    for number in range(400):
        siblings = noted(*(("r1", f"t{number + place}", 1.0 + number) for place in range(9)))
        rows.append(siblings.features("r1", ITEM, "call"))
    schema = FeatureSchema.fit(rows)
    assert 0 < len(schema.columns) <= 64 < MAX_COLUMNS
    assert {column.feature for column in schema.columns} < {n for row in rows for n in row}


@pytest.mark.slow
def test_a_namespace_with_very_many_items_pushes_out_its_own() -> None:
    siblings = Siblings()
    for number in range(100):
        siblings.note("r1", f"shop/s{number}", "align", 1.0)
    for number in range(MOST_EARLIER + MOST_ITEMS):
        siblings.note("r1", f"evil/s{number}", "align", 1.0)
    assert len(siblings) == MOST_ITEMS + MOST_EARLIER
    for number in range(100):
        told = siblings.features("r1", f"shop/s{number}", "align")
        assert told == {EARLIER: 1.0}
        assert f"{UPSTREAM}align" in siblings.features("r1", f"shop/s{number}", "call")


@pytest.mark.slow
def test_items_with_long_names_take_the_room_of_several() -> None:
    siblings = Siblings()
    for number in range(MOST_ITEMS):
        siblings.put_needs("r", f"evil/{number}", {"x" * 118 + str(each): 1.0 for each in range(9)})
    assert len(siblings) <= MOST_ITEMS / 3
