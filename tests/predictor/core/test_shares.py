"""A room that namespaces share: a flood pushes out its own keys once it holds the most."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.shares import Shares


def test_a_flood_of_one_owner_pushes_out_its_own_oldest() -> None:
    shares = Shares[str](10)
    for number in range(3):
        assert shares.use("calm", f"calm-{number}") == []
    gone = [key for number in range(1000) for key in shares.use("evil", f"evil-{number}")]
    assert gone == [f"evil-{number}" for number in range(1000 - 7)]
    assert shares.held("calm") == 3


def test_who_comes_late_gets_an_equal_share() -> None:
    shares = Shares[str](10)
    for number in range(10):
        shares.use("evil", f"evil-{number}")
    gone = [key for number in range(8) for key in shares.use("calm", f"calm-{number}")]
    assert gone == ["evil-0", "evil-1", "evil-2", "evil-3", "evil-4", "calm-0", "calm-1", "calm-2"]


def test_a_used_key_is_young_again() -> None:
    shares = Shares[str](2)
    for key in ("a", "b", "a"):
        shares.use("one", key)
    assert shares.use("one", "c") == ["b"]


def test_an_owner_may_have_a_bound_of_its_own() -> None:
    shares = Shares[str](10, most_each=2)
    assert [key for key in "abc" for key in shares.use("one", key)] == ["a"]


def test_what_is_larger_than_the_room_goes_itself() -> None:
    shares = Shares[str](10)
    assert shares.use("one", "a", 11) == ["a"]
    assert shares.total == len(shares) == 0


def test_a_newcomer_is_told_whether_it_would_be_the_one_to_go() -> None:
    shares = Shares[str](10)
    shares.use("evil", "a", 9)
    assert shares.would_lose("evil", 2)
    assert not shares.would_lose("calm", 2)
    assert not shares.would_lose("evil", 1)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 20), st.integers(1, 9), st.booleans()),
        max_size=200,
    )
)
def test_however_it_is_used_the_sums_are_right(
    steps: list[tuple[str, int, int, bool]],
) -> None:
    shares, held = Shares[tuple[str, int]](25), dict[tuple[str, int], int]()
    for owner, number, weight, used in steps:
        key = owner, number
        if used:
            held[key] = weight
            for gone in shares.use(owner, key, weight):
                del held[gone]
        else:
            held.pop(key, None)
            shares.drop(owner, key)
        assert shares.total == sum(held.values()) <= 25
        assert len(shares) == len(held)
        assert shares.held("a") == sum(w for (name, _), w in held.items() if name == "a")
        assert shares.copy().total == shares.total
