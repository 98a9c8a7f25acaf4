"""Which attempts of a node lend, and which take back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.lending.curves import Curve
from plimsoll_predictor.lending.node_steps import (
    BACK,
    BACK_BYTES,
    NODE_SHARE,
    Attempt,
    Lend,
    NodeRoom,
    Patience,
    Step,
    TakeBack,
    Why,
    decide,
    has_grown,
    kept_bytes,
)

NOW_S = 1000.0
NODE = NodeRoom(allocatable_bytes=64 * GIB, heard_s=NOW_S)
PATIENCE = Patience()
FLAT = Curve.begin(200 * MIB, 0.0)
FLAT_AND_COLD = Attempt(
    uid="one",
    task="shop/one",
    asked_bytes=GIB,
    held_bytes=GIB,
    curve=FLAT,
    seen_s=0.0,
    why_not=None,
    may_hold=True,
)
LENDER = replace(FLAT_AND_COLD, held_bytes=kept_bytes(GIB, 200 * MIB), why_not="it lends")


def steps_of(*attempts: Attempt, node: NodeRoom = NODE, unsteady: Any = ()) -> list[Step]:
    return decide(node, attempts, unsteady, NOW_S, PATIENCE)


def test_a_flat_attempt_keeps_the_largest_need_that_its_curve_forecasts() -> None:
    assert steps_of(FLAT_AND_COLD) == [Lend("one", 332 * MIB)]


@pytest.mark.parametrize(
    ("attempt", "node"),
    [
        pytest.param({"why_not": "its task's need is known"}, {}, id="it may not"),
        pytest.param({"curve": None}, {}, id="nobody has measured it"),
        pytest.param({"curve": Curve.begin(1, NOW_S - 59)}, {}, id="it was flat for too short"),
        pytest.param(
            {"asked_bytes": 390 * MIB, "held_bytes": 390 * MIB},
            {},
            id="too little is left to be worth it",
        ),
        pytest.param({"siblings_bytes": 4 * GIB}, {}, id="a sibling uses more"),
        pytest.param({}, {"heard_s": NOW_S - 16}, id="its agent is silent"),
        pytest.param({}, {"pressed": True}, id="its node is short of memory"),
        pytest.param({}, {"waiting": True}, id="another waits there for its memory"),
        pytest.param({}, {"allocatable_bytes": None}, id="nobody knows how large its node is"),
    ],
)
def test_an_attempt_does_not_lend(attempt: dict[str, Any], node: dict[str, Any]) -> None:
    assert steps_of(replace(FLAT_AND_COLD, **attempt), node=replace(NODE, **node)) == []


@pytest.mark.parametrize(
    ("attempt", "node", "why"),
    [
        pytest.param({"curve": Curve.begin(270 * MIB, 0)}, {}, Why.GREW, id="it grew"),
        pytest.param({}, {"heard_s": NOW_S - 16}, Why.SILENT, id="its agent is silent"),
        pytest.param({"curve": None}, {}, Why.SILENT, id="it alone is not reported"),
        pytest.param({}, {"pressed": True}, Why.PRESSURE, id="its node is short of memory"),
        pytest.param({"may_hold": False}, {}, Why.NOT_ALLOWED, id="people said no"),
    ],
)
def test_a_lender_takes_back(attempt: dict[str, Any], node: dict[str, Any], why: Why) -> None:
    taken = steps_of(replace(LENDER, **attempt), node=replace(NODE, **node))
    assert taken == [TakeBack("one", why)]


def test_a_lender_of_which_nothing_is_to_be_said_goes_on() -> None:
    # Its task is now known, so it may not begin to lend; what it already lends stays lent.
    assert steps_of(replace(LENDER, why_not="its task's need is known")) == []


def test_a_lender_that_was_just_found_is_given_time_to_be_reported() -> None:
    assert steps_of(replace(LENDER, curve=None, seen_s=NOW_S - 14)) == []


def test_where_one_grew_all_lenders_of_its_task_take_back_and_no_other_lends() -> None:
    grown = replace(LENDER, curve=Curve.begin(270 * MIB, 0))
    sibling = replace(LENDER, uid="two")
    stranger = replace(LENDER, uid="three", task="shop/other")
    assert steps_of(grown, sibling, stranger) == [
        TakeBack("one", Why.GREW),
        TakeBack("two", Why.SIBLING),
    ]
    assert steps_of(replace(FLAT_AND_COLD, uid="four"), unsteady={"shop/one"}) == []


def test_nobody_lends_in_the_moment_in_which_another_takes_back() -> None:
    grown = replace(LENDER, curve=Curve.begin(270 * MIB, 0), task="shop/other")
    assert steps_of(grown, replace(FLAT_AND_COLD, uid="two")) == [TakeBack("one", Why.GREW)]


def test_a_node_lends_half_of_itself_and_the_largest_first() -> None:
    small = replace(NODE, allocatable_bytes=8 * GIB)
    larger = replace(FLAT_AND_COLD, uid="larger", asked_bytes=5 * GIB, held_bytes=5 * GIB)
    lent = steps_of(FLAT_AND_COLD, larger, node=small)
    # The bound is 4 GiB; the second one gets the rest.
    assert lent == [Lend("larger", 1280 * MIB), Lend("one", 768 * MIB)]


def test_an_attempt_that_uses_next_to_nothing_keeps_a_quarter() -> None:
    assert kept_bytes(4 * GIB, 20 * MIB) == GIB
    assert kept_bytes(4 * GIB, 2 * GIB) == 3 * GIB + 32 * MIB
    assert kept_bytes(4 * GIB, 20 * MIB, 2 * GIB) == int(2.4 * GIB) + 16 * MIB


attempts = st.builds(
    Attempt,
    uid=st.uuids().map(str),
    task=st.sampled_from(["a", "b", "c"]),
    asked_bytes=st.integers(MIB, 64 * GIB),
    held_bytes=st.integers(MIB, 64 * GIB),
    curve=st.one_of(
        st.none(),
        st.builds(Curve.begin, st.integers(0, 64 * GIB), st.floats(0, NOW_S)),
    ),
    seen_s=st.floats(0, NOW_S),
    why_not=st.sampled_from([None, "no"]),
    may_hold=st.booleans(),
    siblings_bytes=st.integers(0, 4 * GIB),
)


@pytest.mark.slow
@given(st.lists(attempts, max_size=12, unique_by=lambda each: each.uid), st.floats(0, NOW_S))
def test_whatever_runs_there_what_lenders_use_and_its_room_stay_theirs(
    there: list[Attempt], heard_s: float
) -> None:
    there = [replace(each, held_bytes=min(each.held_bytes, each.asked_bytes)) for each in there]
    by_uid = {each.uid: each for each in there}
    before = sum(each.lent_bytes for each in there)
    steps = steps_of(*there, node=replace(NODE, heard_s=heard_s))
    assert len({step.uid for step in steps}) == len(steps)
    lent = 0
    for step in steps:
        attempt = by_uid[step.uid]
        if isinstance(step, TakeBack):
            assert attempt.lent_bytes
            continue
        assert attempt.why_not is None
        assert attempt.curve is not None
        assert attempt.held_bytes == attempt.asked_bytes > step.held_bytes
        assert step.held_bytes >= attempt.curve.used_bytes * BACK + BACK_BYTES
        assert not has_grown(attempt.curve.used_bytes, step.held_bytes)
        lent += attempt.asked_bytes - step.held_bytes
    assert lent == 0 or before + lent <= NODE_SHARE * 64 * GIB
