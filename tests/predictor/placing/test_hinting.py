"""On which nodes a new task runs best, by the tasks there."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from plimsoll_predictor.placing.costs import MOST_PLACES, Costs
from plimsoll_predictor.placing.encounter import Encounter
from plimsoll_predictor.placing.hinting import (
    AWAITED_S,
    LEAST_GAIN,
    MOST_AWAITED,
    MOST_LOADS,
    MOST_NAMED,
    MOST_NODES,
    MOST_RESIDENTS,
    Hint,
    Neighbourhoods,
    NoHint,
)
from plimsoll_predictor.placing.interference import Interference
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.loads import Need, NodeLoad
from plimsoll_predictor.placing.prices import costs_on_nodes
from tests.predictor.placing.neighbours import (
    KINDS,
    LOUD,
    QUIET,
    ROWS,
    WAITING,
    among,
    costs,
    names,
)


def test_the_node_is_first_whose_residents_lose_least() -> None:
    nodes = among([(LOUD, 2)], [(WAITING, 2)], [(LOUD, 1)])
    hint = nodes.hint("shop/loud", 0.0)
    assert isinstance(hint, Hint)
    assert hint.nodes == ("n1",)
    assert hint.gain == pytest.approx((3.6 + 0.0 + 1.8) / 3)


def test_an_empty_node_costs_nothing() -> None:
    assert names(among([(LOUD, 1)], [], [(QUIET, 1)]).hint("shop/loud", 0.0))[0] == "n1"


def with_a_cheap_pair(*residents: list[tuple[int, int]]) -> Neighbourhoods:
    """Beside a loud task a quiet one costs less than nothing: it is a bad neighbour to others."""
    rows = np.array(ROWS)
    rows[QUIET, LOUD] = -0.2
    nodes = among(*residents)
    nodes.costs = Costs(KINDS, rows, np.ones((4, 4)))
    return nodes


def test_an_empty_node_comes_before_a_neighbour_that_is_worth_little() -> None:
    nodes = with_a_cheap_pair([(LOUD, 2)], [], [(QUIET, 2)])
    assert names(nodes.hint("shop/quiet", 0.0))[0] == "n1"
    costs_on = nodes.costs_on("shop/quiet", ["n0", "n1", "n2"], 0.0)
    assert not isinstance(costs_on, NoHint)
    assert costs_on.tolist() == pytest.approx([0.001, 0.0, 0.8])


def test_without_an_empty_node_that_neighbour_is_best() -> None:
    nodes = with_a_cheap_pair([(LOUD, 2)], [(WAITING, 1)], [(QUIET, 2)])
    assert names(nodes.hint("shop/quiet", 0.0))[0] == "n0"
    costs_on = nodes.costs_on("shop/quiet", ["n0", "n1", "n2"], 0.0)
    assert not isinstance(costs_on, NoHint)
    assert costs_on.tolist() == pytest.approx([-0.4, 0.0, 0.8])
    # A scheduler asks about the nodes with room: an empty one elsewhere does not matter.
    nodes.put("n3", [])
    among_busy = nodes.costs_on("shop/quiet", ["n0", "n1"], 0.0)
    assert not isinstance(among_busy, NoHint)
    assert among_busy.tolist() == pytest.approx([-0.4, 0.0])


def test_tasks_that_nobody_labelled_count_as_others() -> None:
    assert names(among([(0, 3)], [(0, 1)], [(0, 9)]).hint("shop/loud", 0.0))[0] == "n1"


def test_nodes_that_are_alike_get_no_hint() -> None:
    assert among([(LOUD, 1)], [(LOUD, 1)]).hint("shop/loud", 0.0) is NoHint.ALIKE
    assert among([(LOUD, 1)], [(WAITING, 1)]).hint("shop/waiting", 0.0) is NoHint.ALIKE
    assert among([], [], []).hint("shop/loud", 0.0) is NoHint.ALIKE


@pytest.mark.parametrize("residents", [[], [[(LOUD, 1)]]], ids=["no node", "one node"])
def test_where_there_is_nothing_to_choose_there_is_no_hint(
    residents: list[list[tuple[int, int]]],
) -> None:
    assert among(*residents).hint("shop/loud", 0.0) is NoHint.ALIKE


@pytest.mark.parametrize("kind", ["shop/never-seen", OTHERS])
def test_a_kind_that_is_not_told_apart_gets_no_hint(kind: str) -> None:
    assert among([(LOUD, 1)], []).hint(kind, 0.0) is NoHint.UNKNOWN


def test_without_costs_there_is_no_hint() -> None:
    nodes = among([(LOUD, 1)], [])
    nodes.costs = None
    assert nodes.hint("shop/loud", 0.0) is NoHint.UNKNOWN


def test_most_of_what_runs_has_to_be_known() -> None:
    assert among([(LOUD, 1)], [], known=0.0).hint("shop/loud", 0.0) is NoHint.UNKNOWN
    nodes = among([(LOUD, 3), (QUIET, 2)], [])
    known = np.zeros((4, 4))
    known[LOUD, LOUD] = 1.0
    nodes.costs = Costs(KINDS, np.array(ROWS), known)
    assert isinstance(nodes.hint("shop/loud", 0.0), Hint)
    nodes.put("n0", [(LOUD, 2), (QUIET, 3)])
    assert nodes.hint("shop/loud", 0.0) is NoHint.UNKNOWN


def test_a_matrix_that_learned_nothing_gives_no_hint() -> None:
    model = Interference()
    for kind in ("a", "b"):  # they are told apart, but nothing is learned
        model.learn(Encounter(kind, {}, 0.0))
    matrix = model.matrix()
    nodes = Neighbourhoods()
    nodes.costs, _ = costs_on_nodes(matrix)
    nodes.put("n0", [(matrix.place("a"), 3)])
    nodes.put("n1", [])
    assert nodes.hint("b", 0.0) is NoHint.UNKNOWN


def test_where_no_task_is_ever_alone_nodes_are_told_apart_all_the_same() -> None:
    model = Interference()
    draw = np.random.default_rng(3)
    for _ in range(150):
        kind, other = (str(each) for each in draw.choice(["a", "b"], 2))
        slow = 0.6 if kind == other == "a" else 0.05
        model.learn(Encounter(kind, {other: 1.0}, slow + 0.1 * float(draw.normal())))
    matrix = model.matrix()
    a, b = matrix.place("a"), matrix.place("b")
    assert not matrix.slowdown("a", "a").known
    nodes = Neighbourhoods()
    nodes.costs, _ = costs_on_nodes(matrix)
    for node, place in (("n0", a), ("n1", b), ("n2", a)):
        nodes.put(node, [(place, 1)])
    assert names(nodes.hint("a", 0.0)) == ("n1",)


def test_a_burst_is_spread_over_nodes_and_counted_until_news_are_due() -> None:
    nodes = among(*([] for _ in range(8)), [(LOUD, 9)])
    first = []
    for number in range(8):
        hint = names(nodes.hint("shop/loud", number / 100))
        nodes.expect("shop/loud", hint[0], number / 100)
        first.append(hint[0])
    assert sorted(first) == [f"n{number}" for number in range(8)]
    later = names(nodes.hint("shop/loud", AWAITED_S + 1.0))
    assert len(later) == MOST_NAMED, "nobody is awaited any more"


def test_news_of_a_node_leave_who_is_awaited_there() -> None:
    nodes = among([], [], [(LOUD, 9)])
    nodes.expect("shop/loud", "n0", 0.0)
    nodes.put("n0", [])
    assert names(nodes.hint("shop/loud", 1.0))[0] == "n1"


def test_who_is_told_to_be_there_is_awaited_no_more() -> None:
    nodes = among([], [], [(LOUD, 9)])
    for now_s in (0.0, 1.0):
        nodes.expect("shop/loud", "n0", now_s)
    assert dict(nodes.residents())["n0"] == [(LOUD, 2)]
    nodes.put("n0", [(LOUD, 1), (QUIET, 1)])
    assert dict(nodes.residents())["n0"] == [(QUIET, 1), (LOUD, 2)]
    nodes.hint("shop/loud", AWAITED_S)  # the first was reported; the second is awaited
    assert dict(nodes.residents())["n0"] == [(QUIET, 1), (LOUD, 2)]
    nodes.put("n0", [])
    assert dict(nodes.residents())["n0"] == [(LOUD, 1)], "it ended, and the other is yet to come"
    nodes.hint("shop/loud", AWAITED_S + 1.0)
    assert dict(nodes.residents())["n0"] == []


def test_of_many_nodes_that_are_alike_others_come_first_each_time() -> None:
    nodes = among(*([] for _ in range(40)), *([(LOUD, 2)] for _ in range(40)))
    asked = {names(nodes.hint("shop/loud", 0.0))[0] for _ in range(30)}
    assert len(asked) > 10


def test_a_node_that_went_is_not_named_and_may_come_back() -> None:
    nodes = among([], [(LOUD, 1)], [(QUIET, 1)])
    nodes.expect("shop/loud", "n0", 0.0)
    nodes.remove("n0")
    nodes.remove("n0")
    assert names(nodes.hint("shop/loud", 0.0)) == ("n2",)
    nodes.put("n0", [])
    assert names(nodes.hint("shop/loud", AWAITED_S * 2))[0] == "n0"


def test_there_are_no_more_nodes_than_are_compared() -> None:
    nodes = among(*([] for _ in range(MOST_NODES)))
    with pytest.raises(ValueError, match="more than"):
        nodes.put("one more", [])
    assert len(nodes) == MOST_NODES


def test_who_is_awaited_is_bounded() -> None:
    nodes = among([], [(LOUD, 1)])
    for _ in range(MOST_AWAITED + 10):
        nodes.expect("shop/loud", "n0", 0.0)
    nodes.hint("shop/loud", AWAITED_S)
    assert names(nodes.hint("shop/loud", AWAITED_S)) == ("n0",)


NEED = Need(1000.4, 333.3)
NODES = st.sampled_from(["a", "b", "c", "d"])
ASKED = st.sampled_from([*KINDS, "shop/other"])
RESIDENTS = st.lists(st.tuples(st.integers(-2, MOST_PLACES + 2), st.integers(-5, 10**9)))
LOADS = st.builds(
    NodeLoad,
    st.none() | st.integers(1, 64_000),
    st.none() | st.integers(0, 64_000),
    st.none() | st.integers(-(10**6), 10**6),
    st.booleans(),
)
STEPS = st.one_of(
    st.tuples(st.just("put"), NODES, RESIDENTS),
    st.tuples(st.just("remove"), NODES),
    st.tuples(st.just("expect"), ASKED, NODES),
    st.tuples(st.just("load"), NODES, LOADS),
    st.tuples(st.just("forget"), NODES),
    st.tuples(st.just("costs"), st.booleans()),
)


def tell(nodes: Neighbourhoods, what: str, told: list[Any], now_s: float) -> None:
    """One step, except new costs; input that makes no sense changes nothing."""
    with contextlib.suppress(ValueError):
        if what == "put":
            nodes.put(*told)
        elif what == "remove":
            nodes.remove(*told)
        elif what == "expect":
            nodes.expect(told[0], told[1], now_s, NEED)
        elif what == "load":
            nodes.put_load(*told)
        elif what == "forget":
            nodes.forget_load(*told)


@pytest.mark.slow
@given(steps=st.lists(st.tuples(STEPS, st.floats(0, 30)), max_size=40), kind=ASKED)
def test_whatever_is_told_a_hint_names_few_nodes_that_are_there(
    steps: list[tuple[tuple[Any, ...], float]], kind: str
) -> None:
    nodes, now_s = Neighbourhoods(), 0.0
    for (what, *told), passed_s in steps:
        now_s += passed_s
        tell(nodes, what, told, now_s)
        if what == "costs":
            nodes.costs = costs() if told[0] else None
        there = {*nodes.hosts}
        hint = nodes.hint(kind, now_s, NEED)
        scores = nodes.costs_on(kind, ["a", "elsewhere", "b"], now_s, NEED)
        assert isinstance(scores, NoHint) or not np.isinf(scores).any()
        if isinstance(hint, Hint):
            assert 1 <= len(set(hint.nodes)) == len(hint.nodes) <= MOST_NAMED
            assert set(hint.nodes) <= there
            assert np.isfinite(hint.gain)
    told_only = nodes.copy()
    nodes.costs_on(kind, [], now_s + AWAITED_S)
    for one, other in zip(nodes._tables(), told_only._tables(), strict=True):
        assert np.array_equal(one[0], other[0], equal_nan=True), "nothing awaited is left over"
    for node in sorted(nodes.hosts):
        nodes.remove(node)
    assert len(nodes) == 0
    assert nodes.hint(kind, now_s) in tuple(NoHint)


@pytest.mark.slow
@given(steps=st.lists(STEPS, max_size=40))
def test_what_is_kept_is_what_would_be_reckoned_anew(
    steps: list[tuple[Any, ...]],
) -> None:
    nodes, now_s = Neighbourhoods(), 0.0
    nodes.costs = costs()
    for what, *told in steps:
        now_s += 1.0
        if what not in ("load", "forget"):
            tell(nodes, what, told, now_s)
        if what == "costs":
            nodes.costs = costs(known=0.5 + 0.5 * bool(told[0]))
    anew = Neighbourhoods()
    anew.costs = costs()
    for node, residents in nodes.residents():
        # Awaited pods come in addition to the most that may be reported.
        assume(all(count <= MOST_RESIDENTS for _, count in residents))
        anew.put(node, residents)
    kept, reckoned = nodes.hint("shop/loud", now_s), anew.hint("shop/loud", now_s)
    if isinstance(kept, Hint) and isinstance(reckoned, Hint):
        assert kept.gain == pytest.approx(reckoned.gain)
    copied = nodes.copy().hint("shop/loud", now_s + AWAITED_S)
    later = nodes.hint("shop/loud", now_s + AWAITED_S)
    if isinstance(copied, Hint) and isinstance(later, Hint):
        assert copied.gain == pytest.approx(later.gain)
    else:
        assert copied == later


def test_a_kind_that_is_told_twice_is_bounded_once() -> None:
    nodes = Neighbourhoods()
    nodes.put("a", [(0, 1), (0, MOST_RESIDENTS)])
    assert list(nodes.residents()) == [("a", [(0, MOST_RESIDENTS)])]


@pytest.mark.slow
@given(
    residents=st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=3), min_size=2
    ),
    known=st.sampled_from([0.0, 1.0]),
)
def test_with_room_everywhere_all_is_as_without_loads(
    residents: list[list[tuple[int, int]]], known: float
) -> None:
    without, roomy = among(*residents, known=known), among(*residents, known=known)
    for name in roomy.hosts:
        roomy.put_load(name, NodeLoad(8000, 8000, 64_000))
    need = Need(1000, 1000)
    for kind in ("shop/loud", "shop/waiting", "shop/never-seen"):
        one, other = without.hint(kind, 0.0), roomy.hint(kind, 0.0, need)
        hints = [each for each in (one, other) if isinstance(each, Hint)]
        if len(hints) == 2:
            assert hints[0].nodes == hints[1].nodes
            assert hints[0].gain == pytest.approx(hints[1].gain)
        elif hints:
            # They add up in another order: at the bar itself, the last bit decides.
            assert NoHint.ALIKE in (one, other)
            assert hints[0].gain == pytest.approx(LEAST_GAIN)
        else:
            assert one == other
        scores = without.costs_on(kind, without.hosts, 0.0)
        if not isinstance(scores, NoHint):
            assert scores == pytest.approx(roomy.costs_on(kind, roomy.hosts, 0.0, need))


def test_a_node_that_goes_and_comes_back_has_the_load_that_was_told_of_it() -> None:
    nodes = among([(LOUD, 1)], [], [])
    nodes.put_load("n1", NodeLoad(8000, 8000, 0))
    need = Need(1000, 100)
    assert names(nodes.hint("shop/loud", 0.0, need))[0] == "n2"
    nodes.expect("shop/loud", "n1", 0.0, need)
    nodes.remove("n1")
    nodes.put("n1", [])
    assert names(nodes.hint("shop/loud", 0.0, need))[0] == "n2"
    nodes.forget_load("n1")
    assert {*names(nodes.hint("shop/loud", 0.0, need))} == {"n1", "n2"}


def test_who_is_awaited_takes_what_is_left_until_news_are_due() -> None:
    nodes = among([(LOUD, 1)], [], [])
    nodes.costs = Costs(KINDS, np.array(ROWS) * np.array([1, 1, 1, 0]), np.ones((4, 4)))
    for name in ("n1", "n2"):
        nodes.put_load(name, NodeLoad(8000, 8000, 1500))
    need = Need(1000, 100)
    nodes.expect("shop/waiting", "n1", 0.0, need)
    assert names(nodes.hint("shop/loud", 1.0, need)) == ("n2",)
    assert {*names(nodes.hint("shop/loud", AWAITED_S, need))} == {"n1", "n2"}


def test_there_are_no_more_loads_than_nodes_and_those_that_are_avoided() -> None:
    nodes = Neighbourhoods()
    for number in range(MOST_LOADS):
        nodes.put_load(f"n{number}", NodeLoad(pressed=True))
    nodes.put_load("n0", NodeLoad(room_mib=1))
    with pytest.raises(ValueError, match="more than"):
        nodes.put_load("another", NodeLoad())
