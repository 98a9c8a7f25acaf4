"""What ran beside what, reported in any way and order."""

from __future__ import annotations

from collections import Counter

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.placing.encounter import MOST_BESIDE
from plimsoll_predictor.placing.kinds import OTHERS, UNLABELLED
from plimsoll_predictor.placing.stays import (
    MOST_BESIDE_BYTES,
    MOST_KINDS_SHARED,
    Stay,
    Stays,
    bounded_beside,
    with_unlabelled,
)


def stay(kind: str, started_s: float, ended_s: float | None = None, node: str = "n") -> Stay:
    return Stay(node, kind, started_s, ended_s)


def test_of_too_many_neighbours_those_for_the_least_time_are_told_as_others() -> None:
    """A service that lives for days beside a new task each ten seconds, and one that stays."""
    stays = Stays(ended_kept=10)
    stays.began("service", stay("service", 0))
    for number in range(2_000):
        stays.remember(f"run-{number}", stay(f"task-{number}", 10 * number, 10 * number + 9))
        stays.remember(f"usual-{number}", stay("usual", 10 * number, 10 * number + 5))
    (living,) = stays._living.values()
    assert len(living.shared_s) <= MOST_KINDS_SHARED
    beside = stays.ended("service", stay("service", 0, 20_000))
    assert beside["usual"] == pytest.approx(0.5)
    assert sum(beside.values()) == pytest.approx(1.4)
    assert beside[OTHERS] > 0.7


def test_neighbours_count_by_the_time_that_they_share() -> None:
    stays = Stays()
    stays.began("long", stay("a", 0))
    stays.began("half", stay("b", 5))
    stays.began("elsewhere", stay("b", 0, node="other"))
    assert stays.residents() == {"n": {"a": 1, "b": 1}, "other": {"b": 1}}
    assert stays.ended("half", stay("b", 5, 10)) == {"a": 1.0}
    stays.began("next", stay("b", 12))
    # The first b was there for 5 of 20 seconds, then none for 2, then the second b for 8.
    assert stays.ended("long", stay("a", 0, 20)) == {"b": pytest.approx((5 + 8) / 20)}


def test_an_end_that_is_told_again_counts_once() -> None:
    stays = Stays()
    stays.began("a", stay("a", 0))
    ended = stay("b", 2, 6)
    stays.began("b", stay("b", 2))
    first = stays.ended("b", ended)
    assert stays.ended("b", ended) == first == {"a": 1.0}
    assert stays.ended("a", stay("a", 0, 8)) == {"b": 0.5}


def test_runs_that_ended_before_anybody_looked_count() -> None:
    stays = Stays()
    stays.remember("before", stay("b", 0, 6))
    stays.remember("before", stay("b", 0, 6))
    stays.began("a", stay("a", 2))
    assert stays.ended("a", stay("a", 2, 10)) == {"b": 0.5}


def test_a_run_that_was_never_seen_living_counts_at_its_end() -> None:
    stays = Stays()
    stays.began("a", stay("a", 0))
    assert stays.ended("b", stay("b", 4, 6)) == {"a": 1.0}
    assert stays.ended("a", stay("a", 0, 8)) == {"b": 0.25}


def test_a_run_of_no_time_has_no_neighbours() -> None:
    stays = Stays()
    stays.began("a", stay("a", 0))
    assert stays.ended("b", stay("b", 4, 4)) == {}


def test_a_pod_that_is_gone_is_a_neighbour_no_more() -> None:
    stays = Stays()
    stays.began("a", stay("a", 0))
    stays.left("a")
    stays.left("never seen")
    assert stays.residents() == {}
    assert stays.ended("b", stay("b", 0, 4)) == {}


def test_memory_is_bounded() -> None:
    stays = Stays(ended_kept=3, living_kept=5)
    for number in range(20):
        stays.began(f"living-{number}", stay("a", number))
        stays.ended(f"ended-{number}", stay("b", number, number + 0.5))
    assert len(stays) == 5
    # What was forgotten is not counted; nothing fails.
    stays.began("late", stay("c", 0))
    assert sum(stays.ended("late", stay("c", 0, 20)).values()) <= 20


Interval = tuple[str, str, int, int]
"""Node, kind, start and end."""
intervals = st.lists(
    st.tuples(
        st.sampled_from(["n1", "n2"]),
        st.sampled_from(["a", "b", "c"]),
        st.integers(0, 20),
        st.integers(1, 20),
    ).map(lambda each: (each[0], each[1], each[2], each[2] + each[3])),
    max_size=12,
)


def brute_force(runs: list[Interval], number: int) -> dict[str, float]:
    node, _, start, end = runs[number]
    shared: Counter[str] = Counter()
    for other, (its_node, kind, its_start, its_end) in enumerate(runs):
        if other != number and its_node == node:
            shared[kind] += max(0, min(end, its_end) - max(start, its_start))
    return {kind: seconds / (end - start) for kind, seconds in shared.items() if seconds}


@pytest.mark.slow
@given(intervals)
def test_in_the_order_of_time_it_is_exact(runs: list[Interval]) -> None:
    happenings = [(end, 0, number) for number, (*_, end) in enumerate(runs)]
    happenings += [(start, 1, number) for number, (_, _, start, _) in enumerate(runs)]
    stays, found = Stays(), dict[int, dict[str, float]]()
    for _, begins, number in sorted(happenings):
        node, kind, start, end = runs[number]
        if begins:
            stays.began(str(number), Stay(node, kind, start))
        else:
            found[number] = dict(stays.ended(str(number), Stay(node, kind, start, end)))
    assert found == {
        number: pytest.approx(brute_force(runs, number)) for number in range(len(runs))
    }


@pytest.mark.slow
@given(intervals, st.randoms(use_true_random=False))
def test_in_no_order_does_it_fail(runs: list[Interval], draw: object) -> None:
    order = list(range(2 * len(runs)))
    draw.shuffle(order)  # type: ignore[attr-defined]
    stays = Stays()
    for each in order:
        node, kind, start, end = runs[each // 2]
        if each % 2:
            stays.began(str(each // 2), Stay(node, kind, start))
        else:
            beside = stays.ended(str(each // 2), Stay(node, kind, start, end))
            assert all(0 < count <= len(runs) for count in beside.values())


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=300), st.floats(0, 1e6), max_size=120))
def test_what_is_stored_is_bounded(beside: dict[str, float]) -> None:
    bounded = bounded_beside(beside)
    names = {name for name in bounded if name != OTHERS}
    assert names <= beside.keys()
    assert all(0 < count <= MOST_BESIDE for count in bounded.values())
    plain = {name: count for name, count in bounded.items() if name.isascii() and name.isalnum()}
    assert len(orjson.dumps(plain)) <= MOST_BESIDE_BYTES


def test_unlabelled_load_always_has_its_own_entry() -> None:
    beside = {f"shop/{'x' * 100}-{number}": float(number + 1) for number in range(10)}
    bounded = with_unlabelled(bounded_beside(beside), 0.25)
    assert bounded[UNLABELLED] == 0.25
    assert len(orjson.dumps(bounded)) <= MOST_BESIDE_BYTES
    assert sum(bounded.values()) == pytest.approx(sum(beside.values()) + 0.25)


@pytest.mark.parametrize(
    ("cores", "entry"), [(1.23456, 1.235), (0.0, None), (0.0001, None), (1e9, MOST_BESIDE)]
)
def test_unlabelled_load_is_in_cores_and_bounded(cores: float, entry: float | None) -> None:
    assert with_unlabelled({"shop/a": 0.5}, cores).get(UNLABELLED) == entry


def test_without_an_agent_nothing_is_added() -> None:
    assert with_unlabelled({"shop/a": 0.5}, None) == {"shop/a": 0.5}


def test_the_longest_neighbours_keep_their_names() -> None:
    beside = {f"shop/{'x' * 100}-{number}": float(number) for number in range(10)}
    bounded = bounded_beside(beside)
    assert [name.rpartition("-")[2] for name in bounded if name != OTHERS] == ["9", "8", "7", "6"]
    assert bounded[OTHERS] == sum(range(6))
